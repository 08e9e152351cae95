"""Caveats name what a pod uses and placement does not model."""

from typing import Any

import pytest

from webhook.explain.caveats import ALWAYS_IGNORED, VOLUMES, find_caveats

PORT = {"containerPort": 80}
PORTS = "host ports (NodePorts)"
POD_AFFINITY = "pod affinity (InterPodAffinity)"
PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}

USES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "nothing": ({"containers": [{"ports": [PORT]}]}, ()),
    "a host port": ({"containers": [{"ports": [PORT | {"hostPort": 80}]}]}, (PORTS,)),
    "a host port of an init container": (
        {"initContainers": [{"ports": [{"hostPort": 80}]}]}, (PORTS,)
    ),
    "the network of the node": (
        {"hostNetwork": True, "containers": [{"ports": [PORT]}]}, (PORTS,)
    ),
    "the network of the node without ports": ({"hostNetwork": True, "containers": [{}]}, ()),
    "a claim": ({"volumes": [{"persistentVolumeClaim": {"claimName": "x"}}]}, (VOLUMES,)),
    "an ephemeral volume": ({"volumes": [{"name": "x", "ephemeral": {}}]}, (VOLUMES,)),
    "a disk": ({"volumes": [{"csi": {}}]}, (VOLUMES,)),
    "a volume of its node": ({"volumes": [{"emptyDir": {}}, {"projected": {}}]}, ()),
    "pod affinity": ({"affinity": {"podAffinity": {"a": 1}}}, (POD_AFFINITY,)),
    "pod anti-affinity": ({"affinity": {"podAntiAffinity": {"a": 1}}}, (POD_AFFINITY,)),
    "empty pod affinity": ({"affinity": {"podAffinity": {}, "podAntiAffinity": None}}, ()),
    "preferred nodes": ({"affinity": {"nodeAffinity": PREFERRED}}, ("preferred node affinity",)),
    "required nodes": (
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}}, ()
    ),
    "resource claims": ({"resourceClaims": [{}]}, ("resource claims (DynamicResources)",)),
    "gates": ({"schedulingGates": [{"name": "x"}]}, ("scheduling gates",)),
    "a priority": ({"priorityClassName": "high"}, ("preemption",)),
    "wrong types": ({"containers": 1, "volumes": [1, "x"], "affinity": []}, ()),
    "no specification": (None, ()),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "expected"), USES.values(), ids=USES)
def test_what_a_pod_uses_is_named(spec: Any, expected: tuple[str, ...]) -> None:
    assert find_caveats({"spec": spec}) == (*ALWAYS_IGNORED, *expected)


def test_claims_of_a_stateful_set_are_volumes() -> None:
    claim: Any = {"spec": {"volumes": [{"persistentVolumeClaim": {}}]}}

    assert find_caveats({}, has_claims=True) == (*ALWAYS_IGNORED, VOLUMES)
    assert find_caveats(claim, has_claims=True) == (*ALWAYS_IGNORED, VOLUMES)
