import pytest
from msgspec.structs import replace

from tests.audit.world import finding, report, spread_report
from webhook.audit.compare import compare_reports
from webhook.audit.comparison import AuditComparison, SpreadState
from webhook.audit.renderers.comparison import (
    COMPARISON_FORMATS,
    describe_state,
    render_comparison,
)


def changed() -> AuditComparison:
    """One finding is new, and the pods are more uneven."""
    old, new = (
        report(*found, spreads=(spread_report(skew=skew),))
        for found, skew in (((), 1), ((finding(),), 3))
    )
    return compare_reports(old, new)


STATES = {
    "none": (None, "not reported"),
    "a limit": (SpreadState(3, 1, 0), "skew 3 of 1"),
    "no limit": (SpreadState(3, None, 0), "skew 3"),
    "pods that are not counted": (SpreadState(0, 1, 2), "skew 0 of 1, 2 not counted"),
}


@pytest.mark.parametrize(("state", "text"), STATES.values(), ids=STATES)
def test_a_spread_is_described(state: SpreadState | None, text: str) -> None:
    assert describe_state(state) == text


@pytest.mark.parametrize("output", COMPARISON_FORMATS)
def test_every_format_has_the_changes(output: str) -> None:
    text = render_comparison(changed(), output)

    assert text.endswith("\n")
    assert "TSC101" in text
    assert "worse" in text


def test_other_rules_of_kubernetes_are_named() -> None:
    one = report()
    text = render_comparison(compare_reports(replace(one, kubernetes="1.36"), one), "table")

    assert text.endswith("the rules are those of Kubernetes 1.37, and were those of 1.36\n")
