"""Whether replicas run, are found, and are reached by the API server."""

import math
from collections.abc import Iterator

from webhook.doctor import metrics
from webhook.doctor.checks.registration import APPLY
from webhook.doctor.findings import DoctorFinding, DoctorSeverity
from webhook.doctor.installation import Installation, NotReadableError, Replica, value_or_none
from webhook.doctor.probes import OTHER_FAILURE, ProbeResult, interpret
from webhook.policy.request import Hook
from webhook.policy.selectors import matches

OLDEST_CACHE_S = 120
"""Bookmarks come each minute; after two nothing has been heard of the API server."""

QUOTA = "insufficient quota to match these scopes"
"""
What the API server says where pods of a priority class are let into some namespaces alone.

Source: plugin/pkg/admission/resourcequota, with ``limitedResources`` for PriorityClass.
"""


def service(all_: Installation) -> Iterator[DoctorFinding]:
    """The Service exists, and has the port that the webhooks call."""
    found = all_.service.value
    if found is None:
        yield DoctorFinding(f"Service {all_.namespace}/{all_.name} does not exist", APPLY)
        return
    ports = {each.port for each in found.spec.ports}
    for hook in Hook:
        webhook = all_.webhook(hook)
        called = webhook.client_config.service if webhook else None
        if called is not None and ports and called.port not in ports:
            has = ", ".join(map(str, sorted(ports)))
            yield DoctorFinding(
                f"{hook}.evenspread.io calls port {called.port} of the Service, which has {has}",
                APPLY,
            )


def endpoints(all_: Installation) -> Iterator[DoctorFinding]:
    """The Service leads to a replica that is ready."""
    if all_.service.value is not None and not sum(each.ready for each in all_.slices.value or ()):
        yield DoctorFinding(
            f"Service {all_.namespace}/{all_.name} has no ready endpoint",
            f"see why: kubectl {all_.place} get pods,endpointslices; the selector of the Service "
            "must be the labels of the pods",
        )


def replicas(all_: Installation) -> Iterator[DoctorFinding]:
    """As many replicas are available as are wanted."""
    deployment = all_.deployment.value
    if deployment is None:
        yield DoctorFinding(f"Deployment {all_.namespace}/{all_.name} does not exist", APPLY)
        return
    wanted, available = deployment.spec.replicas, deployment.status.available_replicas
    refused = next(
        (each.message for each in deployment.status.conditions if each.type == "ReplicaFailure"), ""
    )
    if QUOTA in refused:
        yield DoctorFinding(
            f"no pod of its priority class is let into namespace {all_.namespace}: {refused}",
            "ship a ResourceQuota for the class: helm upgrade --set criticalQuota=true",
        )
    elif available < wanted:
        yield DoctorFinding(
            f"{available} of {wanted} replicas are available{_because(all_, refused)}",
            f"kubectl {all_.place} describe pods; kubectl {all_.place} logs deployment/{all_.name}",
        )
    elif wanted == 0:
        yield DoctorFinding(
            "the Deployment is scaled to no replica, and failurePolicy decides on every pod",
            f"kubectl {all_.place} scale deployment {all_.name} --replicas=2",
        )


def _because(all_: Installation, refused: str) -> str:
    if refused:
        return f": {refused}"
    idle = [pod for pod in value_or_none(all_.pods) or () if not pod.ready]
    return "".join(f"; {pod.metadata.name}: {pod.trouble or 'not ready'}" for pod in idle)


def disruption_budget(all_: Installation) -> Iterator[DoctorFinding]:
    """A drain takes one replica after the other."""
    deployment = all_.deployment.value
    if deployment is None:
        return
    labels = deployment.spec.template.metadata.labels
    budgets = [each for each in all_.budgets.value or () if matches(each.spec.selector, labels)]
    if not budgets:
        failing = any(_fails(all_, hook) for hook in Hook)
        yield DoctorFinding(
            "no PodDisruptionBudget is for the replicas: a drain may take all of them at once",
            APPLY,
            DoctorSeverity.PROBLEM if failing else DoctorSeverity.NOTE,
        )
    for each in budgets:
        status = each.status
        all_healthy = status.current_healthy >= status.expected_pods > 0
        if all_healthy and status.disruptions_allowed == 0:
            yield DoctorFinding(
                f"PodDisruptionBudget {each.metadata.name} allows no disruption, though all "
                "replicas are healthy: no node with one of them can be drained",
                "let it have maxUnavailable: 1, and run two replicas",
            )


def _fails(all_: Installation, hook: Hook) -> bool:
    webhook = all_.webhook(hook)
    return webhook is not None and webhook.failure_policy == "Fail"


def reached(all_: Installation) -> Iterator[DoctorFinding]:
    """The API server calls both webhooks, and a replica answers."""
    for hook in Hook:
        webhook = all_.webhook(hook)
        if webhook is None:
            continue
        probed = all_.probed[hook]
        if probed.lacks:
            raise NotReadableError("not looked at", probed.lacks)
        if not probed.by:
            yield _unanswered(all_, hook, webhook.failure_policy, probed)


def _unanswered(all_: Installation, hook: Hook, policy: str, probed: ProbeResult) -> DoctorFinding:
    name = f"{hook}.evenspread.io"
    ours = [each for each in Hook if f'webhook "{each}.evenspread.io"' in probed.refusal]
    if not probed.refusal or (ours and hook not in ours):
        hidden = f"; failurePolicy {policy} hides why" if policy == "Ignore" else ""
        return DoctorFinding(
            f"no replica answered for {name}{hidden}",
            "mend what else is found here first; if that is nothing, the log of the API server "
            "tells why, after `failed calling webhook`",
        )
    if not ours:
        return DoctorFinding(
            f"somebody else refused the probe for {name}: {probed.refusal}",
            "choose a namespace in which such a PodTemplate is let pass: --probe-namespace",
        )
    failure = interpret(probed.refusal)
    advice = failure.advice.format(place=all_.place, name=all_.name)
    said = probed.refusal if failure is OTHER_FAILURE else f"{failure.means} ({probed.refusal})"
    return DoctorFinding(f"the API server does not get an answer of {name}: {said}", advice)


def versions(all_: Installation) -> Iterator[DoctorFinding]:
    """All replicas are of one version."""
    found: dict[str, str] = {}
    for version, replica in _versions(all_):
        found.setdefault(version, replica)
    if not found:
        _ = all_.pods.value  # nobody tells; who may not look should know
    if len(found) > 1:
        told = ", ".join(f"{version} ({replica})" for version, replica in sorted(found.items()))
        yield DoctorFinding(
            f"replicas of different versions serve: {told}",
            f"finish the upgrade, or undo it: kubectl {all_.place} rollout status deployment "
            f"{all_.name}; kubectl {all_.place} rollout undo deployment {all_.name}",
        )
    elif found and all_.version not in found:
        yield DoctorFinding(
            f"the replicas are of version {next(iter(found))}, this command of {all_.version}",
            "judge them by the command of their own version: kubectl "
            f"{all_.place} exec deployment/{all_.name} -- evenspread doctor",
            DoctorSeverity.NOTE,
        )


VERSION_LABEL = "app.kubernetes.io/version"


def _versions(all_: Installation) -> Iterator[tuple[str, str]]:
    """Each version that a replica says it is of, or whose pod is labelled so, with the replica."""
    for hook in Hook:
        for each in all_.probed[hook].by:
            yield each.version, each.replica
    for replica in all_.replicas:
        for sample in metrics.read_samples(value_or_none(replica.metrics) or ""):
            if sample.name == "evenspread_build_info":
                yield sample.labels["version"], replica.name
    for pod in value_or_none(all_.pods) or ():
        if VERSION_LABEL in pod.metadata.labels:
            yield pod.metadata.labels[VERSION_LABEL], pod.metadata.name


def well(all_: Installation) -> Iterator[DoctorFinding]:
    """Every replica is ready, and knows the cluster as it is now."""
    if not all_.replicas:
        _ = all_.pods.value  # who may not look for them should know
    for replica in all_.replicas:
        for name, detail in metrics.read_failed_conditions(replica.readiness.value or ""):
            yield DoctorFinding(f"{replica.name}: {name}: {detail}", all_.logs_of(replica))
        for sample in metrics.read_samples(replica.metrics.value or ""):
            yield from _measured(all_, replica, sample)


def _measured(
    all_: Installation, replica: Replica, sample: metrics.MetricSample
) -> Iterator[DoctorFinding]:
    match sample.name:
        case "evenspread_cache_age_seconds" if sample.value > OLDEST_CACHE_S:
            age = "never" if math.isinf(sample.value) else f"{sample.value:.0f} s ago"
            yield DoctorFinding(
                f"{replica.name}: of {sample.labels['kind']} it last heard {age}",
                "see whether it reaches the API server and may list and watch: "
                f"{all_.logs_of(replica)}",
            )
        case "evenspread_config_valid" if sample.value == 0:
            yield DoctorFinding(
                f"{replica.name}: a newer configuration cannot be used; the old one is in force",
                f"kubectl {all_.place} get events; evenspread config check",
            )
        case "evenspread_ca_bundle_in_sync" if sample.value == 0:
            yield DoctorFinding(
                f"{replica.name}: the webhook configurations do not trust what it serves",
                f"evenspread certs {all_.place} --name {all_.name}",
            )
        case _:
            pass
