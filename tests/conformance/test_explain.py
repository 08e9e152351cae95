"""For every recorded case, read as files, ``explain`` prints the message of kube-scheduler."""

from pathlib import Path

import pytest

from tests.conformance.__main__ import read
from tests.conformance.explain import answer

CASES = list(read(Path(__file__).with_name("data") / "filters.jsonl.gz"))
PARTS = 8  # so that a failure is found early


@pytest.mark.parametrize("part", range(PARTS))
def test_the_sentence_is_that_of_kube_scheduler(part: int) -> None:
    for case in CASES[part::PARTS]:
        expected = case["expect"]
        found = answer(case)
        assert (case["id"], found["message"]) == (case["id"], expected["message"])
        if "nodes" in expected:  # kube-scheduler does not report them if the pod fits another node
            assert set(found["nodes"]) == set(expected["nodes"])
