"""Caveats name what a pod uses and placement does not model."""

from typing import Any

import pytest

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.caveats import (
    ALWAYS_IGNORED,
    NEW_VOLUMES,
    UNKNOWN_NODES,
    find_caveats,
    find_unknown_nodes,
)
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
    "preferred pods": ({"affinity": {"podAffinity": PREFERRED}}, ("preferred pod affinity",)),
    "avoided pods": (
        {"affinity": {"podAntiAffinity": PREFERRED}},
        ("preferred pod anti-affinity",),
    ),
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


# pods, whether one is named
STRAYS: dict[str, tuple[FilterPod, bool]] = {
    "a replica": (FilterPod("shop", {}, name="web-1", node_name="gone"), True),
    "a pod that a constraint counts": (
        FilterPod("shop", {"app": "web"}, name="other", node_name="gone"), True
    ),
    "another pod": (FilterPod("shop", {"app": "db"}, name="db", node_name="gone"), False),
    "a replica on a known node": (FilterPod("shop", {}, name="web-1", node_name="n1"), False),
}  # fmt: skip


@pytest.mark.parametrize(("pod", "is_named"), STRAYS.values(), ids=STRAYS.keys())
def test_pods_on_nodes_that_are_not_known_are_named(pod: FilterPod, *, is_named: bool) -> None:
    found = find_unknown_nodes(scenario([node("n1", "a")], spread_over()), [pod], {"web-1"})

    assert found == ((f"{UNKNOWN_NODES}: {pod.name} on gone",) if is_named else ())
