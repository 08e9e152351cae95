"""Targets are prepared for a rolling update, after what is changed before it."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.explain.rollingupdate.rollouts import both, cluster, observe, rolling, workload
from tests.policy.placement.clusters import SELECTS_WEB, node, spread_over
from webhook.cli.inputs.placementtargets import PlacementTarget
from webhook.cli.inputs.rollingpods import MOST_REPLICAS, check_rollout, prepare_rollout
from webhook.cli.inputs.rollouts import RolloutPlan
from webhook.errors import ConfigError
from webhook.explain.nodeedits import RemoveNodes
from webhook.explain.removal import RemovalOrder
from webhook.explain.rollingupdate.setup import ReplicaSetNames
from webhook.explain.rollingupdate.statefulsets import StatefulSetPlan
from webhook.explain.runningupdate import RunningUpdate
from webhook.explain.scenario import Scale
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT
from webhook.policy.model import ZONE
from webhook.policy.rolloutlimits import RolloutLimits

NODES = (node("n1", "a"), node("n2", "b"))
REVISIONS = both(spread_over())
PLAN = RolloutPlan(rolling, REVISIONS)


def target(plan: RolloutPlan | None = PLAN, **changes: Any) -> PlacementTarget:
    pods = changes.pop("pods", observe({"n1": 1, "n2": 1}))
    situation = cluster(NODES, REVISIONS, pods)
    order = changes.pop("order", RemovalOrder.REPLICA_SET)
    parts: dict[str, Any] = {
        "subject": "the next pod of Deployment shop/web",
        "kind": DEPLOYMENT,
        "situation": situation,
        "runs_on": "",
        "replicas": 2,
        "running": {},
        "present": situation,
        "name": "Deployment shop/web",
        "pods": workload(pods, order=order),
        "rollout": plan,
    }
    return PlacementTarget(**(parts | changes))


def test_rollouts_that_are_not_modelled_are_errors() -> None:
    check_rollout(target(), None)

    with pytest.raises(ConfigError, match="the rollout of a DaemonSet is not modelled"):
        check_rollout(target(None, kind=DAEMON_SET), None)
    with pytest.raises(ConfigError, match="the rollout cannot be simulated: for a reason"):
        check_rollout(target(RolloutPlan(rolling, REVISIONS, obstacle="for a reason")), None)


def test_the_cluster_is_edited_before() -> None:
    lost = RemoveNodes(ZONE, "b")

    setup, edits = prepare_rollout(target(), (lost,), None)

    assert edits == (lost,)
    assert [one.name for one in setup.scenario.topology.nodes] == ["n1"]
    assert setup.start.placed == (("n1", (0,)),)


def test_pods_are_removed_before() -> None:
    setup, edits = prepare_rollout(target(), (), 1)

    assert edits == (Scale(1),)
    assert (setup.replicas, setup.start.sizes) == (1, (1, 0))
    assert len(list(setup.start.list_kinds())) == 1
    assert setup.scenario.census.count("shop", SELECTS_WEB) == {}


def test_pods_of_a_rollout_that_runs_are_kept() -> None:
    pods = [*observe({"n1": 1, "n2": 1}), *observe({"n1": 1}, name="web-2", revision="2", first=9)]

    setup, _ = prepare_rollout(target(pods=pods), (), None)

    assert setup.start.sizes == (2, 1, 0)


def test_pods_of_a_rolling_update_that_runs_are_kept_beside_a_scale() -> None:
    pods = [*observe({"n1": 1, "n2": 1}), *observe({"n1": 1}, name="web-2", revision="2", first=9)]
    kept = target(pods=pods)
    assert kept.pods is not None
    update = RunningUpdate(2, RolloutLimits(1, 0))

    setup, _ = prepare_rollout(replace(kept, pods=replace(kept.pods, update=update)), (), 2)

    assert setup.start.sizes == (2, 1, 0)


def test_ordinals_beyond_the_replicas_are_removed() -> None:
    plan = RolloutPlan(lambda _: StatefulSetPlan("web"), REVISIONS)
    pods = observe({"n1": 2, "n2": 1}, name="web")

    setup, _ = prepare_rollout(target(plan, pods=pods, order=RemovalOrder.ORDINAL), (), None)

    assert setup.start.placed == (("n1", (0, 1)),)


def test_notes_of_the_plan_come_before_those_of_the_setup() -> None:
    plan = RolloutPlan(rolling, REVISIONS, notes=("it is paused",))

    setup, _ = prepare_rollout(target(plan, pods=observe({"n1": 1})), (), None)

    assert setup.notes[0] == "it is paused"
    assert len(setup.notes) == 2


def test_replicas_have_a_bound() -> None:
    check_rollout(target(), MOST_REPLICAS)

    with pytest.raises(ConfigError, match="501 replicas are too many to simulate"):
        check_rollout(target(), MOST_REPLICAS + 1)
    with pytest.raises(ConfigError, match="501 replicas are too many to simulate"):
        check_rollout(target(replicas=MOST_REPLICAS + 1), None)


def test_the_stable_replica_set_is_the_last_of_the_old_ones() -> None:
    pods = [*observe({"n1": 2}), *observe({"n1": 1}, name="web-2", revision="2", first=9)]
    plan = RolloutPlan(rolling, REVISIONS, ReplicaSetNames(("web-1", "web-2"), stable="web-1"))

    setup, _ = prepare_rollout(target(plan, pods=pods), (), None)

    assert setup.start.sizes == (1, 2, 0)
