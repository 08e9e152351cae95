"""The API server with our hooks and without: the same verdict, for the same reasons."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from tests.controlplane.api import Json, Reply
from tests.controlplane.plane import ControlPlane
from tests.e2e.objects import VERSIONS, rounds, workload

LISTS = rounds(500, 5000)
KINDS = tuple(kind for kind in VERSIONS if kind != "Rollout")
LIST = "topologySpreadConstraints"
LABELS = {"app": "web", "tier": "front"}

KEYS = ("app", "tier", "zone", "kubernetes.io/hostname", "", "-a", "a/b/c", "x" * 64, "é")
VALUES = ("web", "front", "", "-x", "x" * 64)
SMALL = (-1, 0, 1, 1, 1, 2, 3, 2**31 - 1)


def some_key(rng: Random) -> str:
    return rng.choice(KEYS if rng.random() < 0.1 else KEYS[:4])


def some_value(rng: Random) -> str:
    return rng.choice(VALUES if rng.random() < 0.2 else VALUES[:3])


def some_selector(rng: Random) -> Json | None:
    if rng.random() < 0.2:
        return None
    made: Json = {}
    if rng.random() < 0.6:
        made["matchLabels"] = {some_key(rng): some_value(rng) for _ in range(rng.randint(0, 2))}
    if rng.random() < 0.5:
        made["matchExpressions"] = [some_requirement(rng) for _ in range(rng.randint(1, 2))]
    return made


def some_requirement(rng: Random) -> Json:
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Exists", "Gt"))
    made: Json = {"key": some_key(rng), "operator": operator}
    if rng.random() < 0.5:
        made["values"] = [some_value(rng) for _ in range(rng.randint(0, 2))]
    return made


def some_constraint(rng: Random) -> Json:
    """Mostly good, so that lists are not all refused for everything at once."""
    made: Json = {
        "maxSkew": rng.choice(SMALL) if rng.random() < 0.3 else 1,
        "topologyKey": some_key(rng),
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
    }
    if rng.random() < 0.1:
        made["whenUnsatisfiable"] = rng.choice(("", "Never"))
    rare: dict[str, Any] = {
        "labelSelector": some_selector(rng),
        "minDomains": rng.choice(SMALL),
        "nodeAffinityPolicy": rng.choice(("Honor", "Ignore", "honor", "")),
        "nodeTaintsPolicy": rng.choice(("Honor", "Ignore", "Maybe")),
        "matchLabelKeys": [some_key(rng) for _ in range(rng.randint(0, 2))],
    }
    chances = {"labelSelector": 0.8, "minDomains": 0.3, "matchLabelKeys": 0.4}
    made |= {key: value for key, value in rare.items() if rng.random() < chances.get(key, 0.2)}
    if rng.random() < 0.4:
        made["labelSelector"] = {"matchLabels": {"app": "web"}}
    return made


def dry_run(plane: ControlPlane, obj: Json) -> Reply:
    path = plane.api.collection_of(obj)
    return plane.api.request("POST", path, obj, query={"dryRun": "All"})


def causes(reply: Reply) -> set[tuple[str, str, str]]:
    found = reply.body.get("details", {}).get("causes", ())
    return {(cause["reason"], cause["field"], cause["message"]) for cause in found}


def theirs_among(warnings: Iterable[str]) -> set[str]:
    """The warnings that are not of our own rules: those begin with an id, or count the rest."""
    return {
        warning
        for warning in warnings
        if not warning.startswith("TSC") and not warning.endswith(": evenspread audit")
    }


def stored(obj: Any) -> list[Any]:
    """Every list of constraints in an object, wherever it stands."""
    if not isinstance(obj, dict):
        return []
    inner = [inner_list for value in obj.values() for inner_list in stored(value)]
    return [*inner, *([obj[LIST]] if LIST in obj else [])]


def test_verdicts_and_causes_are_those_of_the_api_server(
    control_plane: ControlPlane, shared: str, unhooked: str
) -> None:
    rng, refused = Random(4), 0
    for number in range(LISTS):
        kind = KINDS[number % len(KINDS)]
        listed = [some_constraint(rng) for _ in range(rng.randint(1, 3))]
        pair = [
            workload(kind, "web", namespace, LABELS, topologySpreadConstraints=listed)
            for namespace in (shared, unhooked)
        ]

        ours, theirs = (dry_run(control_plane, obj) for obj in pair)

        assert (ours.status, causes(ours)) == (theirs.status, causes(theirs)), (kind, listed)
        assert theirs_among(ours.warnings) == theirs_among(theirs.warnings), (kind, listed)
        refused += ours.status == 422
        assert stored(ours.body) == stored(theirs.body), (kind, listed)
    assert LISTS * 0.2 < refused < LISTS * 0.8  # or it would say little


@pytest.fixture(scope="module")
def unhooked(control_plane: ControlPlane) -> str:
    return control_plane.create_namespace()
