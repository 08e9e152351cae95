"""Ranks are removed from the labelled pods of a cluster, and from no others."""

import json
from typing import Any

import pytest

from tests.apiserver import ApiServer, Behavior, Json, Request, refuse
from tests.cluster.objects import labelled_pod
from webhook.cluster.labelledpods import (
    BUSY_S,
    MOST_TRIES,
    LabelledPod,
    convert_pod,
    list_labelled_pods,
    remove_rank,
)
from webhook.cluster.protocol import Response
from webhook.errors import ApiError
from webhook.policy.model import ZONE, LabelSelector
from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.ranks import DELETION_COST, KEEP_SPREAD, SCALE_DOWN_LABEL
from webhook.policy.scaledown.removal import CostKind
from webhook.policy.selectors import SELECT_ALL

POD = "/api/v1/namespaces/shop/pods/p"


class Pauses(list[float]):
    """A clock that records how long it was waited for."""

    async def sleep(self, seconds: float) -> None:
        self.append(seconds)


def plain_pod(name: str) -> Json:
    pod = labelled_pod(name)
    pod["metadata"]["labels"] = {"app": "web"}
    return pod


async def list_pods(
    server: ApiServer, namespace: str = "", selector: LabelSelector = SELECT_ALL
) -> list[LabelledPod]:
    return await list_labelled_pods(server, namespace, selector)


async def first_pod(server: ApiServer) -> LabelledPod:
    (pod,) = await list_pods(server)
    return pod


def metadata_of(server: ApiServer) -> dict[str, Any]:
    metadata: dict[str, Any] = server.objects[POD]["metadata"]
    return metadata


async def test_labelled_pods_are_listed_in_pages() -> None:
    server = ApiServer(*(labelled_pod(name, rank=1) for name in "pqr"), plain_pod("s"))
    server.page_size = 2

    pods = await list_pods(server)

    assert [pod.metadata.name for pod in pods] == ["p", "q", "r"]
    assert {pod.controller.kind for pod in pods} == {"ReplicaSet"}
    assert len(server.requests) == 2


async def test_pods_are_selected_by_namespace_and_labels() -> None:
    server = ApiServer(labelled_pod("p"), labelled_pod("q", namespace="other"))
    server.objects[POD]["metadata"]["labels"]["app"] = "web"

    assert [pod.metadata.name for pod in await list_pods(server, "other")] == ["q"]
    selected = await list_pods(server, selector=LabelSelector(match_labels={"app": "web"}))
    assert [pod.metadata.name for pod in selected] == ["p"]


async def test_a_pod_without_controller_and_annotations_is_read() -> None:
    server = ApiServer(labelled_pod("p"))
    metadata_of(server).update(annotations=None, ownerReferences=None)

    pod = await first_pod(server)

    assert (pod.cost, pod.controller.kind) == (CostKind.NONE, "")


async def test_a_pod_of_any_depth_is_read() -> None:
    pod = labelled_pod("p", "a1", rank=3)
    pod["metadata"] |= {"uid": "u", "managedFields": "HERE"}
    nested = '{"f:a":' * 9_000 + "1" + "}" * 9_000
    listed = json.dumps({"metadata": {"resourceVersion": "1"}, "items": [pod]})
    server = ApiServer(otherwise=Response(200, listed.replace('"HERE"', nested).encode()))

    (read,) = await list_pods(server)

    assert (read.metadata.uid, read.cost) == ("u", CostKind.RANK)
    assert read.ranked == RankedPod(ZONE, "a1", 3)


async def test_what_is_no_pod_is_an_error() -> None:
    server = ApiServer(labelled_pod("p"))
    metadata_of(server)["uid"] = 7

    with pytest.raises(ApiError, match="answered with no pod"):
        await list_pods(server)


async def test_a_rank_and_the_label_are_removed_with_preconditions() -> None:
    server, pauses = ApiServer(labelled_pod("p", rank=3)), Pauses()
    known = dict(metadata_of(server))

    assert await remove_rank(server, await first_pod(server), pauses.sleep)

    assert (metadata_of(server)["labels"], metadata_of(server)["annotations"]) == ({}, {})
    sent = server.writes[0].content["metadata"]
    assert (sent["uid"], sent["resourceVersion"]) == (known["uid"], known["resourceVersion"])
    assert not pauses


@pytest.mark.parametrize("cost", ["7", "1000"])
async def test_a_foreign_cost_stays(cost: str) -> None:
    server = ApiServer(labelled_pod("p", rank=3))
    metadata_of(server)["annotations"][DELETION_COST] = cost

    assert await remove_rank(server, await first_pod(server), Pauses().sleep)

    assert metadata_of(server)["labels"] == {}
    assert metadata_of(server)["annotations"] == {DELETION_COST: cost}


async def test_a_cost_that_another_client_writes_meanwhile_stays() -> None:
    server = ApiServer(labelled_pod("p", rank=3))
    pod = await first_pod(server)
    changed = labelled_pod("p")
    changed["metadata"]["annotations"] = {DELETION_COST: "7"}
    server.put(POD, changed)

    assert await remove_rank(server, pod, Pauses().sleep)

    assert metadata_of(server)["annotations"] == {DELETION_COST: "7"}
    assert SCALE_DOWN_LABEL not in metadata_of(server)["labels"]


async def test_a_pod_that_has_gone_is_left() -> None:
    server = ApiServer(labelled_pod("p", rank=3))
    pod = await first_pod(server)
    del server.objects[POD]

    assert not await remove_rank(server, pod, Pauses().sleep)


@pytest.mark.parametrize("goes", [True, False], ids=["has gone", "lost the label"])
async def test_a_pod_that_changes_into_another_is_left(goes: bool) -> None:
    server = ApiServer(labelled_pod("p", rank=3))
    pod = await first_pod(server)

    async def conflict(_request: Request) -> Response:
        if goes:
            del server.objects[POD]
        else:
            server.put(POD, plain_pod("p"))
        return refuse("conflict", 409)

    server.script(POD, conflict)

    assert not await remove_rank(server, pod, Pauses().sleep)
    assert len(server.writes) == 1


async def test_a_busy_server_is_tried_again() -> None:
    server, pauses = ApiServer(labelled_pod("p", rank=3)), Pauses()
    pod = await first_pod(server)
    later = Response(429, b"", {"retry-after": ("7",)})
    server.script(POD, later, None, refuse("starting", 503), None)

    assert await remove_rank(server, pod, pauses.sleep)

    assert pauses == [7, BUSY_S]
    assert metadata_of(server)["labels"].get(SCALE_DOWN_LABEL) != KEEP_SPREAD


REFUSALS: dict[str, tuple[Behavior, int]] = {
    "by a missing right": (refuse("forbidden", 403), 1),
    "again and again": (refuse("conflict", 409), MOST_TRIES),
}


@pytest.mark.parametrize(("answer", "tries"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_an_error(answer: Behavior, tries: int) -> None:
    server = ApiServer(labelled_pod("p", rank=3))
    pod = await first_pod(server)
    server.answers[f"PATCH {POD}"] = answer

    with pytest.raises(ApiError):
        await remove_rank(server, pod, Pauses().sleep)
    assert len(server.writes) == tries


def test_a_pod_of_a_file_may_lack_the_label_and_all_else() -> None:
    converted = convert_pod({"kind": "Pod"})
    labelled = convert_pod(labelled_pod("p", "n1", rank=2))

    assert (converted.is_labelled, converted.ranked) == (False, None)
    assert (labelled.is_labelled, labelled.ranked) == (True, RankedPod(ZONE, "n1", 2))
