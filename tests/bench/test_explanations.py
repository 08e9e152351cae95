"""The benchmark of explanations, on a cluster of a fraction of the size."""

from tests.bench.explanations import ExplainSize, make_scenario, measure_explanation
from webhook.explain.explanation import explain

SMALL = ExplainSize(nodes=300, pods=9_000)


def test_the_pod_waits_for_several_reasons() -> None:
    explained = explain(make_scenario(SMALL), "Pod shop-7/web-0")

    reasons = explained.failed_scheduling.partition(": ")[2].split(", ")
    assert len(reasons) == 4
    assert len({type(edit) for change in explained.changes for edit in change.edits}) >= 4


def test_explanations_are_measured() -> None:
    row = measure_explanation("explaining", 2, SMALL)

    assert len(row.values) == 2
    assert all(milliseconds > 0 for milliseconds in row.values)
