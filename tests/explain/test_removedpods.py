"""Removed pods leave their nodes in the scenario."""

from tests.explain.observed import make_pod as pod
from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.removedpods import remove_pods, take_pod
from webhook.policy.model import LabelSelector


def test_removed_pods_leave_their_nodes() -> None:
    labels = LabelSelector({"app": "web"})
    before = scenario((node("n1", "a"),), spread_over(), pods={"n1": 2})

    assert remove_pods(before, [pod("a", "")], {}) is before
    assert remove_pods(before, [pod("a")], {}).census.count("shop", labels) == {"n1": 1}
    assert take_pod(pod("a"), {"a": before.pod}) is before.pod
