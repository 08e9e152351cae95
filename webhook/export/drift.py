"""
Drift: how the policies of a cluster differ from those that an export writes.

``find_policy_drift`` is the entry point. It compares specifications as kube-apiserver stores them,
with the defaults that it fills in, so that a member that another client added counts too.

Source: kubernetes pkg/apis/admissionregistration/v1 defaults.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from webhook.export.exported import EXPORT_LABEL, Manifest
from webhook.policy.paths import is_array, is_object

_MATCHES = "matchConstraints"
_DEFAULT_MATCHES: Manifest = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
}
_DEFAULT_RULE: Manifest = {"scope": "*"}


class PolicyDrift(msgspec.Struct, frozen=True):
    """
    An object that the cluster and the export do not have alike.

    Attributes:
        exported: The specification of the export, complete; None if it has no such object.
        stored: The specification in the cluster; None if it has no such object.
    """

    kind: str
    name: str
    exported: Mapping[str, Any] | None
    stored: Mapping[str, Any] | None


def find_policy_drift(
    exported: Sequence[Manifest], stored: Sequence[Manifest], form: str
) -> Iterator[PolicyDrift]:
    """
    Compare the objects of an export with those of the cluster.

    Args:
        stored: All objects of the kinds of the export. Those that the export does not name count
            only if they have its label.
        form: The value of the label.
    """
    named = {_identify(manifest): manifest for manifest in stored}
    wanted = {_identify(manifest): manifest for manifest in exported}
    for (kind, name), manifest in wanted.items():
        found = named.get((kind, name))
        specification = complete_specification(manifest["spec"])
        if found is None or found["spec"] != specification:
            yield PolicyDrift(kind, name, specification, found and _arrange(found, specification))
    for (kind, name), manifest in named.items():
        labels: Manifest = manifest["metadata"].get("labels") or {}
        if (kind, name) not in wanted and labels.get(EXPORT_LABEL) == form:
            yield PolicyDrift(kind, name, None, manifest["spec"])


def _arrange(stored: Manifest, exported: Mapping[str, Any]) -> Manifest:
    """Return a stored specification with the members in the order of the export, for a diff."""
    return _arrange_members(stored["spec"], exported)


def _arrange_members(value: Manifest, like: Mapping[str, Any]) -> Manifest:
    known = [key for key in like if key in value]
    others = [key for key in value if key not in like]
    return {key: _arrange_value(value[key], like.get(key)) for key in (*known, *others)}


def _arrange_value(value: Any, like: Any) -> Any:
    if is_object(value) and is_object(like):
        return _arrange_members(dict(value), like)
    if is_array(value) and is_array(like):
        pairs = zip_longest(value, like[: len(value)])
        return [_arrange_value(item, other) for item, other in pairs]
    return value


def _identify(manifest: Manifest) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]


def complete_specification(specification: Mapping[str, Any]) -> dict[str, Any]:
    """Add the members that kube-apiserver fills in."""
    if _MATCHES not in specification:
        return dict(specification)
    matches: Manifest = specification[_MATCHES]
    rules = [{**_DEFAULT_RULE, **rule} for rule in matches["resourceRules"]]
    complete: Manifest = {**_DEFAULT_MATCHES, **matches, "resourceRules": rules}
    return {**specification, _MATCHES: complete}
