"""Pods of DaemonSets tolerate what their controller lets them tolerate."""

from webhook.policy.placement.daemondemands import NETWORK_TOLERATION, daemon_demands
from webhook.policy.placement.nodes import UNSCHEDULABLE, Demands, Toleration

OWN = Toleration("gpu", "Exists")
NODE = "node.kubernetes.io"


def test_tolerations_are_added_to_those_of_the_pod() -> None:
    own = daemon_demands(Demands(tolerations=(OWN,)), host_network=False).tolerations or ()

    assert own[:1] == (OWN,)
    assert UNSCHEDULABLE.key in {toleration.key for toleration in own}
    assert NETWORK_TOLERATION not in own


def test_the_tolerations_are_those_of_the_controller() -> None:
    added = daemon_demands(Demands(tolerations=()), host_network=True).tolerations

    assert added == tuple(
        Toleration(f"{NODE}/{name}", "Exists", effect=effect)
        for name, effect in (
            ("not-ready", "NoExecute"),
            ("unreachable", "NoExecute"),
            ("disk-pressure", "NoSchedule"),
            ("memory-pressure", "NoSchedule"),
            ("pid-pressure", "NoSchedule"),
            ("unschedulable", "NoSchedule"),
            ("network-unavailable", "NoSchedule"),
        )
    )


def test_pods_in_the_network_of_their_node_tolerate_that_it_is_not_configured() -> None:
    demands = daemon_demands(Demands(tolerations=None), host_network=True)

    assert NETWORK_TOLERATION in (demands.tolerations or ())


def test_no_toleration_is_added_twice() -> None:
    once = daemon_demands(Demands(tolerations=(OWN,)), host_network=True)

    assert daemon_demands(once, host_network=True) == once
