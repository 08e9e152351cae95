from typing import Any

import pytest

from tests.policy.placement.filters.objects import (
    Json,
    cluster,
    container,
    node_object,
    pod,
    pod_object,
)
from webhook.policy.placement.filters.unmodelled import (
    DEVICES,
    OTHER_SCHEDULER,
    PROFILE,
    find_unmodelled,
)

KNOWN = ("default-scheduler",)
NODES = [node_object("n1", {"pods": "1", "example.com/gpu": "0"})]

# specification, what is not modelled
USES: dict[str, tuple[Json, tuple[str, ...]]] = {
    "nothing": ({}, ()),
    "the default scheduler": ({"schedulerName": "default-scheduler"}, ()),
    "another scheduler": ({"schedulerName": "volcano"}, (OTHER_SCHEDULER,)),
    "no scheduler name": ({"schedulerName": ""}, ()),
    "resource claims": ({"resourceClaims": [{}]}, ("resource claims (DynamicResources)",)),
    "a container that restarts all": (
        {"containers": [{"restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
        ("features that nodes declare (NodeDeclaredFeatures)",),
    ),
    "mount options": (
        {"initContainers": [{"volumeMounts": [{"bindMountOptions": ["noexec"]}]}]},
        ("features that nodes declare (NodeDeclaredFeatures)",),
    ),
    "users of the host's network": (
        {"hostNetwork": True, "hostUsers": False},
        ("features that nodes declare (NodeDeclaredFeatures)",),
    ),
    "the host's network alone": ({"hostNetwork": True}, ()),
    "a gang": ({"schedulingGroup": {"podGroupName": "g"}}, ("gangs (GangScheduling)",)),
    "an in-tree volume": ({"volumes": [{"azureDisk": {}}]}, ()),
    "another volume": ({"volumes": [{"emptyDir": {}}]}, ()),
    "a resource that no node has": (
        {"containers": [container({"example.com/fpga": "1"})]}, (DEVICES,)
    ),
    "a resource that a node has": ({"containers": [container({"example.com/gpu": "1"})]}, ()),
    "huge pages": ({"containers": [container({"hugepages-2Mi": "2Mi"})]}, ()),
    "several": (
        {"schedulerName": "volcano", "resourceClaims": [{}]},
        (OTHER_SCHEDULER, "resource claims (DynamicResources)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "found"), USES.values(), ids=USES.keys())
def test_what_is_not_modelled(spec: Json, found: tuple[str, ...]) -> None:
    given = {name: value for name, value in spec.items() if name != "initContainers"}

    assert find_unmodelled(pod_object(**spec), pod(**given), cluster(NODES), KNOWN) == (
        PROFILE,
        *found,
    )


@pytest.mark.parametrize("template", [None, {}, {"spec": []}, {"spec": {"volumes": {}}}])
def test_parts_of_wrong_types_are_ignored(template: Any) -> None:
    assert find_unmodelled(template, pod(), cluster(NODES), KNOWN) == (PROFILE,)
