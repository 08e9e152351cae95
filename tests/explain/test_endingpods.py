"""Pods that are being deleted precede the sentence of the next pod, and are named for a what-if."""

import pytest

from webhook.explain.endingpods import NONE_ENDING, EndingPods

CAN = "can be placed on 1 of 2 nodes"
STUCK = (
    "is not created before the end of db-1, which is being deleted on a node that is not ready; "
    f"then it {CAN}"
)

SEVERAL_STUCK = (
    "is not created before the end of db-0, db-1, which are being deleted on nodes that are "
    f"not ready; then it {CAN}"
)
ONE_STUCK = (
    "is not created before the end of 1 of db-0, db-1, which are being deleted (db-1 on a node "
    f"that is not ready); when all have ended, it {CAN}"
)

# pods, the sentence about the next pod
DESCRIBED: dict[str, tuple[EndingPods, str]] = {
    "none": (NONE_ENDING, CAN),
    "others": (EndingPods(simulated=("web-1",)), CAN),
    "one": (
        EndingPods(("db-1",)),
        f"is not created before the end of db-1, which is being deleted; then it {CAN}",
    ),
    "one on a node that is not ready": (EndingPods(("db-1",), ("db-1",)), STUCK),
    "several on nodes that are not ready": (
        EndingPods(("db-0", "db-1"), ("db-0", "db-1"), enough=2),
        SEVERAL_STUCK,
    ),
    "some of several, of which one may be delayed": (
        EndingPods(("db-0", "db-1"), ("db-1",), enough=1),
        ONE_STUCK,
    ),
}


@pytest.mark.parametrize(("pods", "sentence"), DESCRIBED.values(), ids=DESCRIBED.keys())
def test_the_pods_that_are_awaited_are_described(pods: EndingPods, sentence: str) -> None:
    assert pods.describe(CAN) == sentence


NOTES: dict[str, tuple[EndingPods, list[str]]] = {
    "none": (NONE_ENDING, []),
    "awaited": (
        EndingPods(("db-0", "db-1"), ("db-1",)),
        [
            "db-0, db-1 are being deleted: no new pod takes their place before their end",
            "db-1 is being deleted on a node that is not ready: that may delay its end",
        ],
    ),
    "others": (
        EndingPods(simulated=("web-1",)),
        ["web-1 is being deleted: its end is supposed to precede the simulation"],
    ),
}


@pytest.mark.parametrize(("pods", "notes"), NOTES.values(), ids=NOTES.keys())
def test_the_pods_are_notes_of_a_what_if(pods: EndingPods, notes: list[str]) -> None:
    assert list(pods.notes) == notes
