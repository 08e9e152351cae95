"""The bindings that are measured are what their rows say they are."""

import json

from tests.bench.bindings import COUNT, MEMORY, bound, events, pods
from tests.bench.reviews import UIDS
from webhook import admission
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL


def test_all_pods_are_ranked_but_those_that_are_bound() -> None:
    made = list(pods(300))

    assert len(made) == 300 + UIDS
    assert all(pod["metadata"]["labels"] == {SCALE_DOWN_LABEL: KEEP_SPREAD} for pod in made)
    assert sum(not pod["metadata"]["annotations"] for pod in made) == UIDS


def test_a_pod_may_take_300_bytes_and_all_pods_64_mib() -> None:
    assert COUNT == 150_000
    assert MEMORY.is_met_by(42)
    assert not MEMORY.is_met_by(43)  # 43 MiB are 300.6 bytes for each pod


def test_each_binding_is_of_a_pod_in_the_streamed_list() -> None:
    *added, end = b"".join(events(300)).splitlines()

    assert json.loads(end)["type"] == "BOOKMARK"
    assert {json.loads(line)["type"] for line in added} == {"ADDED"}
    names = {json.loads(line)["object"]["metadata"]["name"] for line in added}
    requests = [admission.decode(body) for body in bound().bodies]
    assert {request.name for request in requests} <= names
    assert all(request.binding and request.binding.node for request in requests)
