"""Explanations and rollouts for the tests of their views."""

from typing import Any

from webhook.explain.constraints import ConstraintExplanation, DomainRow
from webhook.explain.explanation import Explanation, NodeExplanation
from webhook.explain.rollout import Rollout

ZONE = "topology.kubernetes.io/zone"
ROLLOUT = Rollout(
    sentence="3 of 4 replicas would run",
    edits=(),
    replicas=4,
    running=2,
    placed={"n1": 1},
    pending=1,
    skews=(),
)


def constraint(*domains: DomainRow, **changes: Any) -> ConstraintExplanation:
    """A hard constraint over zones."""
    parts: dict[str, Any] = {
        "index": 0,
        "topology_key": ZONE,
        "when_unsatisfiable": "DoNotSchedule",
        "max_skew": 1,
        "min_domains": 1,
        "selector": "app=web",
        "node_affinity_policy": "Honor",
        "node_taints_policy": "Ignore",
        "selects_pod": True,
        "global_minimum": 0,
        "minimum_because": "no pod in b",
        "pods": 2,
        "unevenness": 2,
        "domains": domains,
        "left_out": (),
    }
    return ConstraintExplanation(**{**parts, **changes})


def explanation(*constraints: ConstraintExplanation, **changes: Any) -> Explanation:
    """A pod that fits on one node."""
    parts: dict[str, Any] = {
        "subject": "Pod shop/web",
        "sentence": "can be placed on 1 of 1 nodes",
        "placeable": True,
        "nodes": (NodeExplanation(name="n1", passes=True, best=True, score=100, raw_score=7),),
    }
    return Explanation(constraints=constraints, **{**parts, **changes})


AT_LIMIT = (
    DomainRow("a", 1, 0, 3, skew=4, fits=False),
    DomainRow("b", 1, 0, 1, skew=2, fits=False),
    DomainRow("c", 1, 0, 0, skew=1, fits=True),
)
