"""
What kube-apiserver refuses in the selector of a workload, which must select its own pods.

``find_selector_errors`` is the entry point. Jobs have generated selectors, and custom kinds have
controllers that judge them: neither is checked.

Source: pkg/apis/apps/validation/validation.go ``ValidateDeploymentSpec``,
``ValidateReplicaSetSpec``, ``ValidateStatefulSetSpec``, ``ValidateDaemonSetSpec``;
pkg/apis/core/validation ``ValidateReplicationControllerSpec``; pkg/apis/core/v1
``SetDefaults_ReplicationController``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from webhook.policy import kinds
from webhook.policy.api.fielderrors import format_object, required
from webhook.policy.api.rules import selector_errors
from webhook.policy.api.valuechecks import RefusedField, advise, check_pairs
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.paths import find_value
from webhook.policy.selectors import SELECT_ALL, matches

_SELECTOR, _LABELS = "spec.selector", "spec.template.metadata.labels"
_NO_MATCH = "`selector` does not match template `labels`"
_WRITE_SELECTOR = "write labels of the template as its matchLabels"

_NAMES = {
    kinds.DEPLOYMENT: "deployment",
    kinds.REPLICA_SET: "deployment",
    kinds.STATEFUL_SET: "statefulset",
    kinds.DAEMON_SET: "daemonset",
    kinds.REPLICATION_CONTROLLER: "",  # an empty one becomes that of the labels
}
"""Kind -> its name in the message about an empty selector."""


def find_selector_errors(
    kind: GroupKind, workload: Any, *, is_abridged: bool = False
) -> Iterator[RefusedField]:
    """
    Find the errors in the selector, and in the labels that it must select.

    Args:
        workload: As decoded from JSON. Of the values of a wrong type, only pairs have errors here.
        is_abridged: Whether the selector may be left out, as in a snapshot.
    """
    spec = find_value(workload, ("spec",))
    written = find_value(spec, ("selector",))
    held = find_value(spec, ("template", "metadata", "labels"))
    if kind in _NAMES:
        is_map = kind == kinds.REPLICATION_CONTROLLER
        place = () if is_map else ("matchLabels",)
        yield from check_pairs(find_value(written, place), ".".join((_SELECTOR, *place)))
    try:
        labels = msgspec.convert(held, dict[str, str] | None)
        if kind == kinds.REPLICATION_CONTROLLER:
            pairs = msgspec.convert(written, dict[str, str] | None) or labels
            selector = LabelSelector(match_labels=pairs) if pairs else None
        else:
            selector = msgspec.convert(written, LabelSelector | None)
    except msgspec.ValidationError:
        return
    if kind in _NAMES and (selector is not None or not is_abridged):
        yield from _check_selector(kind, selector, labels)


def _check_selector(
    kind: GroupKind, selector: LabelSelector | None, labels: Mapping[str, str] | None
) -> Iterator[RefusedField]:
    """Check a selector; that of a DaemonSet is not required, but must select the labels."""
    if selector is None:
        if kind != kinds.DAEMON_SET:
            yield advise(required(_SELECTOR, ""), _WRITE_SELECTOR)
        if kind != kinds.REPLICATION_CONTROLLER:
            yield _refuse(_LABELS, labels, _NO_MATCH, "write spec.selector")
        return
    errors = [RefusedField(one.field, one.message) for one in selector_errors(selector, _SELECTOR)]
    yield from errors
    if selector == SELECT_ALL:
        yield _refuse(
            _SELECTOR, {}, f"empty selector is invalid for {_NAMES[kind]}", _WRITE_SELECTOR
        )
    elif not errors and not matches(selector, labels or {}):
        yield _refuse(_LABELS, labels, _NO_MATCH, _suggest_labels(selector))


def _suggest_labels(selector: LabelSelector) -> str:
    pairs = ", ".join(f"{key}: {value}" for key, value in selector.match_labels.items())
    shown = f", such as {pairs}" if pairs else ""
    return f"write labels that {_SELECTOR} selects{shown}"


def _refuse(field: str, value: Any, problem: str, advice: str) -> RefusedField:
    return RefusedField(field, f"Invalid value: {format_object(value)}: {problem}: {advice}")
