"""Taints for a state of a node that passes."""

import pytest

from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.placement.passingtaints import (
    CONDITION_TAINTS,
    PASSING_PREFIXES,
    PASSING_TAINTS,
    is_passing,
)


def test_the_taints_of_kubernetes_for_a_state_of_a_node() -> None:
    states = (
        "disk-pressure", "memory-pressure", "network-unavailable", "not-ready", "out-of-service",
        "pid-pressure", "unreachable", "unschedulable",
    )  # fmt: skip
    cloud = ("shutdown", "uninitialized")

    assert {
        *(f"node.kubernetes.io/{state}" for state in states),
        *(f"node.cloudprovider.kubernetes.io/{state}" for state in cloud),
    } == CONDITION_TAINTS
    assert UNSCHEDULABLE.key in CONDITION_TAINTS


@pytest.mark.parametrize(
    "key", sorted(PASSING_TAINTS) + [f"{prefix}agent" for prefix in PASSING_PREFIXES]
)
def test_taints_that_pass(key: str) -> None:
    assert is_passing(key)


@pytest.mark.parametrize(
    "key", ["gpu", "", "karpenter.sh/other", "ToBeDeleted", "cluster-autoscaler.kubernetes.io/a"]
)
def test_taints_that_stay(key: str) -> None:
    assert not is_passing(key)
