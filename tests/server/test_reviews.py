"""Reviews without HTTP: their facts, their verdicts, and ranks for bindings."""

import asyncio
import base64
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import Json, binding_body, facts, pod, policy, profile, request, review_body
from tests.cluster.objects import cached_pod
from tests.cluster.zones import Zones
from webhook.admission import decode
from webhook.errors import NotSyncedError
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.model import GroupKind
from webhook.policy.probe import LABEL
from webhook.policy.request import AdmissionRequest, BindHook, Hook
from webhook.policy.scaledown.binding import BindingResult, Ranking
from webhook.policy.scaledown.ranks import DELETION_COST, annotate_rank
from webhook.policy.verdict import UNTOUCHED, Verdict
from webhook.server.reviews import ReviewContext, decide, decode_only, fetch, no_ranks

PATH = "/metadata/annotations"
WHOLE = [{"op": "add", "path": PATH, "value": {DELETION_COST: "999000", "evenspread.io/rank": "1"}}]
MEMBERS = [
    {
        "op": "add",
        "path": f"{PATH}/controller.kubernetes.io~1pod-deletion-cost",
        "value": "999000",
    },
    {"op": "add", "path": f"{PATH}/evenspread.io~1rank", "value": "1"},
]


def context(zones: Zones | None = None, **changes: Any) -> ReviewContext:
    """Build the context of a policy with one profile, which ranks the pods of the zones."""
    find_ranks = (lambda: zones.pods) if zones else no_ranks
    return ReviewContext(policy(profile(), **changes), facts(), find_ranks=find_ranks)


def bind(zones: Zones | None, body: bytes, **changes: Any) -> tuple[Verdict, Json]:
    """Judge a binding; return the verdict and the response."""
    verdict, written = decide(decode(body), BindHook.BIND, context(zones, **changes))
    return verdict, json.loads(written)["response"]


def patch_in(response: Json) -> Any:
    """Read the patch of a response."""
    return json.loads(base64.b64decode(response["patch"]))


@pytest.mark.parametrize(
    ("annotations", "patch"),
    [(None, WHOLE), ({"a": "b"}, MEMBERS), ({"evenspread.io/rank": "7"}, MEMBERS)],
)
def test_a_pod_gets_a_rank_with_its_node(annotations: Json | None, patch: list[Json]) -> None:
    zones = Zones()
    zones.put(cached_pod("web-1"))

    verdict, response = bind(zones, binding_body("web-1", "a1", annotations))

    assert verdict.ranking == Ranking(BindingResult.RANKED, "a", 1)
    assert verdict.outcome == "patch"
    assert patch_in(response) == patch
    assert response["allowed"] is True


json_values = st.none() | st.booleans() | st.integers() | st.text()
bindings = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "name": st.just("web-1"),
                "labels": st.none() | st.dictionaries(st.text(), st.text(), max_size=2),
                "annotations": st.none()
                | st.dictionaries(
                    st.text() | st.sampled_from(["evenspread.io/rank", "x/~y"]),
                    st.text(),
                    max_size=3,
                ),
                "managedFields": st.lists(json_values, max_size=2),
            },
        ),
        "target": st.just({"kind": "Node", "name": "a1"}),
    },
    optional={"other": json_values},
)


@given(bindings)
def test_the_patch_of_a_binding_applies_and_touches_nothing_else(binding: Json) -> None:
    zones = Zones()
    zones.put(cached_pod("web-1"))
    kind = GroupKind("", "Binding")
    about: Json = {"subResource": "binding", "name": "web-1"}

    _, response = bind(zones, review_body(binding, kind=kind, **about))
    patched = jsonpatch.JsonPatch(patch_in(response)).apply(binding)

    annotations = binding["metadata"].get("annotations") or {}
    assert patched["metadata"]["annotations"] == annotations | annotate_rank(1)
    for obj in (binding, patched):
        obj["metadata"].pop("annotations", None)
    assert patched == binding


def test_the_next_pod_of_the_domain_gets_the_next_rank() -> None:
    zones = Zones()
    zones.put(*(cached_pod(f"web-{number}") for number in range(4)))

    bound = [
        bind(zones, binding_body(f"web-{n}", node)) for n, node in enumerate(["a1", "a2", "b1"])
    ]
    again, _ = bind(zones, binding_body("web-1", "a1"))

    ranks = [verdict.ranking and verdict.ranking.rank for verdict, _ in bound]
    assert ranks == [1, 2, 1]
    assert again.ranking == Ranking(BindingResult.RANKED, "a", 2)


UNRANKED: dict[str, tuple[BindingResult, bytes, Json]] = {
    "a dry run": (BindingResult.DRY_RUN, binding_body(dryRun=True), {}),
    "a cost of another client": (
        BindingResult.HAS_COST, binding_body(annotations={DELETION_COST: "7"}), {},
    ),
    "an unknown pod": (BindingResult.UNKNOWN_POD, binding_body("web-9"), {}),
    "another namespace": (BindingResult.UNKNOWN_POD, binding_body(namespace="else"), {}),
    "a pod that has a node": (BindingResult.BOUND, binding_body("old-1", "a1"), {}),
    "an unknown node": (BindingResult.NO_DOMAIN, binding_body(node="x"), {}),
}  # fmt: skip


@pytest.mark.parametrize(("result", "body", "changes"), UNRANKED.values(), ids=UNRANKED.keys())
def test_other_bindings_are_allowed_untouched(
    result: BindingResult, body: bytes, changes: Json
) -> None:
    zones = Zones()
    zones.put(cached_pod("web-1"), cached_pod("old-1", "a1"))

    verdict, response = bind(zones, body, **changes)

    assert verdict.ranking == Ranking(result)
    assert verdict.outcome == "allow"
    assert (response["allowed"], "patch" in response) == (True, False)
    assert zones.bind("web-2") == 1, "nothing was reserved"


def test_in_recommend_mode_no_rank_is_given() -> None:
    zones = Zones()
    zones.put(cached_pod("web-1"))

    verdict, response = bind(zones, binding_body(node="a1"), mode=Mode.RECOMMEND)

    assert verdict.ranking == Ranking(BindingResult.RECOMMEND_MODE)
    assert verdict.outcome == "would_patch"
    assert "patch" not in response
    assert zones.bind("web-2") == 1


def test_without_pods_the_reason_is_given() -> None:
    verdict, response = bind(None, binding_body())

    assert verdict.ranking == Ranking(BindingResult.OFF)
    assert response["allowed"] is True
    assert no_ranks() is BindingResult.OFF


def test_anything_but_a_binding_is_allowed() -> None:
    verdict, _ = decide(request(pod()), BindHook.BIND, context(Zones()))

    assert verdict is UNTOUCHED


def test_a_binding_is_no_object_to_judge() -> None:
    zones = Zones()
    zones.put(cached_pod("web-1"))

    verdict, _ = decide(decode(binding_body(node="a1")), Hook.MUTATE, context(zones))

    assert verdict is UNTOUCHED


def test_objects_are_judged_and_probes_answered() -> None:
    probe_verdict = Verdict(warnings=("here",))
    answering = context()._replace(probe_verdict=probe_verdict)
    probe = request(pod(labels={LABEL: "true"}), dry_run=True)

    assert decide(request(pod()), Hook.MUTATE, answering)[0].outcome == "patch"
    assert decide(probe, Hook.MUTATE, answering)[0] is probe_verdict


def test_a_binding_waits_for_no_facts() -> None:
    def unsynced(_request: AdmissionRequest, _policy: Policy, _timeout: float) -> None:
        raise NotSyncedError("Node")

    waiting = ReviewContext(policy(), facts(), unsynced)

    assert fetch(decode(binding_body()), BindHook.BIND, waiting, 1.0) is None
    with pytest.raises(NotSyncedError):
        fetch(request(pod()), Hook.MUTATE, waiting, 1.0)


NO_WAIT: dict[str, bytes] = {
    "a known pod": binding_body("web-1"),
    "a dry run": binding_body("web-2", dryRun=True),
    "a cost": binding_body("web-2", annotations={DELETION_COST: "7"}),
    "no binding": binding_body("web-2", subResource="eviction"),
}


@pytest.mark.parametrize("body", NO_WAIT.values(), ids=NO_WAIT.keys())
def test_most_bindings_wait_for_nothing(body: bytes) -> None:
    zones = Zones()
    zones.put(cached_pod("web-1"))

    assert fetch(decode(body), BindHook.BIND, context(zones), 60.0) is None


async def test_a_pod_that_the_watch_shows_late_is_waited_for() -> None:
    zones = Zones()
    ranking = context(zones)
    late = decode(binding_body("web-1", "a1"))
    waiting = fetch(late, BindHook.BIND, ranking, 60.0)
    assert waiting is not None
    task = asyncio.ensure_future(waiting)
    await asyncio.sleep(0)
    zones.put(cached_pod("web-1"))

    assert await task is None
    assert decide(late, BindHook.BIND, ranking)[0].ranking == Ranking(BindingResult.RANKED, "a", 1)


async def test_pods_of_a_workload_without_the_label_are_waited_for_once() -> None:
    ranking = context(Zones())
    waiting = fetch(decode(binding_body("web-1")), BindHook.BIND, ranking, 0.0)
    assert waiting is not None
    await waiting

    assert fetch(decode(binding_body("web-2")), BindHook.BIND, ranking, 60.0) is None


def test_facts_of_files_need_no_fetch() -> None:
    assert fetch(request(pod()), Hook.MUTATE, context(), 1.0) is None


def test_a_decoded_body_is_not_kept() -> None:
    bodies: list[bytes | bytearray] = [binding_body("web-7")]

    assert decode_only(bodies, policy()).name == "web-7"
    assert bodies == []
