"""TSC118: an autoscaler whose scale-down can break a hard constraint, and no ranks."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, policy, profile, spread
from tests.policy.advice.subjects import (
    BOUND,
    GPU,
    ONE_ZONE,
    ROLLOUT,
    TAINTED_C,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    node,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.scaledown import find_worst_skew
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.profiles import Mode, Policy, ScaleDown
from webhook.policy.kinds import REPLICA_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, GroupKind, Node
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.scaledown.ranks import DELETION_COST

HPA = "HorizontalPodAutoscaler/web"
RANGE = ReplicaRange(2, 12, HPA)


def scaled(*constraints: Json, scaling: ReplicaRange | None = RANGE, **changes: Any) -> Subject:
    return replace(deployed(*constraints, **changes), scaling=scaling)


def fires(judged: Subject, nodes: list[Node] = THREE, **known: Any) -> bool:
    return bool(check_rule("TSC118", judged, audit(nodes, **known)))


def test_a_scale_down_that_can_break_a_hard_constraint() -> None:
    (violation,) = check_rule("TSC118", scaled(spread()), audit())

    assert violation.field == "spec.template.spec.topologySpreadConstraints[0]"
    assert violation.problem == (
        f"{HPA} scales from 12 down to 2 replicas, and the controller removes pods without regard "
        'to the spread: over "topology.kubernetes.io/zone" the skew can become 4, maxSkew is 1'
    )
    assert violation.instead == "# in the profile of these pods: scaleDown: KeepSpread"


def test_tainted_domains_have_no_pods_to_remove() -> None:
    (violation,) = check_rule("TSC118", scaled(spread(nodeTaintsPolicy="Honor")), audit(TAINTED_C))

    assert "the skew can become 6, maxSkew is 1" in violation.problem


WORKERS = [*zones("a1", "a2", "b1", "b2", "c1"), node("cp1", "zone-a", GPU)]
"""Five nodes in three zones, and one that pods cannot go to."""


def test_only_pods_that_all_hard_constraints_let_run_are_removed() -> None:
    both = spread(), spread(topologyKey=HOSTNAME)
    skews = {
        violation.field: violation.problem.rpartition(", maxSkew")[0][-1]
        for violation in check_rule(
            "TSC118", scaled(*both, scaling=ReplicaRange(3, 9, HPA)), audit(WORKERS)
        )
    }

    assert skews == {"spec.template.spec.topologySpreadConstraints[0]": "2"}


def test_a_range_is_named_with_the_pods_that_run() -> None:
    both = spread(), spread(topologyKey=HOSTNAME)

    (violation,) = check_rule(
        "TSC118", scaled(*both, scaling=ReplicaRange(3, 9, HPA)), audit(WORKERS)
    )

    assert "scales from 9 down to 3 replicas, of which 5 have a place in every order, and" in (
        violation.problem
    )


SILENT: dict[str, tuple[Subject, list[Node]]] = {
    "no autoscaler": (scaled(spread(), scaling=None), THREE),
    "one that never scales down": (scaled(spread(), scaling=ReplicaRange(6, 6, HPA)), THREE),
    "one that removes no pod": (scaled(spread(), scaling=replace(RANGE, scales_down=False)), THREE),
    "one that leaves enough in each zone": (
        scaled(spread(), scaling=ReplicaRange(11, 12, HPA)), THREE
    ),
    "one pod in each zone": (scaled(spread(), scaling=ReplicaRange(1, 3, HPA)), THREE),
    "a maxSkew that allows it": (scaled(spread(maxSkew=4)), THREE),
    "a soft constraint": (scaled(spread(whenUnsatisfiable="ScheduleAnyway")), THREE),
    "no constraint": (scaled(), THREE),
    "one domain": (scaled(spread()), ONE_ZONE),
    "one domain that its pods can go to": (
        scaled(spread(nodeTaintsPolicy="Honor")), [*ONE_ZONE, node("c1", "zone-c", GPU)]
    ),
    "a closed domain, for which few pods run": (scaled(spread()), TAINTED_C),
    "no more pods than the least replicas run": (
        scaled(spread(), spread(topologyKey=HOSTNAME), scaling=ReplicaRange(5, 12, HPA)), WORKERS
    ),
    "pods that are written for one node": (scaled(spread(), template_spec=BOUND), THREE),
    "fewer domains than minDomains": (scaled(spread(minDomains=5)), THREE),
    "a node for each pod": (
        scaled(spread(topologyKey=HOSTNAME), scaling=ReplicaRange(1, 6, HPA)), THREE
    ),
    "hostname without Nodes": (scaled(spread(topologyKey=HOSTNAME)), []),
    "a selector that counts others": (
        scaled(spread(labelSelector={"matchLabels": {"app": "shop"}})), THREE
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "nodes"), SILENT.values(), ids=SILENT)
def test_there_is_no_false_alarm(judged: Subject, nodes: list[Node]) -> None:
    assert not fires(judged, nodes)


def test_other_workloads_that_count_are_no_finding() -> None:
    assert not fires(scaled(spread()), members={"Deployment/cache": {"app": "web"}})


def test_how_many_run_beside_other_workloads_is_unknown() -> None:
    team = spread(topologyKey=HOSTNAME, labelSelector={"matchLabels": {"team": "x"}})
    advised = scaled(spread(), team, labels={"app": "web", "team": "x"})

    assert fires(advised)
    assert not fires(advised, members={"Deployment/cache": {"app": "cache", "team": "x"}})


def test_a_usual_number_of_domains_is_supposed_without_nodes() -> None:
    assert fires(scaled(spread()), [])
    assert not fires(scaled(spread(), scaling=ReplicaRange(1, 3, HPA)), [])


def test_pods_of_more_nodes_than_zones_can_become_uneven_by_node() -> None:
    judged = scaled(spread(topologyKey=HOSTNAME))

    assert fires(judged, zones("a1", "b1", "c1"))


def test_at_admission_no_autoscaler_is_known() -> None:
    assert check_rule("TSC118", scaled(spread()), admission()) == []


KINDS: dict[GroupKind, bool] = {REPLICA_SET: True, ROLLOUT: True, STATEFUL_SET: False}


@pytest.mark.parametrize(("kind", "expected"), KINDS.items())
def test_only_controllers_that_heed_deletion_costs(kind: GroupKind, expected: bool) -> None:
    path = ("spec", "template")
    judged = subject(workload(spread(), kind=kind), path, scaling=RANGE)

    assert fires(judged) is expected


def test_a_deletion_cost_of_the_author_is_left_alone() -> None:
    written = workload(spread())
    written["spec"]["template"]["metadata"]["annotations"] = {DELETION_COST: "7"}

    assert not fires(subject(written, scaling=RANGE))


PROFILES = {ScaleDown.KEEP_SPREAD: False, ScaleDown.NONE: True}


@pytest.mark.parametrize(("chosen", "expected"), PROFILES.items())
def test_a_profile_that_keeps_the_spread(chosen: ScaleDown, expected: bool) -> None:
    config = policy(profile(scale_down=chosen))

    assert fires(scaled(spread()), config=config) is expected


KEEPING = profile(name="p", scale_down=ScaleDown.KEEP_SPREAD)
RECOMMENDED = {
    "in profile p": policy(replace(KEEPING, mode=Mode.RECOMMEND)),
    "in the configuration": policy(KEEPING, mode=Mode.RECOMMEND),
}


@pytest.mark.parametrize(("place", "config"), RECOMMENDED.items())
def test_a_profile_that_only_recommends_to_keep_the_spread(place: str, config: Policy) -> None:
    (violation,) = check_rule("TSC118", scaled(spread()), audit(config=config))

    advice = f"{place}: mode: apply; the scaleDown: KeepSpread of profile p is only recommended"
    assert violation.instead == f"# {advice}"


def test_an_exempt_workload_gets_no_ranks_from_its_profile() -> None:
    keeping = policy(KEEPING)
    exempt = PolicyException(namespace=NAMESPACE, name="a", reason="b", defaults=True)

    assert not fires(scaled(spread()), config=keeping)

    (violation,) = check_rule("TSC118", scaled(spread()), audit(config=keeping, excepted=[exempt]))

    advice = "scaleDown: KeepSpread; and SpreadPolicyException a without defaults: true"
    assert violation.instead == f"# in the profile of these pods: {advice}"


def test_namespaces_that_are_left_alone_have_no_finding() -> None:
    assert not fires(replace(scaled(spread()), namespace="kube-system"))


@given(st.integers(1, 7), st.integers(2, 7), st.integers(1, 4))
def test_the_worst_skew_is_that_of_all_scale_downs(least: int, most: int, domains: int) -> None:
    even = [index % domains for index in range(most)]
    left = [
        combination for number in range(least, most) for combination in combinations(even, number)
    ]
    skews = [
        max(counts) - min(counts)
        for combination in left
        if (counts := [combination.count(domain) for domain in range(domains)])
    ]

    assert find_worst_skew(ReplicaRange(least, most, HPA), domains) == max(skews, default=0)
