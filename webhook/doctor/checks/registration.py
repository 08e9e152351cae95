"""Checks of both webhook configurations against those that the manifests install."""

import re
from collections.abc import Iterator

from webhook.config.configuration import list_denying_rules
from webhook.doctor import drift
from webhook.doctor.findings import CheckState, DoctorFinding
from webhook.doctor.installation import CONFIGURATION_KINDS, Installation
from webhook.policy.kinds import BUILT_IN_KINDS, BUILT_IN_TEMPLATES, CUSTOM_KINDS, POD
from webhook.policy.model import NAME_LABEL, GroupKind
from webhook.policy.request import Hook

APPLY = "apply the manifests again: helm upgrade, or kubectl apply -k"

LONGEST_TIMEOUT_S = 10
"""
With a longer timeout, a client that waits 30 s gives up before ``Ignore`` lets its write through.

The API server calls several webhooks in sequence, and ends a write after 34 s.
"""

FEWEST_REPLICAS_UNDER_FAIL = 2  # one serves while the other restarts

_HAS_ANNOTATIONS = re.compile(r"has\(\s*object\.metadata\.annotations\s*\)")
_NEW_PODS = (POD.group, "pods", "CREATE")


def check_registered(installation: Installation) -> Iterator[DoctorFinding]:
    """Both configurations exist and contain our webhook."""
    for hook, kind in CONFIGURATION_KINDS.items():
        title = f"{kind} {installation.name}"
        if installation.configurations[hook].value is None:
            yield DoctorFinding(
                f"{title} does not exist",
                f"{APPLY}; the server never creates it, so that deleting it is a way to disable "
                "the webhook",
            )
        elif installation.webhook(hook) is None:
            yield DoctorFinding(f"{title} has no webhook {hook}.evenspread.io", APPLY)


def check_called_service(installation: Installation) -> Iterator[DoctorFinding]:
    """Both webhooks call the Service of the installation, at the right path."""
    for hook, webhook in installation.webhooks():
        service = webhook.client_config.service
        if service is None:
            yield DoctorFinding(f"{webhook.name} is called by URL, not by a Service", APPLY)
            continue
        called = f"{service.namespace}/{service.name}{service.path}"
        expected = f"{installation.namespace}/{installation.name}/{hook}"
        if called != expected:
            yield DoctorFinding(f"{webhook.name} calls {called}, not {expected}", APPLY)


def check_rules(installation: Installation) -> Iterator[DoctorFinding]:
    """Both webhooks are called for every kind that they review, and for nothing else."""
    for hook, webhook in installation.webhooks():
        missing = {
            f"{operation} {resource}"
            for group, resource, operation in _list_reviewed()
            if (hook is Hook.MUTATE or (group, resource, operation) != _NEW_PODS)
            and not webhook.covers(group, resource, operation)
        }
        if missing:
            message = f"{webhook.name} is not called for {', '.join(sorted(missing))}"
            yield DoctorFinding(message, APPLY)
        custom = _list_custom_kinds(installation)
        groups = custom if custom is None else {(k.group, "") for k in {*custom} - {*CUSTOM_KINDS}}
        if excess := drift.list_excess(webhook, groups):
            yield DoctorFinding(
                f"{webhook.name} is called for {', '.join(excess)}, which evenspread does not "
                "review: a fault of its server could stop the cluster",
                APPLY,
            )
        for kind in custom or ():
            if not any({kind.group, "*"} & {*rule.api_groups} for rule in webhook.rules):
                yield DoctorFinding(
                    f"{webhook.name} is not called for {kind}, which podTemplates names",
                    "add its resource to the value podTemplates of the chart, or to the rules of "
                    f"both webhook configurations {CONFIGURATION_KINDS[hook]}",
                )


def check_fixed_fields(installation: Installation) -> Iterator[DoctorFinding]:
    """Fields that are the same in every installation have their required values."""
    for hook, webhook in installation.webhooks():
        for field, value, required, reason in drift.list_changed_fields(hook, webhook):
            message = f"{webhook.name} has {field}: {value}, not {required}: {reason}"
            yield DoctorFinding(message, APPLY)
        if "v1" not in webhook.admission_review_versions:
            yield DoctorFinding(
                f"{webhook.name} has no v1 in admissionReviewVersions, the only version served",
                APPLY,
            )


def check_timeouts(installation: Installation) -> Iterator[DoctorFinding]:
    """No write waits long for a server that does not respond."""
    for hook, webhook in installation.webhooks():
        if webhook.timeout_seconds > LONGEST_TIMEOUT_S:
            yield DoctorFinding(
                f"{webhook.name} has timeoutSeconds: {webhook.timeout_seconds}: while no replica "
                "responds, every write waits that long",
                f"set it to 3: {_format_patch(installation, hook, 'timeoutSeconds', '3')}",
            )


def check_failure_policy(installation: Installation) -> Iterator[DoctorFinding]:
    """A webhook with ``Fail`` has two replicas."""
    mutate = installation.webhook(Hook.MUTATE)
    if mutate is not None and mutate.failure_policy == "Fail":
        patch = _format_patch(installation, Hook.MUTATE, "failurePolicy", '"Ignore"')
        yield DoctorFinding(
            f"{mutate.name} has failurePolicy: Fail",
            "set Ignore for the mutating webhook, since the validating one reviews the result: "
            f"{patch}",
            CheckState.NOTE,
        )
    failing = [
        webhook.name for _, webhook in installation.webhooks() if webhook.failure_policy == "Fail"
    ]
    deployment = installation.deployment.value if failing else None
    if deployment is not None and deployment.spec.replicas < FEWEST_REPLICAS_UNDER_FAIL:
        yield DoctorFinding(
            f"{failing[0]} has failurePolicy: Fail, and there is one replica: no client can create "
            "a pod while that replica is down",
            f"run two: kubectl {installation.namespace_flag} scale deployment {installation.name} "
            "--replicas=2 (helm: --set replicas=2)",
        )


def check_exemptions(installation: Installation) -> Iterator[DoctorFinding]:
    """The webhooks are not called for kube-system and our own namespace."""
    for _, webhook in installation.webhooks():
        for namespace in drift.list_lost_exemptions(webhook, installation.namespace):
            is_system = namespace == drift.KUBE_SYSTEM
            reason = "pods of the cluster itself wait for us"
            yield DoctorFinding(
                f"{webhook.name} is called for namespace {namespace}: "
                f"{reason if is_system else 'no replica can start again once all are down'}",
                f"exclude it in namespaceSelector, key {NAME_LABEL}, operator NotIn: {APPLY}",
            )


def check_validated_pods(installation: Installation) -> Iterator[DoctorFinding]:
    """The validating webhook is called for pods if a rule denies, and only then."""
    webhook = installation.webhook(Hook.VALIDATE)
    reason = _explain_validated_pods(installation) if webhook is not None else None
    if webhook is None or reason is None:
        return
    if reason and not webhook.covers(*_NEW_PODS):
        yield DoctorFinding(
            f"{reason}, and {webhook.name} is not called for CREATE pods: no pod is denied for "
            "advice, and no user gets a warning",
            "register it: helm upgrade with the rule in config.rules and validatePods: auto or "
            "true, or the component deploy/kustomize/validate-pods",
        )
    elif not reason and any("pods" in rule.resources for rule in webhook.rules):
        yield DoctorFinding(
            f"{webhook.name} is called for CREATE pods, and denies none for advice: each new pod "
            "waits for a call that changes nothing",
            f"{APPLY}, with validatePods: auto or false",
            CheckState.NOTE,
        )


def _explain_validated_pods(installation: Installation) -> str | None:
    """
    Explain why the server expects new pods at its validating webhook.

    Returns:
        Empty if it does not expect them; None if the configuration cannot be read, which
        ``check_configuration`` reports.
    """
    setting = installation.settings.get("validate-pods", "auto")
    if setting != "auto":
        return f"the server runs with --validate-pods={setting}" if setting == "true" else ""
    found = installation.valid_configuration
    if found is None:
        return None
    denying = ", ".join(list_denying_rules(found.configuration))
    return f"the configuration sets deny for {denying}" if denying else ""


def check_match_conditions(installation: Installation) -> Iterator[DoctorFinding]:
    """No match condition costs time, or fails for objects without annotations."""
    for _, webhook in installation.webhooks():
        for condition in webhook.match_conditions:
            reads = "object.metadata.annotations" in condition.expression
            if reads and not _HAS_ANNOTATIONS.search(condition.expression):
                yield DoctorFinding(
                    f"the match condition {condition.name} of {webhook.name} is an error for every "
                    "object without annotations: Ignore then skips the webhook, Fail refuses the "
                    "request",
                    f"{_REMOVE_CONDITION}; one that must stay begins with "
                    "`!has(object.metadata.annotations) ||`",
                )
        if webhook.match_conditions:
            names = ", ".join(condition.name for condition in webhook.match_conditions)
            yield DoctorFinding(
                f"{webhook.name} has the match condition {names}: the API server converts every "
                "object to evaluate it, which took 0.5 ms per pod when measured",
                _REMOVE_CONDITION,
                CheckState.NOTE,
            )


_REMOVE_CONDITION = f"remove it, since the server ignores mirror pods by itself: {APPLY}"


def _list_reviewed() -> Iterator[tuple[str, str, str]]:
    """List group, resource and operation of everything that every cluster has reviewed."""
    for kind in BUILT_IN_TEMPLATES:
        for operation in ("CREATE",) if kind == POD else ("CREATE", "UPDATE"):
            yield kind.group, BUILT_IN_KINDS[kind].plural, operation


def _list_custom_kinds(installation: Installation) -> list[GroupKind] | None:
    """List the configured kinds; None if ``check_configuration`` reports a problem."""
    found = None if installation.configuration.problem else installation.valid_configuration
    if found is None:
        return None
    return [kind for kind in found.configuration.pod_templates if kind not in BUILT_IN_TEMPLATES]


def _format_patch(installation: Installation, hook: Hook, field: str, json_value: str) -> str:
    """Format the kubectl command that changes one field of our webhook."""
    configuration = installation.configurations[hook].value
    index = configuration.index(f"{hook}.evenspread.io") if configuration else 0
    kind = CONFIGURATION_KINDS[hook].lower()
    name = f'{{"op":"test","path":"/webhooks/{index}/name","value":"{hook}.evenspread.io"}}'
    change = f'{{"op":"replace","path":"/webhooks/{index}/{field}","value":{json_value}}}'
    return f"kubectl patch {kind} {installation.name} --type=json -p '[{name},{change}]'"
