"""The bindings that are measured are what their rows say they are."""

import json

from tests.bench.bindings import bound, events, pods
from tests.bench.reviews import UIDS
from webhook import admission
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL


def test_all_pods_are_ranked_but_those_that_are_bound() -> None:
    made = list(pods(300))

    assert len(made) == 300 + UIDS
    assert all(pod["metadata"]["labels"] == {SCALE_DOWN_LABEL: KEEP_SPREAD} for pod in made)
    assert sum(not pod["metadata"]["annotations"] for pod in made) == UIDS


def test_each_binding_is_of_a_pod_in_the_streamed_list() -> None:
    *added, end = b"".join(events(300)).splitlines()

    assert json.loads(end)["type"] == "BOOKMARK"
    assert {json.loads(line)["type"] for line in added} == {"ADDED"}
    names = {json.loads(line)["object"]["metadata"]["name"] for line in added}
    requests = [admission.decode(body) for body in bound().bodies]
    assert {request.name for request in requests} <= names
    assert all(request.binding and request.binding.node for request in requests)
