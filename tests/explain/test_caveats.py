"""Caveats name what a pod uses and placement does not model."""

from typing import Any

import pytest

from webhook.explain.caveats import ALWAYS_IGNORED, NEW_VOLUMES, find_caveats
from webhook.policy.defaulting.profiles import STOCK_DEFAULTS
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.unmodelled import OTHER_SCHEDULER
from webhook.policy.placement.topology import Topology

PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}

USES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "nothing": ({"containers": [{"ports": [{"containerPort": 80}]}]}, ()),
    "what filters look at": (
        {
            "containers": [{"ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": 1}}}],
            "volumes": [{"persistentVolumeClaim": {"claimName": "x"}}],
            "affinity": {"podAffinity": {"a": 1}},
        },
        (),
    ),
    "preferred nodes": ({"affinity": {"nodeAffinity": PREFERRED}}, ("preferred node affinity",)),
    "required nodes": (
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}}, ()
    ),
    "resource claims": ({"resourceClaims": [{}]}, ("resource claims (DynamicResources)",)),
    "gates": ({"schedulingGates": [{"name": "x"}]}, ("scheduling gates",)),
    "a priority": ({"priorityClassName": "high"}, ("preemption",)),
    "compared taints": (
        {"tolerations": [{"key": "a"}, {"key": "b", "operator": "Gt", "value": "9"}]},
        ("tolerations with Gt or Lt",),
    ),
    "other tolerations": ({"tolerations": [{"key": "a", "operator": "Exists"}, 1]}, ()),
    "tolerations of a wrong type": ({"tolerations": {"operator": "Gt"}}, ()),
    "another scheduler": ({"schedulerName": "other"}, (OTHER_SCHEDULER,)),
    "wrong types": ({"containers": 1, "volumes": [1, "x"], "affinity": []}, ()),
    "no specification": (None, ()),
}  # fmt: skip

POD, CLUSTER = FilterPod("shop", {}), SchedulingCluster(Topology(()))


def caveats(template: Any, *, has_claims: bool = False) -> tuple[str, ...]:
    return find_caveats(template, POD, CLUSTER, STOCK_DEFAULTS, has_claims=has_claims)


@pytest.mark.parametrize(("spec", "expected"), USES.values(), ids=USES)
def test_what_a_pod_uses_is_named(spec: Any, expected: tuple[str, ...]) -> None:
    assert caveats({"spec": spec}) == (*ALWAYS_IGNORED, *expected)


def test_claims_of_a_stateful_set_are_new() -> None:
    assert caveats({}, has_claims=True) == (*ALWAYS_IGNORED, NEW_VOLUMES)
