"""
Constraints and selectors as kube-apiserver writes them: plain values, ready to be encoded.

What is not set is left out; what is set to nothing (``labelSelector: {}``, ``minDomains: 0``) is
kept.
Source: the JSON tags of k8s.io/api core/v1 ``TopologySpreadConstraint``.
"""

from functools import lru_cache

import msgspec

from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement

Rendered = dict[str, object]

OPENINGS = 256  # constraints remembered: profiles have a handful each

encode = msgspec.json.Encoder().encode


def constraint(value: Constraint) -> Rendered:
    """One constraint; maxSkew, topologyKey and whenUnsatisfiable are always written."""
    stored: Rendered = {
        "maxSkew": value.max_skew,
        "topologyKey": value.topology_key,
        "whenUnsatisfiable": value.when_unsatisfiable,
    }
    if value.min_domains is not None:
        stored["minDomains"] = value.min_domains
    if value.node_affinity_policy is not None:
        stored["nodeAffinityPolicy"] = value.node_affinity_policy
    if value.node_taints_policy is not None:
        stored["nodeTaintsPolicy"] = value.node_taints_policy
    if value.match_label_keys:
        stored["matchLabelKeys"] = list(value.match_label_keys)
    if value.label_selector is not None:
        stored["labelSelector"] = selector(value.label_selector)
    return stored


@lru_cache(OPENINGS)
def opening(value: Constraint) -> bytes:
    """
    The JSON of a constraint without a selector, up to where its selector follows.

    These bytes, those of the selector and ``}`` are the same as encoding ``constraint``.
    """
    return encode(constraint(value))[:-1] + b',"labelSelector":'


def selector(value: LabelSelector) -> Rendered:
    """A label selector; pairs are sorted by key, so that equal selectors are equal bytes."""
    stored: Rendered = {}
    if value.match_labels:
        stored["matchLabels"] = dict(sorted(value.match_labels.items()))
    if value.match_expressions:
        stored["matchExpressions"] = [_requirement(each) for each in value.match_expressions]
    return stored


def _requirement(value: LabelSelectorRequirement) -> Rendered:
    stored: Rendered = {"key": value.key, "operator": value.operator}
    if value.values:
        stored["values"] = list(value.values)
    return stored
