import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.advice.findings import (
    LINE_CHARACTERS,
    LINES,
    AdviceFinding,
    RuleViolation,
    all_of,
    clip,
    count_of,
    format_warnings,
    join_names,
    quote_value,
)
from webhook.policy.api.fielderrors import FORBIDDEN

FIELD = "spec.template.spec.topologySpreadConstraints[1].maxSkew"


def finding(rule: str = "TSC112", field: str = FIELD, brief: str = "too much") -> AdviceFinding:
    return AdviceFinding(rule, field, "maxSkew 9 is too much", "maxSkew: 1", brief)


WORDS = {
    "a constraint": (finding(), "TSC112 topologySpreadConstraints[1]: too much"),
    "a list": (
        finding(field="spec.topologySpreadConstraints"),
        "TSC112 topologySpreadConstraints: too much",
    ),
    "another field": (finding(field="spec.replicas"), "TSC112 spec.replicas: too much"),
    "a problem that is short": (
        finding(brief=""),
        "TSC112 topologySpreadConstraints[1]: maxSkew 9 is too much",
    ),
    "control characters": (
        finding(brief="a\nb"),
        "TSC112 topologySpreadConstraints[1]: a\\nb",
    ),
}


@pytest.mark.parametrize(("reported", "line"), WORDS.values(), ids=WORDS.keys())
def test_a_finding_is_one_line(reported: AdviceFinding, line: str) -> None:
    assert reported.line == line


def test_a_violation_by_defaults_names_the_profile() -> None:
    for brief, short in (("", "the key is missing"), ("no key", "no key")):
        found = RuleViolation(FIELD, "the key is missing", "", brief).by_defaults("web")

        assert found.problem == "with the defaults of profile web, the key is missing"
        assert found.brief == f"with the defaults of profile web, {short}"
        assert found.profile == "web"


def test_a_finding_is_a_cause_of_a_denial() -> None:
    error = finding().error

    assert (error.field, error.reason) == (FIELD, FORBIDDEN)
    assert error.message == "Forbidden: maxSkew 9 is too much; write instead: maxSkew: 1"


def test_a_denial_without_yaml_contains_what_to_do() -> None:
    reported = AdviceFinding("TSC103", FIELD, "a key is missing", "# label the nodes")

    assert reported.error.message == "Forbidden: a key is missing; label the nodes"


def test_few_findings_have_a_line_each() -> None:
    assert format_warnings([finding()] * LINES) == (finding().line,) * LINES


def test_of_many_findings_the_last_line_counts_the_rest() -> None:
    reported = format_warnings(
        [finding(), finding(), finding("TSC101"), finding("TSC102"), finding("TSC101")]
    )

    assert reported[:2] == (finding().line,) * 2
    assert reported[2:] == ("and 3 more findings (TSC101, TSC102): evenspread audit",)


def test_without_findings_there_are_no_warnings() -> None:
    assert format_warnings([]) == ()


@given(st.lists(st.builds(AdviceFinding, st.text(), st.text(), st.text(), st.text(), st.text())))
def test_lines_fit_kubectl(findings: list[AdviceFinding]) -> None:
    reported = format_warnings(findings)

    assert len(reported) <= LINES
    assert all(len(line) <= LINE_CHARACTERS and line.isprintable() for line in reported)


@given(st.text(), st.integers(4, 20))
def test_a_clipped_text_is_within_the_limit(text: str, characters: int) -> None:
    assert len(clip(text, characters)) <= characters


def test_a_value_is_shown_in_quotes() -> None:
    assert quote_value("zone") == '"zone"'


NAMES = {
    "one": (("a",), None, "a"),
    "none": ((), None, ""),
    "as many as are named": (("a", "b", "c"), None, "a, b, c"),
    "more": (("a", "b", "c", "d", "e"), None, "a, b, c and 2 more"),
    "more than are given": (("a",), 5, "a and 4 more"),
}


@pytest.mark.parametrize(("names", "many", "text"), NAMES.values(), ids=NAMES.keys())
def test_the_first_names_of_many(names: tuple[str, ...], many: int | None, text: str) -> None:
    assert join_names(names, many) == text


@pytest.mark.parametrize(("many", "text"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods")])
def test_a_number_of_things(many: int, text: str) -> None:
    assert count_of(many, "pod") == text


@pytest.mark.parametrize(("many", "text"), [(1, "the pod"), (2, "both pods"), (3, "all 3 pods")])
def test_all_of_a_number_of_things(many: int, text: str) -> None:
    assert all_of(many, "pod") == text


def test_the_number_of_named_names_can_be_chosen() -> None:
    assert join_names(("a", "b"), most=1) == "a and 1 more"
