"""Uneven pods whose hard constraints make a skew necessary."""

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    NOT_READY,
    THREE,
    audit,
    check_rule,
    deployed,
    node,
    of_revision,
    partitioned,
    running,
    zones,
)
from tests.policy.advice.test_skew import PATH, SOFT
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, Node, Taint

HELD = of_revision("old", "a1", "a2", "b1", constraints=(spread(maxSkew=2),))
HELD_UNEVEN = of_revision("old", "a1", "a2", "a1", constraints=(spread(),))

# subject, fields of findings of uneven pods
HELD_SKEWS: dict[str, tuple[Subject, list[str]]] = {
    "a constraint that only the template has": (partitioned(spread(), pods=[HELD]), []),
    "a constraint that only the pods have": (partitioned(pods=[HELD_UNEVEN]), [PATH]),
    "the same constraint": (partitioned(spread(), pods=[HELD_UNEVEN]), [f"{PATH}[0].maxSkew"]),
    "pods of both revisions, with the same constraint": (
        partitioned(
            spread(),
            pods=[
                of_revision("old", "a1", "a2", constraints=(spread(),)),
                of_revision("new", "a1", constraints=(spread(),)),
            ],
        ),
        [f"{PATH}[0].maxSkew"],
    ),
    "pods of both revisions": (
        partitioned(spread(), pods=[HELD, of_revision("new", "b1", constraints=(spread(),))]),
        [f"{PATH}[0].maxSkew"],
    ),
}


@pytest.mark.parametrize(("judged", "fields"), HELD_SKEWS.values(), ids=HELD_SKEWS.keys())
def test_pods_are_uneven_by_their_own_constraints(judged: Subject, fields: list[str]) -> None:
    found = check_rule("TSC114", judged, audit(THREE, judged.running))

    assert [violation.field for violation in found] == fields


SOFT_HOST = spread(topologyKey=HOSTNAME, whenUnsatisfiable=SOFT)
UNEVEN = zones("a1", "b1", "b2", "b3")

ALLOWED = (
    "# the hard constraint on topology.kubernetes.io/zone allows no skew below 2: raise this "
    "maxSkew to 2, or relax the hard one"
)

REBALANCED = "# if nodes have room: evenspread rebalance "

# constraints, nodes, pods, replicas, starts of what is suggested
LEAST: dict[str, tuple[tuple[Json, ...], tuple[str, ...], int, list[str]]] = {
    "the hard constraint fixes the pods of each zone": (
        (spread(), SOFT_HOST), ("a1", "a1", "a1", "b1", "b2", "b3"), 6, []
    ),
    "it allows a smaller skew, yet more than maxSkew": (
        (spread(), SOFT_HOST), ("a1", "a1", "a1", "b1", "b1", "b1"), 6, [ALLOWED]
    ),
    "it allows an even placement": (
        (spread(), SOFT_HOST), ("a1", "b1", "b1"), 3, [REBALANCED]
    ),
    "another maxSkew allows an even placement": (
        (spread(maxSkew=2), SOFT_HOST), ("a1", "a1", "a1", "b1", "b2", "b3"), 6, [REBALANCED]
    ),
    "it is soft as well": (
        (spread(whenUnsatisfiable=SOFT), SOFT_HOST), ("a1", "a1", "a1", "b1", "b2", "b3"), 6,
        [REBALANCED],
    ),
    "more pods are to come": (
        (spread(), SOFT_HOST), ("a1", "a1", "a1", "b1", "b2", "b3"), 9,
        ["# Pending or missing pods may make it even"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("constraints", "placed", "replicas", "suggested"), LEAST.values(), ids=LEAST.keys()
)
def test_a_skew_that_a_hard_constraint_makes_necessary(
    constraints: tuple[Json, ...], placed: tuple[str, ...], replicas: int, suggested: list[str]
) -> None:
    pods = running(*placed, constraints=constraints)
    judged = replace(deployed(*constraints, replicas=replicas), running=(pods,))

    found = check_rule("TSC114", judged, audit(UNEVEN, [pods]))

    assert [violation.field for violation in found] == [f"{PATH}[1].maxSkew"] * len(suggested)
    for violation, start in zip(found, suggested, strict=True):
        assert violation.instead.startswith(start)
        is_doubted = ", if its hard constraints and Pod" in violation.instead
        assert is_doubted is (start == REBALANCED and constraints[0]["whenUnsatisfiable"] != SOFT)


def test_a_skew_may_be_necessary_without_written_replicas() -> None:
    constraints = (spread(), SOFT_HOST)
    pods = running("a1", "a1", "a1", "b1", "b2", "b3", constraints=constraints)
    judged = replace(deployed(*constraints, replicas=None), running=(pods,))

    assert check_rule("TSC114", judged, audit(UNEVEN, [pods])) == []


def test_a_domain_without_the_key_of_a_hard_constraint_is_no_empty_one() -> None:
    constraints = (spread(), SOFT_HOST)
    pods = running("a1", "a1", "b1", "b1", constraints=constraints)
    judged = replace(deployed(*constraints, replicas=4), running=(pods,))
    nodes = [*zones("a1", "b1"), Node("c1", {HOSTNAME: "c1"})]

    assert check_rule("TSC114", judged, audit(nodes, [pods])) == []


@pytest.mark.parametrize(("closed", "waits"), [((NOT_READY,), True), ((), False)])
def test_a_soft_skew_waits_for_the_nodes_that_a_hard_constraint_needs(
    closed: tuple[Taint, ...], *, waits: bool
) -> None:
    """Until then, a pod that is created anew stays Pending, whatever the soft one prefers."""
    soft = spread(topologyKey=HOSTNAME, whenUnsatisfiable=SOFT)
    pods = running("a1", "a1", "a1", "a2", constraints=(spread(), soft))
    judged = replace(deployed(spread(), soft, replicas=4), running=(pods,))
    nodes = [*zones("a1", "a2"), node("c1", "zone-c", *closed)]

    _, of_soft = check_rule("TSC114", judged, audit(nodes, [pods]))

    assert of_soft.instead.startswith("# no pod can go to zone-c now") is waits
    assert (
        "rollout restart" in of_soft.instead or "matchLabelKeys" in of_soft.instead
    ) is not waits
