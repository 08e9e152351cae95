"""Whether both webhooks are registered, and as the manifests register them."""

import re
from collections.abc import Iterator

from webhook.doctor.configured import read
from webhook.doctor.findings import Finding, Severity
from webhook.doctor.installation import CONFIGURATIONS, Installation, UnseenError
from webhook.doctor.objects import Rule, Webhook
from webhook.errors import ConfigError
from webhook.policy.model import GroupKind
from webhook.policy.request import Hook
from webhook.policy.workloads import BUILT_IN, POD

APPLY = "apply the manifests again: helm upgrade, or kubectl apply -k"

LONGEST_TIMEOUT_S = 10
"""
More, and a client that waits 30 s for a write gives up before ``Ignore`` lets it through.

Several webhooks are called one after the other, and an API server ends a write after 34 s.
"""

NAME_LABEL = "kubernetes.io/metadata.name"  # kube-apiserver labels every Namespace with its name
SYSTEM = "kube-system"

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


def registered(all_: Installation) -> Iterator[Finding]:
    """Both configurations exist, and hold our webhook."""
    for hook, kind in CONFIGURATIONS.items():
        if all_.configurations[hook].value is None:
            yield Finding(f"{kind} {all_.name} does not exist", f"{APPLY}; {_NOBODY_ELSE}")
        elif all_.webhook(hook) is None:
            yield Finding(f"{kind} {all_.name} has no webhook {hook}.evenspread.io", APPLY)


_NOBODY_ELSE = "the server never makes it again, since to delete it is the way to get past it"


def called_by_service(all_: Installation) -> Iterator[Finding]:
    """The webhooks lead to the Service of the installation, and to the right path."""
    for hook, webhook in _webhooks(all_):
        service = webhook.client_config.service
        if service is None:
            yield Finding(f"{webhook.name} is called by URL, not by a Service", APPLY)
            continue
        called = f"{service.namespace}/{service.name}{service.path}"
        wanted = f"{all_.namespace}/{all_.name}/{hook}"
        if called != wanted:
            yield Finding(f"{webhook.name} calls {called}, not {wanted}", APPLY)


def rules(all_: Installation) -> Iterator[Finding]:
    """The webhooks are called for every kind that is judged, and for nothing else."""
    for hook, webhook in _webhooks(all_):
        missing = [each for each in _wanted() if not _covers(webhook.rules, *each)]
        if missing:
            told = ", ".join(sorted({f"{verb} {resource}" for _, resource, verb in missing}))
            yield Finding(f"{webhook.name} is not called for {told}", APPLY)
        yield from _too_wide(webhook)
        for kind in _custom_kinds(all_):
            if not any({kind.group, "*"} & {*rule.api_groups} for rule in webhook.rules):
                yield Finding(
                    f"{webhook.name} is not called for {kind}, which podTemplates names",
                    "name its resource in the value podTemplates of the chart, or in the rules of "
                    f"both webhook configurations {CONFIGURATIONS[hook]}",
                )


def fixed_members(all_: Installation) -> Iterator[Finding]:
    """What is the same in every installation is so here."""
    for hook, webhook in _webhooks(all_):
        for member, (name, wanted, reason) in FIXED.items():
            if member == "reinvocation_policy" and hook is Hook.VALIDATE:
                continue
            value = getattr(webhook, member)
            if value != wanted:
                yield Finding(f"{webhook.name} has {name}: {value}, not {wanted}: {reason}", APPLY)
        if "v1" not in webhook.admission_review_versions:
            yield Finding(
                f"{webhook.name} has no v1 in admissionReviewVersions, all that is served", APPLY
            )


def timeouts(all_: Installation) -> Iterator[Finding]:
    """No user waits long for a server that does not answer."""
    for hook, webhook in _webhooks(all_):
        if webhook.timeout_seconds > LONGEST_TIMEOUT_S:
            yield Finding(
                f"{webhook.name} has timeoutSeconds: {webhook.timeout_seconds}: while no replica "
                "answers, every write waits that long",
                f"set it to 3: {_patch(all_, hook, 'timeoutSeconds', 3)}",
            )


def failure_policy(all_: Installation) -> Iterator[Finding]:
    """``Fail`` stands only where two replicas bear it."""
    mutate = all_.webhook(Hook.MUTATE)
    if mutate is not None and mutate.failure_policy == "Fail":
        advice = (
            "let the mutating webhook be Ignore, since the validating one judges the outcome: "
            f"{_patch(all_, Hook.MUTATE, 'failurePolicy', 'Ignore')}"
        )
        yield Finding(f"{mutate.name} has failurePolicy: Fail", advice, Severity.NOTE)
    failing = [each.name for _, each in _webhooks(all_) if each.failure_policy == "Fail"]
    deployment = all_.deployment.value if failing else None
    if deployment is not None and deployment.spec.replicas < BEARING:
        yield Finding(
            f"{failing[0]} has failurePolicy: Fail, and there is one replica: whenever it goes, "
            "nobody can create a pod",
            f"run two: kubectl {all_.place} scale deployment {all_.name} --replicas=2 (helm: "
            "--set replicas=2)",
        )


BEARING = 2  # replicas under Fail: one serves while the other is replaced


def exemptions(all_: Installation) -> Iterator[Finding]:
    """Neither kube-system nor our own namespace can be blocked by us."""
    for _, webhook in _webhooks(all_):
        for namespace, reason in (
            (SYSTEM, "what the cluster itself needs waits for us"),
            (all_.namespace, "no replica can start again once all are gone"),
        ):
            if webhook.is_called_for(_labels(namespace)):
                yield Finding(
                    f"{webhook.name} is called for namespace {namespace}: {reason}",
                    f"name it in namespaceSelector, key {NAME_LABEL}, operator NotIn: {APPLY}",
                )


def match_conditions(all_: Installation) -> Iterator[Finding]:
    """No condition fails for objects without annotations."""
    for _, webhook in _webhooks(all_):
        for condition in webhook.match_conditions:
            reads = "object.metadata.annotations" in condition.expression
            if reads and not _HAS.search(condition.expression):
                yield Finding(
                    f"the match condition {condition.name} of {webhook.name} is an error for every "
                    "object without annotations: under Ignore the webhook is then skipped, under "
                    "Fail the request refused",
                    "write `!has(object.metadata.annotations) || !('kubernetes.io/config.mirror' "
                    "in object.metadata.annotations)`",
                )


def _webhooks(all_: Installation) -> Iterator[tuple[Hook, Webhook]]:
    """Those that are registered; what is missing is told by ``registered`` alone."""
    for hook in CONFIGURATIONS:
        webhook = all_.webhook(hook)
        if webhook is not None:
            yield hook, webhook


def _wanted() -> Iterator[tuple[str, str, str]]:
    """Group, resource and operation of all that is judged in every cluster."""
    for kind in BUILT_IN:
        for operation in ("CREATE",) if kind == POD else ("CREATE", "UPDATE"):
            yield kind.group, f"{kind.kind.lower()}s", operation


def _covers(rules_: tuple[Rule, ...], group: str, resource: str, operation: str) -> bool:
    return any(
        {group, "*"} & {*rule.api_groups}
        and {resource, "*", "*/*"} & {*rule.resources}
        and {operation, "*"} & {*rule.operations}
        for rule in rules_
    )


def _too_wide(webhook: Webhook) -> Iterator[Finding]:
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
        yield Finding(
            f"{webhook.name} is called for {told}, which are none of our business: a fault of "
            "ours could stop the cluster",
            APPLY,
        )


def _custom_kinds(all_: Installation) -> list[GroupKind]:
    """Configured kinds; none if the configuration cannot be read, which another check tells."""
    try:
        held = all_.configuration.value
        found = read(held, all_.settings).configuration if held else None
    except (ConfigError, UnseenError):
        return []
    return [kind for kind in found.pod_templates if kind not in BUILT_IN] if found else []


def _labels(namespace: str) -> dict[str, str]:
    """The labels that a namespace has at most, as far as a selector of ours asks for them."""
    return {NAME_LABEL: namespace, "evenspread.io/enabled": "true"}


def _patch(all_: Installation, hook: Hook, member: str, value: object) -> str:
    """The command that changes one member of a webhook."""
    kind = CONFIGURATIONS[hook].lower()
    operation = f'{{"op":"replace","path":"/webhooks/0/{member}","value":{_json(value)}}}'
    return f"kubectl patch {kind} {all_.name} --type=json -p '[{operation}]'"


def _json(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
