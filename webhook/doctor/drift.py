"""
Drift of a webhook configuration: what it has that no installation of evenspread has.

Entry point: ``find_drift``. A client that may patch a configuration can let evenspread review,
and so change, any object; RBAC cannot limit that right to the ``caBundle``. Values that operators
choose, such as ``failurePolicy``, are no drift. No I/O.
"""

from collections.abc import Collection, Iterator

from webhook.doctor.binding import BIND_WEBHOOK, list_binding_faults
from webhook.doctor.objects import Webhook, WebhookConfiguration, WebhookRule
from webhook.policy.kinds import KIND_ROWS
from webhook.policy.model import NAME_LABEL, LabelSelector
from webhook.policy.request import Hook
from webhook.policy.selectors import matches

KUBE_SYSTEM = "kube-system"

FIXED_FIELDS = {
    "side_effects": ("sideEffects", "None", "otherwise dry runs fail"),
    "match_policy": ("matchPolicy", "Equivalent", "otherwise other API versions skip the webhook"),
    "reinvocation_policy": (
        "reinvocationPolicy",
        "IfNeeded",
        "otherwise changes by later webhooks are not reviewed",
    ),
}
"""Attribute -> field, required value and reason; the same in every installation."""

_REVIEWED = {(row.group, row.plural) for row in KIND_ROWS if row.template is not None}
_BUILT_IN_GROUPS = {row.group for row in KIND_ROWS if row.version}
_OPERATIONS = {"CREATE", "UPDATE"}


def find_drift(
    hook: Hook,
    configuration: WebhookConfiguration,
    *,
    name: str,
    namespace: str,
    custom: Collection[tuple[str, str]],
) -> Iterator[str]:
    """
    Describe each deviation in a sentence without its full stop.

    Args:
        name: Name of the installation; ``namespace`` is that of its Service.
        custom: API groups and plurals of the kinds of ``podTemplates``; an empty plural, of a kind
            that the API server does not have, is any of its group.
    """
    ours = f"{hook}.evenspread.io"
    for other in configuration.webhooks:
        if other.name == BIND_WEBHOOK and hook is Hook.MUTATE:
            yield from _find_binding_drift(other, name=name, namespace=namespace)
        elif other.name != ours:
            yield f"there is a webhook {other.name}, which no manifest of evenspread has"
    webhook = configuration.webhook(ours)
    if webhook is None:
        yield f"there is no webhook {ours}"
        return
    service = webhook.client_config.service
    called = f"{service.namespace}/{service.name}{service.path}" if service else "a URL"
    if called != f"{namespace}/{name}/{hook}":
        yield f"{ours} calls {called}, not {namespace}/{name}/{hook}"
    for excess in list_excess(webhook, custom):
        yield f"{ours} is called for {excess}"
    for field, value, required, _ in list_changed_fields(hook, webhook):
        yield f"{ours} has {field}: {value}, not {required}"
    for exempt in list_lost_exemptions(webhook, namespace):
        yield f"{ours} is called for namespace {exempt}"


def _find_binding_drift(webhook: Webhook, *, name: str, namespace: str) -> Iterator[str]:
    for fault in list_binding_faults(webhook, name=name, namespace=namespace):
        yield f"{webhook.name} {fault}"
    for exempt in list_lost_exemptions(webhook, namespace):
        yield f"{webhook.name} is called for namespace {exempt}"


def list_excess(webhook: Webhook, custom: Collection[tuple[str, str]] | None) -> list[str]:
    """
    List what a webhook is called for although evenspread does not review it.

    Args:
        custom: As above; None: any custom resource.
    """
    found = (excess for rule in webhook.rules for excess in _find_excess(rule, custom))
    return list(dict.fromkeys(found))


def list_changed_fields(hook: Hook, webhook: Webhook) -> Iterator[tuple[str, str, str, str]]:
    """List the fixed fields that deviate: name, value, required value, reason."""
    for attribute, (field, required, reason) in FIXED_FIELDS.items():
        value = getattr(webhook, attribute)
        if value != required and not (field == "reinvocationPolicy" and hook is Hook.VALIDATE):
            yield field, value, required, reason


def list_lost_exemptions(webhook: Webhook, namespace: str) -> Iterator[str]:
    """List the exempt namespaces that no name excludes; they may get any other label."""
    selector = webhook.namespace_selector or LabelSelector()
    pairs = {key: value for key, value in selector.match_labels.items() if key == NAME_LABEL}
    expressions = tuple(item for item in selector.match_expressions if item.key == NAME_LABEL)
    for exempt in (KUBE_SYSTEM, namespace):
        if matches(LabelSelector(pairs, expressions), {NAME_LABEL: exempt}):
            yield exempt


def _find_excess(rule: WebhookRule, custom: Collection[tuple[str, str]] | None) -> Iterator[str]:
    for resource in rule.resources:
        if resource in {"*", "*/*"}:
            yield "every resource"
            continue
        for group in rule.api_groups:
            if not _is_reviewed(group, resource, custom):
                yield f"{resource} of the API group {group or 'core'}"
    if not {*rule.operations} <= _OPERATIONS:
        yield "DELETE, CONNECT"
    if "" in rule.api_groups and rule.includes("pods", "UPDATE"):
        yield "UPDATE of pods"
    if rule.scope != "Namespaced":
        yield "objects outside of namespaces"


def _is_reviewed(group: str, resource: str, custom: Collection[tuple[str, str]] | None) -> bool:
    any_fits = group not in {*_BUILT_IN_GROUPS, "*"} if custom is None else (group, "") in custom
    return (group, resource) in {*_REVIEWED, *(custom or ())} or (any_fits and "/" not in resource)
