"""Whether both webhooks are registered, and as the manifests register them."""

import re
from collections.abc import Iterator

from webhook.doctor.configmap import read_config_map
from webhook.doctor.findings import DoctorFinding, DoctorSeverity
from webhook.doctor.installation import CONFIGURATION_KINDS, Installation, NotReadableError
from webhook.doctor.objects import Webhook, WebhookRule
from webhook.errors import ConfigError
from webhook.policy.catalogue import Action
from webhook.policy.kinds import BUILT_IN_TEMPLATES, POD
from webhook.policy.model import GroupKind
from webhook.policy.request import Hook

APPLY = "apply the manifests again: helm upgrade, or kubectl apply -k"

LONGEST_TIMEOUT_S = 10
"""
More, and a client that waits 30 s for a write gives up before ``Ignore`` lets it through.

Several webhooks are called one after the other, and an API server ends a write after 34 s.
"""

NAME_LABEL = "kubernetes.io/metadata.name"  # kube-apiserver labels every Namespace with its name
KUBE_SYSTEM = "kube-system"

FIXED = {
    "side_effects": ("sideEffects", "None", "a dry run fails otherwise"),
    "match_policy": (
        "matchPolicy",
        "Equivalent",
        "another version of a kind gets past it otherwise",
    ),
    "reinvocation_policy": (
        "reinvocationPolicy",
        "IfNeeded",
        "what webhooks after it change is not looked at otherwise",
    ),
}
"""Members that every installation has, by their name here: name there, value, reason."""

_HAS = re.compile(r"has\(\s*object\.metadata\.annotations\s*\)")


def registered(all_: Installation) -> Iterator[DoctorFinding]:
    """Both configurations exist, and hold our webhook."""
    for hook, kind in CONFIGURATION_KINDS.items():
        if all_.configurations[hook].value is None:
            yield DoctorFinding(f"{kind} {all_.name} does not exist", f"{APPLY}; {_NOBODY_ELSE}")
        elif all_.webhook(hook) is None:
            yield DoctorFinding(f"{kind} {all_.name} has no webhook {hook}.evenspread.io", APPLY)


_NOBODY_ELSE = "the server never makes it again, since to delete it is the way to get past it"


def called_by_service(all_: Installation) -> Iterator[DoctorFinding]:
    """The webhooks lead to the Service of the installation, and to the right path."""
    for hook, webhook in _webhooks(all_):
        service = webhook.client_config.service
        if service is None:
            yield DoctorFinding(f"{webhook.name} is called by URL, not by a Service", APPLY)
            continue
        called = f"{service.namespace}/{service.name}{service.path}"
        wanted = f"{all_.namespace}/{all_.name}/{hook}"
        if called != wanted:
            yield DoctorFinding(f"{webhook.name} calls {called}, not {wanted}", APPLY)


def rules(all_: Installation) -> Iterator[DoctorFinding]:
    """The webhooks are called for every kind that is judged, and for nothing else."""
    for hook, webhook in _webhooks(all_):
        wanted = [each for each in _wanted() if hook is Hook.MUTATE or each != _NEW_PODS]
        missing = [each for each in wanted if not _covers(webhook.rules, *each)]
        if missing:
            told = ", ".join(sorted({f"{verb} {resource}" for _, resource, verb in missing}))
            yield DoctorFinding(f"{webhook.name} is not called for {told}", APPLY)
        yield from _too_wide(webhook)
        for kind in _custom_kinds(all_):
            if not any({kind.group, "*"} & {*rule.api_groups} for rule in webhook.rules):
                yield DoctorFinding(
                    f"{webhook.name} is not called for {kind}, which podTemplates names",
                    "name its resource in the value podTemplates of the chart, or in the rules of "
                    f"both webhook configurations {CONFIGURATION_KINDS[hook]}",
                )


def fixed_members(all_: Installation) -> Iterator[DoctorFinding]:
    """What is the same in every installation is so here."""
    for hook, webhook in _webhooks(all_):
        for member, (name, wanted, reason) in FIXED.items():
            if member == "reinvocation_policy" and hook is Hook.VALIDATE:
                continue
            value = getattr(webhook, member)
            if value != wanted:
                yield DoctorFinding(
                    f"{webhook.name} has {name}: {value}, not {wanted}: {reason}", APPLY
                )
        if "v1" not in webhook.admission_review_versions:
            yield DoctorFinding(
                f"{webhook.name} has no v1 in admissionReviewVersions, all that is served", APPLY
            )


def timeouts(all_: Installation) -> Iterator[DoctorFinding]:
    """No user waits long for a server that does not answer."""
    for hook, webhook in _webhooks(all_):
        if webhook.timeout_seconds > LONGEST_TIMEOUT_S:
            yield DoctorFinding(
                f"{webhook.name} has timeoutSeconds: {webhook.timeout_seconds}: while no replica "
                "answers, every write waits that long",
                f"set it to 3: {_patch(all_, hook, 'timeoutSeconds', 3)}",
            )


def failure_policy(all_: Installation) -> Iterator[DoctorFinding]:
    """``Fail`` stands only where two replicas bear it."""
    mutate = all_.webhook(Hook.MUTATE)
    if mutate is not None and mutate.failure_policy == "Fail":
        advice = (
            "let the mutating webhook be Ignore, since the validating one judges the outcome: "
            f"{_patch(all_, Hook.MUTATE, 'failurePolicy', 'Ignore')}"
        )
        yield DoctorFinding(f"{mutate.name} has failurePolicy: Fail", advice, DoctorSeverity.NOTE)
    failing = [each.name for _, each in _webhooks(all_) if each.failure_policy == "Fail"]
    deployment = all_.deployment.value if failing else None
    if deployment is not None and deployment.spec.replicas < FEWEST_REPLICAS_UNDER_FAIL:
        yield DoctorFinding(
            f"{failing[0]} has failurePolicy: Fail, and there is one replica: whenever it goes, "
            "nobody can create a pod",
            f"run two: kubectl {all_.place} scale deployment {all_.name} --replicas=2 (helm: "
            "--set replicas=2)",
        )


FEWEST_REPLICAS_UNDER_FAIL = 2  # replicas under Fail: one serves while the other is replaced


def exemptions(all_: Installation) -> Iterator[DoctorFinding]:
    """Neither kube-system nor our own namespace can be blocked by us."""
    for _, webhook in _webhooks(all_):
        for namespace, reason in (
            (KUBE_SYSTEM, "what the cluster itself needs waits for us"),
            (all_.namespace, "no replica can start again once all are gone"),
        ):
            if webhook.is_called_for(_labels(namespace)):
                yield DoctorFinding(
                    f"{webhook.name} is called for namespace {namespace}: {reason}",
                    f"name it in namespaceSelector, key {NAME_LABEL}, operator NotIn: {APPLY}",
                )


def validated_pods(all_: Installation) -> Iterator[DoctorFinding]:
    """Pods are sent to the validating webhook if a rule denies, and only then."""
    webhook = all_.webhook(Hook.VALIDATE)
    expected = _reason_to_validate_pods(all_) if webhook is not None else None
    if webhook is None or expected is None:
        return
    if expected and not _covers(webhook.rules, *_NEW_PODS):
        yield DoctorFinding(
            f"{expected}, and {webhook.name} is not called for CREATE pods: no pod is denied for "
            "advice, and nobody is warned",
            "register it: helm upgrade with the rule in config.rules and validatePods: auto or "
            "true, or the component deploy/kustomize/validate-pods",
        )
    elif not expected and any("pods" in rule.resources for rule in webhook.rules):
        yield DoctorFinding(
            f"{webhook.name} is called for CREATE pods, and denies none for advice: each new pod "
            "waits for a call that changes nothing",
            f"{APPLY}, with validatePods: auto or false",
            DoctorSeverity.NOTE,
        )


def _reason_to_validate_pods(all_: Installation) -> str | None:
    """
    Say why the server expects new pods at its validating webhook.

    Returns:
        Empty if it does not expect them; None if nobody can know, which another check reports.
    """
    setting = all_.settings.get("validate-pods", "auto")
    if setting != "auto":
        return f"the server runs with --validate-pods={setting}" if setting == "true" else ""
    held = all_.configuration.value
    if held is None:
        return None
    try:
        actions = read_config_map(held, all_.settings).configuration.actions
    except ConfigError:
        return None
    denying = [rule for rule, action in actions.items() if action is Action.DENY]
    return f"the configuration says deny for {', '.join(denying)}" if denying else ""


def match_conditions(all_: Installation) -> Iterator[DoctorFinding]:
    """No condition costs time, or fails for objects without annotations."""
    for _, webhook in _webhooks(all_):
        for condition in webhook.match_conditions:
            reads = "object.metadata.annotations" in condition.expression
            if reads and not _HAS.search(condition.expression):
                yield DoctorFinding(
                    f"the match condition {condition.name} of {webhook.name} is an error for every "
                    "object without annotations: under Ignore the webhook is then skipped, under "
                    "Fail the request refused",
                    f"{_WITHOUT_CONDITIONS}; one that must stay begins with "
                    "`!has(object.metadata.annotations) ||`",
                )
        if webhook.match_conditions:
            named = ", ".join(each.name for each in webhook.match_conditions)
            yield DoctorFinding(
                f"{webhook.name} has the match condition {named}: the API server converts every "
                "object that is sent to evaluate it, which took 0.5 ms a pod where it was measured",
                _WITHOUT_CONDITIONS,
                DoctorSeverity.NOTE,
            )


_WITHOUT_CONDITIONS = f"take it out, since the server leaves mirror pods alone by itself: {APPLY}"


def _webhooks(all_: Installation) -> Iterator[tuple[Hook, Webhook]]:
    """Those that are registered; what is missing is told by ``registered`` alone."""
    for hook in CONFIGURATION_KINDS:
        webhook = all_.webhook(hook)
        if webhook is not None:
            yield hook, webhook


def _wanted() -> Iterator[tuple[str, str, str]]:
    """Group, resource and operation of all that is judged in every cluster."""
    for kind in BUILT_IN_TEMPLATES:
        for operation in ("CREATE",) if kind == POD else ("CREATE", "UPDATE"):
            yield kind.group, f"{kind.kind.lower()}s", operation


_NEW_PODS = (POD.group, "pods", "CREATE")


def _covers(rules_: tuple[WebhookRule, ...], group: str, resource: str, operation: str) -> bool:
    return any(
        {group, "*"} & {*rule.api_groups}
        and {resource, "*", "*/*"} & {*rule.resources}
        and {operation, "*"} & {*rule.operations}
        for rule in rules_
    )


def _too_wide(webhook: Webhook) -> Iterator[DoctorFinding]:
    wide = [
        what
        for rule in webhook.rules
        for what, holds in (
            ("every resource", "*" in rule.resources or "*/*" in rule.resources),
            ("DELETE, CONNECT", bool({"*", "DELETE", "CONNECT"} & {*rule.operations})),
            ("objects outside of namespaces", rule.scope != "Namespaced"),
        )
        if holds
    ]
    if wide:
        told = ", ".join(dict.fromkeys(wide))
        yield DoctorFinding(
            f"{webhook.name} is called for {told}, which are none of our business: a fault of "
            "ours could stop the cluster",
            APPLY,
        )


def _custom_kinds(all_: Installation) -> list[GroupKind]:
    """Configured kinds; none if the configuration cannot be read, which another check tells."""
    try:
        held = all_.configuration.value
        found = read_config_map(held, all_.settings).configuration if held else None
    except (ConfigError, NotReadableError):
        return []
    return [kind for kind in found.pod_templates if kind not in BUILT_IN_TEMPLATES] if found else []


def _labels(namespace: str) -> dict[str, str]:
    """The labels that a namespace has at most, as far as a selector of ours asks for them."""
    return {NAME_LABEL: namespace, "evenspread.io/enabled": "true"}


def _patch(all_: Installation, hook: Hook, member: str, value: object) -> str:
    """The command that changes one member of a webhook."""
    kind = CONFIGURATION_KINDS[hook].lower()
    operation = f'{{"op":"replace","path":"/webhooks/0/{member}","value":{_json(value)}}}'
    return f"kubectl patch {kind} {all_.name} --type=json -p '[{operation}]'"


def _json(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
