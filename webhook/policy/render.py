"""
Convert constraints and selectors to plain values, as kube-apiserver writes them in JSON.

An unset field is omitted; a field with a zero value (``labelSelector: {}``, ``minDomains: 0``) is
written.

Source: the JSON tags of k8s.io/api core/v1 ``TopologySpreadConstraint``.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement

Rendered = dict[str, object]

CACHED_CONSTRAINTS = 256  # profiles have a handful of constraints each

encode = msgspec.json.Encoder().encode


def constraint(value: Constraint) -> Rendered:
    """Convert a constraint; maxSkew, topologyKey and whenUnsatisfiable are always written."""
    members: Rendered = {
        "maxSkew": value.max_skew,
        "topologyKey": value.topology_key,
        "whenUnsatisfiable": value.when_unsatisfiable,
        "minDomains": value.min_domains,
        "nodeAffinityPolicy": value.node_affinity_policy,
        "nodeTaintsPolicy": value.node_taints_policy,
        "matchLabelKeys": list(value.match_label_keys) or None,
        "labelSelector": None if value.label_selector is None else selector(value.label_selector),
    }
    return {name: member for name, member in members.items() if member is not None}


@lru_cache(CACHED_CONSTRAINTS)
def opening(value: Constraint) -> bytes:
    """
    Encode a constraint without a selector, up to the place where its selector follows.

    These bytes, the encoded selector and ``}`` equal the encoded constraint.
    """
    return encode(constraint(value))[:-1] + b',"labelSelector":'


def selector(value: LabelSelector) -> Rendered:
    """Convert a label selector; sorted labels make equal selectors equal bytes."""
    return selector_of(sorted(value.match_labels.items()), value.match_expressions)


def selector_of(
    pairs: Sequence[tuple[str, str]], expressions: Sequence[LabelSelectorRequirement]
) -> Rendered:
    """Convert the pairs, sorted by key, and the expressions of a label selector."""
    stored: Rendered = {}
    if pairs:
        stored["matchLabels"] = dict(pairs)
    if expressions:
        stored["matchExpressions"] = list(map(_requirement, expressions))
    return stored


def _requirement(value: LabelSelectorRequirement) -> Rendered:
    stored: Rendered = {"key": value.key, "operator": value.operator}
    if value.values:
        stored["values"] = list(value.values)
    return stored
