"""Kinds whose objects stay as they were when they can no longer be decoded; the first list."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.apiserver import ApiServer, Json, event, page, refuse, watch
from tests.cluster.environment import reflector_environment
from tests.cluster.play import PATIENCE_S, A, Play
from webhook.cluster.discovery import ResourcePath, describe_exceptions, list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.reflector import Reflector


def policy_exception(name: str, reason: Any = "old") -> Json:
    return {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicyException",
        "metadata": {"name": name, "namespace": "shop", "resourceVersion": "5"},
        "spec": {"defaults": True, "reason": reason},
    }


@pytest.fixture
def kept(play: Play) -> Play:
    """A play of a kind whose objects stay as they were when they can no longer be decoded."""
    store = play.cluster.exception_store
    described = replace(
        describe_exceptions(store), key=("v1", "Exception"), place=ResourcePath("/api/v1", "kept")
    )
    play.resources = {"kept": described}
    return play


def kept_reasons(play: Play) -> dict[str, str]:
    return {one.name: one.reason for one in play.cluster.exceptions("shop")}


BROKEN = [policy_exception("a", 7), policy_exception("new", 7)]
SKIPPED = [("SpreadPolicyException.evenspread.io", "shop", name, "shape") for name in ("a", "new")]


async def test_an_object_that_can_no_longer_be_decoded_stays_as_it_was(kept: Play) -> None:
    kept.server.script(
        "/api/v1/kept",
        page(policy_exception("a")),
        watch(*(event("MODIFIED", broken) for broken in BROKEN)),
    )

    await kept.run("kept")

    assert kept_reasons(kept) == {"a": "old"}
    assert kept.skipped == SKIPPED


async def test_it_stays_through_another_list(kept: Play) -> None:
    kept.server.script(
        "/api/v1/kept",
        page(policy_exception("a"), policy_exception("b")),
        refuse("too old", 410),
        page(*BROKEN),
    )

    await kept.run("kept")

    assert kept_reasons(kept) == {"a": "old"}
    assert kept.skipped == SKIPPED


async def test_it_goes_when_the_object_is_deleted(kept: Play) -> None:
    kept.server.script(
        "/api/v1/kept",
        page(policy_exception("a")),
        watch(event("MODIFIED", BROKEN[0]), event("DELETED", BROKEN[0])),
    )

    await kept.run("kept")

    assert kept_reasons(kept) == {}


async def test_the_first_list_alone_leaves_no_task_behind() -> None:
    server = ApiServer(A)
    environment = reflector_environment(server)
    (services,) = (one for one in list_resources(Cluster()) if one.kind == "Service")
    reflector = Reflector(services, environment)

    async with asyncio.timeout(PATIENCE_S):
        await reflector.run_until_synced()

    assert (reflector.synced.is_set(), len(services.store)) == (True, 1)
    assert len(asyncio.all_tasks()) == 1


async def test_a_bug_ends_the_first_list() -> None:
    server = ApiServer()

    def fail(_: object) -> None:
        raise ZeroDivisionError

    server.faults.append(fail)
    (services,) = (one for one in list_resources(Cluster()) if one.kind == "Service")

    with pytest.raises(ZeroDivisionError):
        await Reflector(services, reflector_environment(server)).run_until_synced()
