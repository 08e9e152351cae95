"""Pods are counted by the profile whose defaults they have."""

from typing import Any

import msgspec
import pytest

from tests.build import constraint
from webhook.audit.defaultedpods import DefaultedPods, count_defaulted
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION, Provenance
from webhook.policy.model import HOSTNAME, ZONE, Constraint, ObjectMeta, PodSpec, PodTemplate

HARD = constraint(topology_key=ZONE, when_unsatisfiable="DoNotSchedule")
SOFT = constraint(topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway")
PROFILES = ("all", "web")


def annotation(profile: str = "web", *keys: str) -> str:
    return msgspec.json.encode(Provenance(profile, (), keys or (ZONE,), "")).decode()


def group(
    *constraints: Constraint, written: str | None = None, number: int = 1, **members: Any
) -> RunningPods:
    annotations = {} if written is None else {DEFAULTS_ANNOTATION: written}
    spec = PodSpec(topology_spread_constraints=constraints)
    pod = PodTemplate(ObjectMeta(annotations=annotations), spec)
    return RunningPods(pod, {"": number}, **members)


WITHOUT = {
    "no annotation": group(HARD),
    "an empty annotation": group(HARD, written=""),
    "an invalid annotation": group(HARD, written="yes"),
    "a profile that does not exist": group(HARD, written=annotation("gone")),
    "no metadata": RunningPods(PodTemplate(), {"a": 1}),
}


@pytest.mark.parametrize("pods", WITHOUT.values(), ids=WITHOUT)
def test_pods_without_defaults_of_a_profile_do_not_count(pods: RunningPods) -> None:
    assert count_defaulted([pods], PROFILES, {ZONE}) == ()


def test_pods_are_counted_by_profile() -> None:
    running = [
        group(HARD, written=annotation("web"), number=3),
        group(SOFT, written=annotation("all", HOSTNAME)),
        group(HARD, written=annotation("web"), number=2),
    ]

    assert count_defaulted(running, PROFILES, ()) == (
        DefaultedPods(profile="all", pods=1),
        DefaultedPods(profile="web", pods=5),
    )


@pytest.mark.parametrize(
    ("constraints", "keys", "awaiting"),
    [
        ((HARD,), (ZONE,), 2),
        ((SOFT,), (HOSTNAME,), 0),
        ((HARD, SOFT), (HOSTNAME,), 0),  # the hard one is the pod's own
        ((HARD, SOFT), (ZONE, HOSTNAME), 2),
        ((), (ZONE,), 0),
    ],
)
def test_only_hard_defaults_keep_pods_pending(
    constraints: tuple[Constraint, ...], keys: tuple[str, ...], awaiting: int
) -> None:
    written = annotation("web", *keys)
    running = [
        group(*constraints, written=written, number=3),
        group(*constraints, written=written, number=2, awaits_spread=True),
    ]

    (found,) = count_defaulted(running, PROFILES, ())

    assert (found.pods, found.awaiting) == (5, awaiting)


@pytest.mark.parametrize(
    ("uneven_keys", "uneven"), [((), False), ({ZONE}, True), ({HOSTNAME}, False)]
)
def test_a_workload_is_uneven_over_the_keys_of_its_defaults(
    uneven_keys: set[str], uneven: bool
) -> None:
    running = [group(HARD, SOFT, written=annotation("web", ZONE)), group(HARD)]

    (found,) = count_defaulted(running, PROFILES, uneven_keys)

    assert found.uneven is uneven


def test_one_uneven_group_makes_the_profile_uneven() -> None:
    running = [
        group(HARD, written=annotation("web", ZONE)),
        group(SOFT, written=annotation("web", HOSTNAME)),
    ]

    (found,) = count_defaulted(running, PROFILES, {ZONE})

    assert found.uneven
