from typing import Any

import pytest

from tests.cluster.sources import Answers
from webhook.cluster.discovery import locate
from webhook.cluster.lookup import Cluster
from webhook.cluster.resources import Place, Resource, resources
from webhook.errors import ApiError

VERSION = "/apis/argoproj.io/v1alpha1"
ROLLOUT = {"name": "rollouts", "kind": "Rollout"}
STATUS = {"name": "rollouts/status", "kind": "Rollout"}
GROUP = {"name": "argoproj.io", "preferredVersion": {"groupVersion": "argoproj.io/v1alpha1"}}
OTHER = {"name": "apps", "preferredVersion": {"groupVersion": "apps/v1"}}


def resource(kind: str) -> Resource:
    (found,) = (each for each in resources(Cluster()) if each.kind == kind)
    return found


FOUND: dict[str, tuple[list[Any], list[Any], Place | None]] = {
    "it is there": ([OTHER, GROUP], [ROLLOUT], Place(VERSION, "rollouts")),
    "its subresource comes first": ([GROUP], [STATUS, ROLLOUT], Place(VERSION, "rollouts")),
    "only its subresource is there": ([GROUP], [STATUS], None),
    "there are other kinds": ([GROUP], [{"name": "analysisruns", "kind": "AnalysisRun"}], None),
    "the group has no kinds": ([GROUP], [], None),
    "there are other groups": ([OTHER], [ROLLOUT], None),
    "there are no groups": ([], [], None),
}


@pytest.mark.parametrize(("groups", "kinds", "place"), FOUND.values(), ids=FOUND.keys())
async def test_a_custom_kind_is_where_its_preferred_version_has_it(
    groups: list[Any], kinds: list[Any], place: Place | None
) -> None:
    source = Answers(**{"/apis": {"groups": groups}, VERSION: {"resources": kinds}})

    assert await locate(source, resource("Rollout.argoproj.io")) == place


async def test_a_built_in_kind_is_not_looked_for() -> None:
    source = Answers()

    assert await locate(source, resource("Node")) == Place("/api/v1", "nodes")
    assert source.asked == []


UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "no list of groups": ({}, "answered 404"),
    "a list of something else": ({"/apis": {"items": []}}, "answered with no list of kinds"),
    "no list of kinds": ({"/apis": {"groups": [GROUP]}}, "answered 404"),
    "nonsense for kinds": (
        {"/apis": {"groups": [GROUP]}, VERSION: {"resources": [7]}},
        "answered with no list of kinds",
    ),
}


@pytest.mark.parametrize(("bodies", "problem"), UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_a_custom_kind_is_not_absent_without_proof(
    bodies: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ApiError, match=f"here: {problem}"):
        await locate(Answers(**bodies), resource("Rollout.argoproj.io"))
