"""Custom kinds are found at the API server; built-in ones are known."""

from tests.apiserver import ApiServer
from webhook.audit.kinds import (
    LISTED_BUILT_IN,
    LISTED_CLUSTER_SCOPED,
    LISTED_PODS,
    find_custom_kinds,
)
from webhook.errors import ApiError, SourceError
from webhook.policy.model import GroupKind

ROLLOUT = GroupKind("argoproj.io", "Rollout")
FLEET = GroupKind("example.com", "Fleet")


def test_every_listed_kind_is_listed_once() -> None:
    rows = (*LISTED_CLUSTER_SCOPED, *LISTED_BUILT_IN, LISTED_PODS)

    assert len({row.group_kind for row in rows}) == len(rows)
    assert {row.kind for row in LISTED_CLUSTER_SCOPED} == {"Node", "Namespace"}


async def test_custom_kinds_are_found_where_they_exist() -> None:
    problems: list[SourceError] = []

    server = ApiServer()
    server.define("argoproj.io/v1", "Rollout")

    found = await find_custom_kinds(server, [ROLLOUT, FLEET, LISTED_PODS.group_kind], problems)

    assert [(row.api_version, row.plural) for row in found] == [("argoproj.io/v1", "rollouts")]
    assert problems == []


async def test_kinds_that_cannot_be_looked_up_are_problems() -> None:
    problems: list[SourceError] = []
    error = ApiError("https://api", "is broken", "unreachable")

    server = ApiServer(answers={"GET /apis": error})

    assert await find_custom_kinds(server, [ROLLOUT], problems) == []
    assert problems == [error]
