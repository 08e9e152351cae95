"""Checks of replicas: whether they run, and whether the Service and the API server reach them."""

import math
from collections.abc import Iterator

from prometheus_client.samples import Sample

from webhook.doctor.checks.registration import APPLY
from webhook.doctor.findings import CheckState, DoctorFinding
from webhook.doctor.installation import Installation, NotReadableError, Replica
from webhook.doctor.metrics import read_failed_conditions, read_samples
from webhook.doctor.objects import Webhook
from webhook.doctor.probes import OTHER_FAILURE, ProbeResult, interpret
from webhook.policy.model import LabelSelector
from webhook.policy.request import Hook
from webhook.policy.selectors import matches, render

OLDEST_CACHE_S = 120
"""The API server sends a bookmark each minute; after two minutes the connection is lost."""

QUOTA = "insufficient quota to match these scopes"
"""
The API server's message in namespaces that may not have pods of a priority class.

Source: plugin/pkg/admission/resourcequota, with ``limitedResources`` for PriorityClass.
"""

VERSION_LABEL = "app.kubernetes.io/version"


def check_service(installation: Installation) -> Iterator[DoctorFinding]:
    """The Service exists, with the port that the webhooks call."""
    title = f"Service {installation.namespace}/{installation.name}"
    service = installation.service.value
    if service is None:
        yield DoctorFinding(f"{title} does not exist", APPLY)
        return
    ports = {item.port for item in service.spec.ports}
    for _, webhook in installation.webhooks():
        called = webhook.client_config.service
        if called is not None and ports and called.port not in ports:
            yield DoctorFinding(
                f"{webhook.name} calls port {called.port} of the Service, which has "
                f"{', '.join(map(str, sorted(ports)))}",
                APPLY,
            )


def check_endpoints(installation: Installation) -> Iterator[DoctorFinding]:
    """The Service has a ready endpoint."""
    ready = sum(item.ready for item in installation.slices.value or ())
    if installation.service.value is not None and not ready:
        yield DoctorFinding(
            f"Service {installation.namespace}/{installation.name} has no ready endpoint",
            f"see why: kubectl {installation.namespace_flag} get pods,endpointslices; the selector "
            "of the Service must match the labels of the pods",
        )


def check_replicas(installation: Installation) -> Iterator[DoctorFinding]:
    """All requested replicas are available."""
    name, flag = installation.name, installation.namespace_flag
    deployment = installation.deployment.value
    if deployment is None:
        yield DoctorFinding(f"Deployment {installation.namespace}/{name} does not exist", APPLY)
        return
    requested, available = deployment.spec.replicas, deployment.status.available_replicas
    refusals = (
        item.message for item in deployment.status.conditions if item.type == "ReplicaFailure"
    )
    refusal = next(refusals, "")
    if QUOTA in refusal:
        yield DoctorFinding(
            f"namespace {installation.namespace} allows no pod of this priority class: {refusal}",
            "install a ResourceQuota for the class: helm upgrade --set criticalQuota=true",
        )
    elif available < requested:
        reason = f": {refusal}" if refusal else _describe_unready_pods(installation)
        yield DoctorFinding(
            f"{available} of {requested} replicas are available{reason}",
            f"kubectl {flag} describe pods; kubectl {flag} logs deployment/{name}",
        )
    elif requested == 0:
        yield DoctorFinding(
            "the Deployment has 0 replicas, so that failurePolicy decides on every pod",
            f"kubectl {flag} scale deployment {name} --replicas=2",
        )


def _describe_unready_pods(installation: Installation) -> str:
    unready = [pod for pod in installation.pods.or_none or () if not pod.is_ready]
    return "".join(f"; {pod.metadata.name}: {pod.trouble or 'not ready'}" for pod in unready)


def check_disruption_budget(installation: Installation) -> Iterator[DoctorFinding]:
    """A PodDisruptionBudget lets a drain evict one replica at a time."""
    deployment = installation.deployment.value
    if deployment is None:
        return
    budgets = [
        budget
        for budget in installation.budgets.value or ()
        if matches(budget.spec.selector, deployment.labels)
    ]
    if not budgets:
        failing = any(webhook.failure_policy == "Fail" for _, webhook in installation.webhooks())
        yield DoctorFinding(
            "no PodDisruptionBudget selects the replicas: a drain may evict all of them at once",
            APPLY,
            CheckState.PROBLEM if failing else CheckState.NOTE,
        )
    for budget in budgets:
        status = budget.status
        all_healthy = status.current_healthy >= status.expected_pods > 0
        if all_healthy and status.disruptions_allowed == 0:
            yield DoctorFinding(
                f"PodDisruptionBudget {budget.metadata.name} allows no disruption, though all "
                "replicas are healthy: no node with one of them can be drained",
                "set maxUnavailable: 1, and run two replicas",
            )


def check_reached(installation: Installation) -> Iterator[DoctorFinding]:
    """The API server calls both webhooks, and a replica answers."""
    for hook, webhook in installation.webhooks():
        result = installation.probes[hook]
        if result.problem:
            raise NotReadableError("not checked", result.problem)
        labels = installation.probe_namespace.labels
        if not result.replicas and labels is not None and not webhook.selects_namespace(labels):
            yield _explain_unselected(webhook, installation.probe_namespace.name)
        elif not result.replicas:
            yield _explain_no_answer(installation, hook, webhook.failure_policy, result)


def _explain_unselected(webhook: Webhook, namespace: str) -> DoctorFinding:
    selector = render(webhook.namespace_selector or LabelSelector())
    return DoctorFinding(
        f"not checked: {webhook.name} is not called for namespace {namespace}, but for namespaces "
        f"with {selector}",
        "label a namespace that it is to serve, or name such a namespace: --probe-namespace",
        CheckState.NOTE,
    )


def _explain_no_answer(
    installation: Installation, hook: Hook, policy: str, result: ProbeResult
) -> DoctorFinding:
    name, refusal = f"{hook}.evenspread.io", result.refusal
    refusing = [item for item in Hook if f'webhook "{item}.evenspread.io"' in refusal]
    if not refusal or (refusing and hook not in refusing):
        hidden = f"; failurePolicy {policy} hides why" if policy == "Ignore" else ""
        return DoctorFinding(
            f"no replica answered for {name}{hidden}",
            "fix the other findings first; if there are none, read the log of the API server: "
            "the reason follows `failed calling webhook`",
        )
    if not refusing:
        return DoctorFinding(
            f"another admission plugin refused the probe for {name}: {refusal}",
            "choose a namespace that allows such a PodTemplate: --probe-namespace",
        )
    failure = interpret(refusal)
    advice = failure.advice.format(flag=installation.namespace_flag, name=installation.name)
    reason = refusal if failure is OTHER_FAILURE else f"{failure.meaning} ({refusal})"
    return DoctorFinding(f"the API server gets no response from {name}: {reason}", advice)


def check_versions(installation: Installation) -> Iterator[DoctorFinding]:
    """All replicas have one version, that of this command."""
    name, flag = installation.name, installation.namespace_flag
    found: dict[str, str] = {}
    for version, replica in _list_versions(installation):
        found.setdefault(version, replica)
    if not found:
        _ = installation.pods.value  # raises if the user may not list pods
    if len(found) > 1:
        versions = ", ".join(f"{version} ({replica})" for version, replica in sorted(found.items()))
        yield DoctorFinding(
            f"replicas have different versions: {versions}",
            f"finish the upgrade, or undo it: kubectl {flag} rollout status deployment {name}; "
            f"kubectl {flag} rollout undo deployment {name}",
        )
    elif found and installation.version not in found:
        yield DoctorFinding(
            f"the replicas have version {next(iter(found))}, this command {installation.version}",
            "use the command of their version: kubectl "
            f"{flag} exec deployment/{name} -- evenspread doctor",
            CheckState.NOTE,
        )


def _list_versions(installation: Installation) -> Iterator[tuple[str, str]]:
    """List version and replica from probes, metrics and labels of pods."""
    for hook in Hook:
        for identity in installation.probes[hook].replicas:
            yield identity.version, identity.replica
    for replica in installation.replicas:
        for sample in read_samples(replica.metrics.or_none or ""):
            if sample.name == "evenspread_build_info":
                yield sample.labels["version"], replica.name
    for pod in installation.pods.or_none or ():
        if VERSION_LABEL in pod.metadata.labels:
            yield pod.metadata.labels[VERSION_LABEL], pod.metadata.name


def check_health(installation: Installation) -> Iterator[DoctorFinding]:
    """Every replica is ready, with current caches."""
    if not installation.replicas:
        _ = installation.pods.value  # raises if the user may not list pods
    for replica in installation.replicas:
        for name, detail in read_failed_conditions(replica.readiness.value or ""):
            message = f"{replica.name}: {name}: {detail}"
            yield DoctorFinding(message, installation.log_command(replica))
        for sample in read_samples(replica.metrics.value or ""):
            yield from _check_sample(installation, replica, sample)


def _check_sample(
    installation: Installation, replica: Replica, sample: Sample
) -> Iterator[DoctorFinding]:
    flag = installation.namespace_flag
    match sample.name:
        case "evenspread_cache_age_seconds" if sample.value > OLDEST_CACHE_S:
            age = "never" if math.isinf(sample.value) else f"{sample.value:.0f} s ago"
            yield DoctorFinding(
                f"{replica.name}: last message of the API server about {sample.labels['kind']}: "
                f"{age}",
                "see whether it reaches the API server and may list and watch: "
                f"{installation.log_command(replica)}",
            )
        case "evenspread_config_valid" if sample.value == 0:
            yield DoctorFinding(
                f"{replica.name}: a newer configuration is invalid; the old one is in force",
                f"kubectl {flag} get events; evenspread config check",
            )
        case "evenspread_ca_bundle_in_sync" if sample.value == 0:
            yield DoctorFinding(
                f"{replica.name}: the webhook configurations do not trust its certificate",
                f"evenspread certs {flag} --name {installation.name}",
            )
        case _:
            pass
