"""What TSC114 suggests for pods with volumes, and where no placement keeps the skew."""

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    THREE,
    audit,
    check_rule,
    deployed,
    running,
    subject,
    workload,
    zones,
)
from tests.policy.advice.test_skew import CLAIMS, HOST, SOFT, cordoned
from webhook.policy.advice.restarts import MOVE_DATA, suggest_moving
from webhook.policy.advice.storage import StorageClass
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import ZONE

REBALANCE = "# evenspread rebalance statefulset/web -n shop moves the fewest pods, if "
EVENING = (
    f"{REBALANCE}their volumes, room on nodes and PodDisruptionBudgets allow it: a restart may "
    "keep pods Pending, which only the nodes of their zones can take"
)
RESTART = "kubectl rollout restart statefulset/web -n shop replaces all of them"

# constraint, what to do; pods in one of three zones
PINNED: dict[str, tuple[Json, str]] = {
    "a hard zone": (spread(), suggest_moving("whenUnsatisfiable: ScheduleAnyway")),
    "a soft zone": (spread(whenUnsatisfiable=SOFT), suggest_moving()),
    "nodes": (HOST, EVENING),
}  # fmt: skip


@pytest.mark.parametrize(("constraint", "expected"), PINNED.values(), ids=PINNED.keys())
def test_no_restart_is_suggested_for_pods_with_volumes_of_a_zone(
    constraint: Json, expected: str
) -> None:
    pods = running("a1", "a1", "a1", constraints=(constraint,))
    found = subject(workload(constraint, kind=STATEFUL_SET, replicas=3, **CLAIMS))

    (violation,) = check_rule("TSC114", replace(found, running=(pods,)), audit(THREE, [pods]))

    assert violation.instead == expected


def test_a_restart_is_suggested_for_volumes_that_every_node_can_use() -> None:
    pods = running("a1", "a1", "a1", constraints=(HOST,))
    found = subject(workload(HOST, kind=STATEFUL_SET, replicas=3, **CLAIMS))
    shared = StorageClass(name="late", provisioner="efs.csi.aws.com")

    suggested = [
        check_rule("TSC114", replace(found, running=(pods,)), context)[0].instead
        for context in (
            audit(zones("a1", "a2", "a3"), [pods]),
            audit(THREE, [pods], storage_classes=[shared]),
        )
    ]

    assert all(one.startswith("# if nodes have room: evenspread rebalance ") for one in suggested)
    assert all(one.endswith(RESTART) for one in suggested)


@pytest.mark.parametrize(
    ("placed", "then"),
    [(("a1", "a2", "b1"), MOVE_DATA), (("a1", "a2", "b1", ""), "audit again once its pods run")],
)
def test_data_is_not_moved_while_the_emptiest_zone_is_closed(
    placed: tuple[str, ...], then: str
) -> None:
    pods = running(*placed, constraints=(spread(),))
    found = subject(workload(spread(), kind=STATEFUL_SET, replicas=len(placed), **CLAIMS))
    context = audit(cordoned("c"), [pods])

    (violation,) = check_rule("TSC114", replace(found, running=(pods,)), context)

    assert violation.instead.startswith("# no pod can go to zone-c now: let a node there take pods")
    assert violation.instead.endswith(f", and then {then}")


# replicas, their nodes, the skews
EXCLUDING: dict[str, tuple[int, tuple[str, ...], list[str]]] = {
    "uneven zones": (6, ("a1", "a1", "a2", "a2", "b1", "b1"), ["zone"]),
    "uneven nodes": (6, ("a1", "a1", "a1", "b1", "b1", "b1"), ["hostname"]),
    "the last one is Pending": (6, ("a1", "a1", "a2", "a2", "b1", ""), ["zone"]),
    "replicas that can be placed": (3, ("a1", "a2"), []),
}


@pytest.mark.parametrize(("replicas", "placed", "uneven"), EXCLUDING.values(), ids=EXCLUDING)
def test_what_no_placement_keeps_is_relaxed_first(
    replicas: int, placed: tuple[str, ...], uneven: list[str]
) -> None:
    constraints = (spread(), HOST)
    pods = running(*placed, constraints=constraints)
    judged = replace(deployed(*constraints, replicas=replicas), running=(pods,))

    found = check_rule("TSC114", judged, audit(zones("a1", "a2", "b1"), [pods]))

    relaxed = [one.instead for one in found if "relax" in one.instead]
    assert [one.rpartition(": ")[2] for one in relaxed] == [
        "otherwise relax the one on kubernetes.io/hostname" for _ in uneven
    ]
    assert all("no way to place more than 5 of 6 replicas" in one for one in relaxed)


@pytest.mark.parametrize("when", ["DoNotSchedule", SOFT])
def test_data_of_even_pods_is_not_moved_because_of_others(when: str) -> None:
    constraint = spread(whenUnsatisfiable=when, labelSelector={"matchLabels": {"team": "x"}})
    labels, others = {"app": "web", "team": "x"}, {"app": "api", "team": "x"}
    pods = [running("a1", "b1", "c1", labels=labels), running("a1", "a1", labels=others)]
    found = subject(workload(constraint, kind=STATEFUL_SET, replicas=3, labels=labels, **CLAIMS))
    context = audit(THREE, pods, {"StatefulSet/web": labels, "StatefulSet/api": others})

    (violation,) = check_rule("TSC114", replace(found, running=(pods[0],)), context)

    assert violation.instead == "labelSelector: {matchLabels: {app: web, team: x}}"


def test_beside_a_soft_zone_a_hard_one_may_be_removed() -> None:
    constraints = (spread(minDomains=2), spread(whenUnsatisfiable=SOFT))
    pods = running("a1", "a1", "a1", constraints=constraints)
    found = subject(workload(*constraints, kind=STATEFUL_SET, replicas=3, **CLAIMS))

    first, *_ = check_rule("TSC114", replace(found, running=(pods,)), audit(THREE, [pods]))

    assert first.instead.endswith(
        ", or remove this constraint: topologySpreadConstraints[1] already spreads softly over "
        f'"{ZONE}"'
    )
