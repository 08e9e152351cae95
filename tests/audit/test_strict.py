import pytest

from webhook.audit.strict import drop_exempted, find_strict_errors, name_lines
from webhook.manifests import Document, parse
from webhook.manifests.duplicates import DuplicateKey

TEXT = """\
kind: Deployment
spec:
  template:
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        minDomain: 2
        maxSkew: 2
  topologySpreadConstraints: []
"""


def document(text: str) -> Document:
    (read,) = parse(f"apiVersion: apps/v1\n{text}", "web.yaml")
    assert isinstance(read, Document)
    return read


def test_findings_have_lines() -> None:
    found = find_strict_errors(document(TEXT), ("spec", "template"))

    assert [(one.rule, one.line) for one in found] == [("TSC011", 10), ("TSC011", 8), ("TSC012", 9)]


def test_a_duplicate_key_names_all_its_lines() -> None:
    found = find_strict_errors(document(TEXT), ("spec", "template"))

    assert found[-1].problem == (
        'duplicate field "spec.template.spec.topologySpreadConstraints[0].maxSkew"; '
        "it is in lines 7 and 9, and the last one counts"
    )


@pytest.mark.parametrize(
    ("annotations", "rules"),
    [
        ("{evenspread.io/exempt: TSC011=newer}", ["TSC012"]),
        ("{evenspread.io/exempt: 3}", ["TSC011", "TSC011", "TSC012"]),
        ("{}", ["TSC011", "TSC011", "TSC012"]),
        ("[]", ["TSC011", "TSC011", "TSC012"]),
    ],
)
def test_an_annotation_exempts_an_object(annotations: str, rules: list[str]) -> None:
    read = document(f"{TEXT}metadata: {{annotations: {annotations}}}\n")

    found = drop_exempted(find_strict_errors(read, ("spec", "template")), read, frozenset())

    assert [finding.rule for finding in found] == rules


def test_a_sound_object_needs_no_exemption() -> None:
    assert drop_exempted((), document("kind: Deployment\n"), frozenset()) == ()


def test_an_exemption_that_the_configuration_forbids_has_no_effect() -> None:
    exempt = "annotations: {evenspread.io/exempt: 'TSC011=newer, TSC012=generated'}"
    read = document(f"{TEXT}metadata: {{{exempt}}}\n")

    found = drop_exempted(
        find_strict_errors(read, ("spec", "template")), read, frozenset({"TSC011"})
    )

    assert [finding.rule for finding in found] == ["TSC011", "TSC011"]


def test_lines_are_named_once() -> None:
    assert name_lines(DuplicateKey(("a",), (3, 4, 7))) == "lines 3, 4 and 7"
    assert name_lines(DuplicateKey(("a",), (3, 3))) == "line 3, twice"
    assert name_lines(DuplicateKey(("a",), (3, 3, 3))) == "line 3, 3 times"


def test_of_many_lines_the_first_ones_are_named() -> None:
    assert name_lines(DuplicateKey(("a",), (3, 4, 7, 9))) == "lines 3, 4, 7 and 9"
    assert name_lines(DuplicateKey(("a",), tuple(range(1, 10_001)))) == (
        "lines 1, 2, 3 and 9997 more"
    )
