"""TSC119 reports rollouts that no choice of kube-scheduler lets finish, and no others."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, gates, policy, spread
from tests.policy.advice.subjects import (
    GPU,
    ROLLOUT,
    TAINTED_C,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    node,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.advise import advise
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.feasibility import FEASIBILITY_REPLICAS
from webhook.policy.advice.rollouts import list_apart
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT_CONFIG, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE

HOST = spread(topologyKey=HOSTNAME)
HASH = "pod-template-hash"
APART = {"matchLabelKeys": [HASH]}
ARGO_APART = "matchLabelKeys: [rollouts-pod-template-hash]"
UNEVEN = zones("a1", "a2", "a3", "b1")
LIST = "spec.template.spec.topologySpreadConstraints"


def web(*constraints: Json, **changes: Any) -> Subject:
    """Read a Deployment of three replicas, none of which may be missing."""
    return deployed(*(constraints or (spread(), HOST)), **({"replicas": 3} | changes))


def limits(**written: Any) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": written}


def argo(**strategy: Any) -> Subject:
    made = workload(spread(), HOST, kind=ROLLOUT, replicas=3, strategy=strategy)
    return subject(made, ("spec", "template"))


# the workload, the nodes, and what to write instead; empty without a finding
STOPPING: dict[str, tuple[Subject, list[Node], str]] = {
    "uneven zones and nodes": (web(), UNEVEN, f"matchLabelKeys: [{HASH}]"),
    "the other way round": (web(HOST, spread()), UNEVEN, f"matchLabelKeys: [{HASH}]"),
    "further keys, which the selector has": (
        web(spread(), {**HOST, "matchLabelKeys": ["app"]}), UNEVEN,
        f"matchLabelKeys: [{HASH}]",
    ),
    "as many pods more as there are": (
        web(strategy=limits(maxSurge="100%", maxUnavailable=0)), UNEVEN,
        f"matchLabelKeys: [{HASH}]",
    ),
    "a canary": (argo(canary={}), UNEVEN, "matchLabelKeys: [rollouts-pod-template-hash]"),
    "a replica that may be missing": (web(strategy=limits(maxUnavailable=1)), UNEVEN, ""),
    "four replicas, one of which may be missing": (web(replicas=4), zones("a1", "b1", "b2"), ""),
    "recreated pods": (web(strategy={"type": "Recreate"}), UNEVEN, ""),
    "each revision apart": (web(spread(**APART), {**HOST, **APART}), UNEVEN, ""),
    "the nodes apart": (web(spread(), {**HOST, **APART}), UNEVEN, ""),
    "even zones": (web(), THREE, ""),
    "a node for each replica": (web(HOST), zones("a1", "b1", "c1"), ""),
    "nodes that keep a replica Pending": (web(replicas=6), UNEVEN, ""),
    "one constraint that has no place for more": (
        web(spread(minDomains=4), HOST), zones("a1", "b1", "c1"), ""
    ),
    "a soft constraint": (
        web(spread(), {**HOST, "whenUnsatisfiable": "ScheduleAnyway"}), UNEVEN, ""
    ),
    "more replicas than are looked at": (web(replicas=FEASIBILITY_REPLICAS), UNEVEN, ""),
    "replicas of an autoscaler": (
        replace(web(), scaling=ReplicaRange(2, 9, "ScaledObject/web")), UNEVEN, ""
    ),
    "an autoscaler that keeps one number": (
        replace(web(), replicas=None, scaling=ReplicaRange(3, 3, "ScaledObject/web")), UNEVEN,
        f"matchLabelKeys: [{HASH}]",
    ),
    "no replicas": (web(replicas=0), UNEVEN, ""),
    "unknown replicas": (web(replicas=None), UNEVEN, ""),
    "pods that a Rollout creates": (
        replace(web(), creator=ROLLOUT), UNEVEN, "matchLabelKeys: [rollouts-pod-template-hash]"
    ),
    "pods that a Rollout creates beside those of the Deployment": (
        replace(web(), creator=ROLLOUT, is_shared=True), UNEVEN, ""
    ),
    "pods that are written for one node": (web(template_spec={"nodeName": "a1"}), UNEVEN, ""),
    "a StatefulSet": (
        subject(workload(spread(), HOST, kind=STATEFUL_SET, replicas=3)), UNEVEN, ""
    ),
    "a StatefulSet whose pods run": (
        subject(
            workload(spread(), kind=STATEFUL_SET, replicas=2), running=(running("a1", "b1"),)
        ),
        UNEVEN, "",
    ),
    "blue and green": (argo(blueGreen={}), UNEVEN, ARGO_APART),
    "a traffic router": (argo(canary={"trafficRouting": {}}), UNEVEN, ARGO_APART),
    "a traffic router, and fewer stable pods with each step": (
        argo(canary={"trafficRouting": {}, "dynamicStableScale": True}), UNEVEN, ""
    ),
    "blue and green, each new pod beside an old one": (
        argo(blueGreen={}), zones("a1", "a2", "b1", "b2", "c1", "c2"), ""
    ),
    "no nodes": (web(), [], ""),
}  # fmt: skip


@pytest.mark.parametrize(("found", "nodes", "instead"), STOPPING.values(), ids=STOPPING.keys())
def test_rollouts_of_replicas(found: Subject, nodes: list[Node], instead: str) -> None:
    violations = check_rule("TSC119", found, audit(nodes))

    assert [violation.instead for violation in violations] == ([instead] if instead else [])


def test_the_constraint_on_nodes_is_named_with_the_number_of_pods() -> None:
    (violation,) = check_rule("TSC119", web(HOST, spread()), audit(UNEVEN))

    assert violation.field == f"{LIST}[0].matchLabelKeys"
    assert violation.problem.startswith(
        "no rollout can finish: maxUnavailable is 0 of 3 replicas, so the first new pod needs a "
        "place beside all old ones, and there is no way to place 4 pods so that "
    )
    assert violation.brief == "no rollout can finish: no place for 4 pods, old and new together"


def test_all_pods_of_blue_and_green_are_counted() -> None:
    (violation,) = check_rule("TSC119", argo(blueGreen={}), audit(UNEVEN))

    assert violation.problem.startswith(
        "no rollout can finish: all 3 new pods start beside the old ones, and there is no way to "
        "place 6 pods so that "
    )
    assert violation.brief == "no rollout can finish: no place for 6 pods, old and new together"


def test_an_admission_does_not_know_the_zones() -> None:
    assert check_rule("TSC119", web(), admission(UNEVEN)) == []


def test_without_the_gate_a_missing_replica_is_the_remedy() -> None:
    off = gates(
        MatchLabelKeysInPodTopologySpread=False,
        MatchLabelKeysInPodTopologySpreadSelectorMerge=False,
    )
    config = policy(gates=off)

    (violation,) = check_rule("TSC119", web(), audit(UNEVEN, config=config))

    assert violation.instead == "# let one pod be missing during a rollout: maxUnavailable: 1"
    (violation,) = check_rule("TSC119", argo(blueGreen={}), audit(UNEVEN, config=config))
    assert violation.instead == "# write a maxSkew that leaves room for the pods of both revisions"


# nodes of the pods that run, and whether the rollout cannot finish
RUNNING: dict[str, tuple[tuple[str, ...], bool]] = {
    "where the constraints want them": (("a1", "a2", "b1"), True),
    "where a new pod has a place": (("a1", "a2", "a3"), False),
    "nowhere": ((), True),
}


@pytest.mark.parametrize(("nodes", "fires"), RUNNING.values(), ids=RUNNING.keys())
def test_running_pods_may_leave_a_place(nodes: tuple[str, ...], fires: bool) -> None:
    pods = running(*nodes)
    found = replace(web(), running=(pods,) if nodes else ())

    violations = check_rule("TSC119", found, audit(UNEVEN, [pods] if nodes else []))

    assert bool(violations) is fires


def daemons(*constraints: Json, **rolling: Any) -> Subject:
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    made = workload(*constraints, kind=DAEMON_SET, replicas=None, updateStrategy=strategy)
    return subject(made)


PINNED = spread(topologyKey=HOSTNAME, minDomains=2)
SURGE = {"maxSurge": 1, "maxUnavailable": 0}

# the DaemonSet, and whether it never rolls out
DAEMONS: dict[str, tuple[Subject, bool]] = {
    "a surge and too few domains": (daemons(PINNED, **SURGE), True),
    "a percentage": (daemons(PINNED, maxSurge="10%", maxUnavailable=0), True),
    "zones": (daemons(spread(minDomains=3), **SURGE), True),
    "no surge": (daemons(PINNED), False),
    "a surge of nothing": (daemons(PINNED, maxSurge="0%"), False),
    "on delete": (
        subject(workload(PINNED, kind=DAEMON_SET, updateStrategy={"type": "OnDelete"})), False
    ),
    "one domain is enough": (daemons(HOST, **SURGE), False),
    "a larger skew": (daemons({**PINNED, "maxSkew": 2}, **SURGE), False),
    "all nodes count": (daemons({**PINNED, "nodeAffinityPolicy": "Ignore"}, **SURGE), False),
    "each revision apart": (
        daemons({**PINNED, "matchLabelKeys": ["controller-revision-hash"]}, **SURGE), False
    ),
    "other pods": (
        daemons({**PINNED, "labelSelector": {"matchLabels": {"app": "x"}}}, **SURGE), False
    ),
    "a soft constraint": (
        daemons(spread(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway"), **SURGE), False
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "fires"), DAEMONS.values(), ids=DAEMONS.keys())
@pytest.mark.parametrize("context", [admission(), audit()], ids=["admission", "audit"])
def test_a_daemon_set_without_a_place_for_two_pods_has_too_many_min_domains(
    found: Subject, fires: bool, context: AdviceContext
) -> None:
    rules = [rule for rule in ("TSC104", "TSC119") if check_rule(rule, found, context)]

    assert rules == (["TSC104"] if fires else [])


def test_a_constraint_that_counts_apart_counts_no_pod_of_the_new_revision() -> None:
    """All old pods run in one rack and one zone; b1, in the same rack, accepts the new pod."""
    racks = [replace(one, labels={**one.labels, "rack": "1"}) for one in UNEVEN]
    racks.append(node("c1", "zone-b", GPU, rack="2"))
    pods = running("a1", "a2", "a3", labels={"app": "web", HASH: "abc"})
    found = replace(web(spread(), HOST, spread(topologyKey="rack", **APART)), running=(pods,))

    assert check_rule("TSC119", found, audit(racks, [pods])) == []


def test_all_hard_constraints_are_to_count_apart() -> None:
    soft = spread(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway")
    found = web(spread(), HOST, soft, {**spread(topologyKey="row"), **APART})

    assert list_apart(found, audit(UNEVEN)) == dict.fromkeys((0, 1), f"matchLabelKeys: [{HASH}]")


def test_a_constraint_that_counts_other_pods_is_left_as_it_is() -> None:
    wide = spread(topologyKey="row", labelSelector={"matchLabels": {"app": "web"}})
    context = audit(UNEVEN, members={"Deployment/cache": {"app": "web", "shard": "x"}})
    narrow = spread(labelSelector={"matchLabels": {"app": "web", "tier": "front"}})
    found = web(narrow, wide, labels={"app": "web", "tier": "front"})

    assert list_apart(found, context) == {0: f"matchLabelKeys: [{HASH}]"}


def test_one_cause_is_one_finding() -> None:
    pods = running("a1", "a2", "b1")
    found = replace(web(), running=(pods,))

    advice = advise(found, audit(UNEVEN, [pods]))

    (finding,) = advice.warned
    assert finding.rule == "TSC119"
    assert "; now none of the 4 nodes that its pods can go to accepts the" in finding.problem
    assert [(one.rule, one.field) for one in advice.audited] == [
        ("TSC107", f"{LIST}[0].matchLabelKeys")
    ]


def test_a_missing_replica_is_another_cause() -> None:
    pods = running("a1", "b1", "b1", "b1")
    none_missing = limits(maxSurge=1, maxUnavailable=0)
    found = web(spread(maxSkew=2), HOST, replicas=6, strategy=none_missing)

    advice = advise(replace(found, running=(pods,)), audit(zones("a1", "b1", "b2", "b3"), [pods]))

    rules = {finding.rule for finding in (*advice.warned, *advice.audited)}
    assert {"TSC106", "TSC119"} <= rules


def test_a_closed_domain_is_the_cause_of_another_rule() -> None:
    found = web(spread(), replicas=2)

    advice = advise(found, audit(TAINTED_C))

    assert [finding.rule for finding in advice.warned] == ["TSC105"]
    assert "and the additional pods of a rollout" in advice.warned[0].problem


TEMPLATE = ("spec", "template")
TAINTED_D = [*zones("a1", "b1", "c1"), node("d1", "zone-d", GPU)]


def test_a_rollout_of_a_deployment_config_needs_places_as_well() -> None:
    strategy = {"type": "Rolling", "rollingParams": {"maxUnavailable": 0}}
    made: Json = {"kind": DEPLOYMENT_CONFIG, "replicas": 3, "strategy": strategy}
    crossing = workload(spread(), spread(topologyKey=HOSTNAME), **made)
    closed = workload(spread(), **made)
    nodes = zones("a1", "a2", "a3", "b1")

    (stopped,) = check_rule("TSC119", subject(crossing, TEMPLATE), audit(nodes))
    (waiting,) = check_rule("TSC105", subject(closed, TEMPLATE), audit(TAINTED_D))

    assert stopped.instead == "matchLabelKeys: [deployment]"
    assert "and the additional pods of a rollout stay Pending" in waiting.problem


def test_a_rollout_that_only_a_cordon_stops_can_finish_later() -> None:
    strategy = {"rollingUpdate": {"maxUnavailable": 0}}
    honoring = [spread(topologyKey=key, nodeTaintsPolicy="Honor") for key in (ZONE, HOSTNAME)]
    judged = deployed(*honoring, replicas=5, strategy=strategy)
    closed = replace(zones("b2")[0], unschedulable=True, taints=(UNSCHEDULABLE,))

    (passing,) = check_rule("TSC119", judged, audit([*zones("a1", "a2", "b1"), closed]))

    assert passing.problem.startswith(
        "while nodes are cordoned, not ready or tainted, no rollout can finish: "
    )
    assert check_rule("TSC119", judged, audit(zones("a1", "a2", "b1", "b2"))) == []
    (lasting,) = check_rule("TSC119", judged, audit(zones("a1", "a2", "b1")))
    assert lasting.problem.startswith("no rollout can finish: ")
