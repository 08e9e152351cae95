"""Reviews of AdmissionReviews from files, as API servers send them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

RECORDED = Path(__file__).parents[1] / "recorded"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: str(path.stem))
def test_a_recorded_review_is_answered_by_its_webhook(path: Path, run: Run) -> None:
    request = json.loads(path.read_text())["review"]["request"]

    ran = run("review", "-f", str(path), "--facts", str(EXAMPLES / "cluster"), "-o", "json")

    (answer,) = ran.documents
    assert (ran.code, answer["response"]) == (0, {"uid": request["uid"], "allowed": True})
    assert answer["hook"] == ("validate" if "validating" in path.name else "mutate")


def test_the_shipped_reviews_are_allowed(run: Run) -> None:
    ran = run(
        *("review", "-f", str(EXAMPLES / "reviews"), "--facts", str(EXAMPLES / "cluster")),
        *("--config", str(EXAMPLES / "config/spread.yaml")),
    )

    assert ran.code == 0
    assert ran.out.endswith("3 answers: 1 patched, 2 allowed as they are, 0 denied\n")


# what stands in the file, message
BROKEN_REVIEWS = {
    "no request": ({"apiVersion": "admission.k8s.io/v1"}, "has no request"),
    "an old version": ({"apiVersion": "admission.k8s.io/v1beta1"}, "is not of admission.k8s.io/v1"),
    "no uid": (
        {"apiVersion": "admission.k8s.io/v1", "request": {"operation": "CREATE"}},
        "request.uid is missing",
    ),
}


@pytest.mark.parametrize(("members", "problem"), BROKEN_REVIEWS.values(), ids=BROKEN_REVIEWS.keys())
def test_an_invalid_review_is_an_error(members: dict[str, Any], problem: str, run: Run) -> None:
    review = json.dumps({**members, "kind": "AdmissionReview"})

    ran = run("review", "-f", "-", stdin=review.encode())

    assert ran.code == 3
    assert ran.err.startswith("error: stdin:1: the server would answer 400: ")
    assert problem in ran.err
