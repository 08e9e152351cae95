import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.placement.filters.failure import describe_failure
from webhook.policy.placement.filters.rejections import FilterRejection
from webhook.policy.placement.filters.run import FilterResult

CPU = FilterRejection("NodeResourcesFit", ("Insufficient cpu",))
BOTH = FilterRejection("NodeResourcesFit", ("Insufficient cpu", "Insufficient memory"))
TAINT = FilterRejection("TaintToleration", ("node(s) had untolerated taint(s)",))
WHOLE = FilterRejection("VolumeBinding", ("a", "b"))

# rejections, rejection of the pod, sentence
SENTENCES: dict[str, tuple[list[FilterRejection], FilterRejection | None, str]] = {
    "no node": ([], None, "no nodes available to schedule pods"),
    "one reason": ([CPU, CPU], None, "0/2 nodes are available: 2 Insufficient cpu."),
    "several reasons of a node": (
        [CPU, BOTH], None, "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu."
    ),
    "numbers are sorted as texts": (
        [CPU] * 10 + [TAINT] * 9, None,
        "0/19 nodes are available: 10 Insufficient cpu, 9 node(s) had untolerated taint(s).",
    ),
    "the pod as a whole": ([WHOLE] * 3, WHOLE, "0/3 nodes are available: a, b."),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rejections", "whole", "sentence"), SENTENCES.values(), ids=SENTENCES.keys()
)
def test_the_sentence_of_failed_scheduling(
    rejections: list[FilterRejection], whole: FilterRejection | None, sentence: str
) -> None:
    by_node = {f"n{index}": one for index, one in enumerate(rejections)}

    assert describe_failure(FilterResult((), by_node, whole)) == sentence


def test_there_is_no_sentence_for_a_pod_that_fits() -> None:
    assert describe_failure(FilterResult(("n1",), {"n2": CPU})) == ""


@given(st.lists(st.sampled_from((CPU, BOTH, TAINT)), min_size=1))
def test_the_order_of_the_nodes_does_not_matter(rejections: list[FilterRejection]) -> None:
    by_node = {f"n{index}": one for index, one in enumerate(rejections)}
    reversed_nodes = dict(reversed(by_node.items()))

    assert describe_failure(FilterResult((), by_node)) == describe_failure(
        FilterResult((), reversed_nodes)
    )
