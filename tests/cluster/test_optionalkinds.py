"""Kinds that the server can do without if it may not list them."""

import asyncio
from dataclasses import replace

import pytest

from tests.apiserver import ApiServer, Json, refuse
from tests.background import working
from tests.cluster.environment import reflector_environment
from tests.server.serving import PATIENCE, settled
from webhook.cluster.discovery import describe_policies
from webhook.cluster.optionalkinds import MOST_REFUSALS, OptionalKind
from webhook.cluster.protocol import Response
from webhook.cluster.spreadpolicies import SpreadPolicyStore

POLICY: Json = {
    "apiVersion": "evenspread.io/v1alpha1",
    "kind": "SpreadPolicy",
    "metadata": {"name": "a"},
    "spec": {"defaultConstraints": []},
}
FORBIDDEN = refuse("spreadpolicies is forbidden", 403)
ABSENT = refuse("not yet", 503)


class OptionalPolicies:
    """SpreadPolicies that may be forbidden, and the reasons of their restarts."""

    def __init__(self, server: ApiServer) -> None:
        self.reasons: list[str] = []
        environment = replace(
            reflector_environment(server),
            sleep=lambda _: asyncio.sleep(0),
            report_restart=lambda _kind, reason, _message: self.reasons.append(reason),
        )
        self.store = SpreadPolicyStore(lambda: None)
        self.kind = OptionalKind(describe_policies(self.store), environment)

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.store.objects]


async def test_objects_are_listed() -> None:
    policies = OptionalPolicies(ApiServer(POLICY))
    async with asyncio.timeout(PATIENCE):
        assert await policies.kind.list()

    assert policies.names == ["a"]
    assert len(asyncio.all_tasks()) == 1


async def test_a_missing_right_ends_the_wait_and_a_right_that_is_granted_counts() -> None:
    server = ApiServer(POLICY)
    server.faults = [lambda _: FORBIDDEN]
    policies = OptionalPolicies(server)
    async with asyncio.timeout(PATIENCE):
        assert not await policies.kind.list()
        assert policies.reasons[:MOST_REFUSALS] == ["forbidden"] * MOST_REFUSALS
        assert "spreadpolicies is forbidden" in policies.kind.reflector.problem

        server.faults = []
        async with working(policies.kind.reflector.run()):
            await settled(lambda: policies.names == ["a"])


@pytest.mark.parametrize(
    "answers",
    [[FORBIDDEN] * (MOST_REFUSALS - 1), [*[FORBIDDEN] * (MOST_REFUSALS - 1), ABSENT, FORBIDDEN]],
    ids=["fewer", "not in a row"],
)
async def test_fewer_refusals_are_waited_for(answers: list[Response]) -> None:
    server = ApiServer(POLICY)
    server.script("/apis", *answers)
    policies = OptionalPolicies(server)
    async with asyncio.timeout(PATIENCE):
        assert await policies.kind.list()

    assert policies.names == ["a"]


async def test_a_bug_ends_the_wait() -> None:
    server = ApiServer()

    def fail(_: object) -> None:
        raise ZeroDivisionError

    server.faults.append(fail)

    with pytest.raises(ZeroDivisionError):
        await OptionalPolicies(server).kind.list()
    assert len(asyncio.all_tasks()) == 1
