"""What precedes the placement of a pod comes before its constraints."""

from typing import Any

import msgspec
import pytest

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.endingpods import EndingPods
from webhook.explain.terms import NO_TERMS, PlacementTerms, find_terms
from webhook.policy.placement.nodes import SchedulingPod

GATES = [{"name": "quota"}, {"name": 7}, "x"]
CAN = "can be placed on 2 of 2 nodes"

# specification, whether the pod runs, its terms
FOUND: dict[str, tuple[dict[str, Any] | None, bool, PlacementTerms]] = {
    "nothing": ({}, False, NO_TERMS),
    "no specification": (None, False, NO_TERMS),
    "a node": ({"nodeName": "a1"}, False, PlacementTerms(node="a1")),
    "the node of a pod that runs": ({"nodeName": "a1"}, True, NO_TERMS),
    "kube-scheduler": ({"schedulerName": "default-scheduler"}, False, NO_TERMS),
    "another scheduler": (
        {"schedulerName": "volcano"}, True, PlacementTerms(scheduler="volcano")
    ),
    "gates": ({"schedulingGates": GATES}, False, PlacementTerms(gates=("quota",))),
    "gates of a wrong type": ({"schedulingGates": "x"}, False, NO_TERMS),
    "a phase that is no end": ({"phase": "Running"}, True, NO_TERMS),
    "a phase of a wrong type": ({"phase": {}}, True, NO_TERMS),
    "a pod that has succeeded": (
        {"nodeName": "a1", "phase": "Succeeded"}, True, PlacementTerms(phase="Succeeded")
    ),
    "a pod that has failed": ({"phase": "Failed"}, False, PlacementTerms(phase="Failed")),
    "gates of a pod that runs": ({"schedulingGates": GATES}, True, NO_TERMS),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "is_running", "terms"), FOUND.values(), ids=FOUND.keys())
def test_terms_are_found(
    spec: dict[str, Any] | None, is_running: bool, terms: PlacementTerms
) -> None:
    written = {"spec": spec, "status": {"phase": spec and spec.get("phase")}}
    pod = msgspec.convert(
        {"spec": spec and {k: v for k, v in spec.items() if k != "schedulingGates"}}, SchedulingPod
    )

    assert find_terms(pod, written, {"default-scheduler"}, is_running=is_running) == terms


# terms, whether kube-scheduler filters the nodes for the pod
FILTERED = {
    "no terms": (NO_TERMS, True),
    "a new pod like one that has ended": (PlacementTerms(phase="Failed"), True),
    "a node": (PlacementTerms(node="a1"), False),
    "another scheduler": (PlacementTerms(scheduler="volcano"), False),
    "gates": (PlacementTerms(gates=("a",)), False),
    "a Job that creates no pod": (PlacementTerms(closed="it has completed"), False),
}


@pytest.mark.parametrize(("terms", "is_filtered"), FILTERED.values(), ids=FILTERED.keys())
def test_some_pods_are_not_filtered(terms: PlacementTerms, *, is_filtered: bool) -> None:
    assert terms.are_filtered is is_filtered


# terms, start of the sentence, end of the sentence
SENTENCES = {
    "no terms": (NO_TERMS, CAN, CAN),
    "a node": (PlacementTerms(node="a1"), "is bound to node a1 by spec.nodeName", "is evaluated"),
    "an absent node": (PlacementTerms(node="x"), "is bound to node x", "this node does not exist"),
    "another scheduler": (
        PlacementTerms(scheduler="volcano"), "is placed by scheduler 'volcano', whose rules and",
        f"by those of kube-scheduler: {CAN}",
    ),
    "gates": (
        PlacementTerms(gates=("a", "b")), "waits for its scheduling gates (a, b); without them",
        f"it {CAN}",
    ),
    "a pod that has ended": (
        PlacementTerms(phase="Failed"), "has ended (Failed) and runs on no node; a new pod like",
        f"it {CAN}",
    ),
    "a pod that has ended, and another scheduler": (
        PlacementTerms(phase="Failed", scheduler="volcano"),
        "has ended (Failed) and runs on no node; a new pod like it is placed by scheduler", CAN,
    ),
    "an ended Job": (
        PlacementTerms(closed="it has ended", gates=("a",)),
        "is not created: it has ended; if it were, it waits for its", CAN,
    ),
    "a suspended Job": (
        PlacementTerms(suspended=True), "is not created while the workload is suspended; then", CAN
    ),
    "an unknown template": (
        PlacementTerms(revision="db-r1"), "has the pod template of revision db-r1, which is not",
        f"with the present template, it {CAN}",
    ),
    "a scheduler and gates": (
        PlacementTerms(scheduler="volcano", gates=("a",)), "waits for its scheduling gates", CAN
    ),
}  # fmt: skip


@pytest.mark.parametrize(("terms", "start", "end"), SENTENCES.values(), ids=SENTENCES.keys())
def test_the_sentence_begins_with_the_terms(terms: PlacementTerms, start: str, end: str) -> None:
    sentence = terms.describe(CAN, {"a1", "b1"})

    assert sentence.startswith(start)
    assert sentence.endswith(end)


# terms, number of notes
NOTES = {
    "no terms": (NO_TERMS, 0),
    "a node": (PlacementTerms(node="a1", scheduler="volcano", gates=("a",)), 0),
    "another scheduler": (PlacementTerms(scheduler="volcano"), 1),
    "gates": (PlacementTerms(gates=("a",)), 1),
    "both": (PlacementTerms(scheduler="volcano", gates=("a",)), 2),
    "an ended Job": (PlacementTerms(closed="it has ended"), 1),
    "a suspended Job": (PlacementTerms(suspended=True), 1),
}


@pytest.mark.parametrize(("terms", "number"), NOTES.values(), ids=NOTES.keys())
def test_a_what_if_notes_the_terms(terms: PlacementTerms, number: int) -> None:
    assert len(terms.notes) == number


def test_a_written_node_takes_the_pod_whatever_its_constraints_and_taints() -> None:
    nodes = [node("a1", "a"), node("b1", "b")]
    crowded = scenario(nodes, spread_over("topology.kubernetes.io/zone"), pods={"a1": 5})

    assert crowded.placement().passing == ("b1",)
    assert PlacementTerms(node="a1").restrict(crowded).placement().passing == ("a1",)
    assert PlacementTerms(scheduler="volcano").restrict(crowded) is crowded


def test_what_an_autoscaler_does_is_a_note() -> None:
    assert PlacementTerms(scaling="it scales").notes == ("it scales",)


def test_pods_that_are_being_deleted_precede_all_that_a_new_pod_waits_for() -> None:
    terms = PlacementTerms(gates=("quota",), ending=EndingPods(("db-1",)))

    assert terms.describe(CAN, ()) == (
        "is not created before the end of db-1, which is being deleted; then it waits for its "
        f"scheduling gates (quota); without them, it {CAN}"
    )
    assert terms.notes[1:] == tuple(terms.ending.notes)
    assert terms.of_new_pods == PlacementTerms(gates=("quota",))


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        (
            ("db-0",),
            "db-0 has {}with which no node accepts it, and stays Pending until it is deleted",
        ),
        (
            ("a", "b"),
            "a, b have {}with which no node accepts them, and stay Pending until they are deleted",
        ),
    ],
)
def test_pods_of_an_older_template_are_named(kept: tuple[str, ...], sentence: str) -> None:
    terms = PlacementTerms(kept=kept)
    sentence = sentence.format("other constraints than the template now has, ")

    assert terms.describe("can be placed", []) == f"can be placed; {sentence}"
    assert terms.kept_note == f"{sentence}, which is supposed here, and that no webhook adds others"
    assert terms.notes == terms.of_new_pods.notes == ()
    assert terms.of_new_pods.kept_note == ""
