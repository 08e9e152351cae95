from collections import Counter
from pathlib import Path

import pytest

from tests.audit.world import EVERYTHING, audit, finding, report
from webhook.audit.baseline import load_baseline, remove_known_findings
from webhook.audit.renderers import render_report
from webhook.errors import SourceError


def test_what_an_earlier_report_found_is_only_counted(tmp_path: Path) -> None:
    made = audit(EVERYTHING)
    (tmp_path / "old.json").write_text(render_report(made, "json"))

    left = remove_known_findings(made, load_baseline(str(tmp_path / "old.json")))

    assert list(left.findings()) == []
    assert (left.summary.known, left.summary.deny, left.summary.nodes) == (3, 0, 3)


def test_a_known_finding_stands_for_one_only() -> None:
    left = remove_known_findings(report(finding(), finding()), Counter([finding().fingerprint]))

    assert (len(list(left.findings())), left.summary.known) == (1, 1)


def test_findings_are_known_by_rule_object_and_field_not_by_their_numbers() -> None:
    less = EVERYTHING.replace('"nodeName":"node-b"', '"nodeName":"node-a"')
    (before, after) = (
        {finding.fingerprint: finding.problem for _, finding in audit(text).findings()}
        for text in (EVERYTHING, less)
    )

    assert before.keys() == after.keys()
    assert before != after


@pytest.mark.parametrize(
    "data", [b"nothing", b'{"kind": "Pod"}', b'{"kind": "\xff"}', b'{"x":' + b"[" * 5000]
)
def test_what_is_no_report(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_bytes(data)

    with pytest.raises(SourceError, match="is no audit report"):
        load_baseline(str(tmp_path / "old.json"))
    with pytest.raises(SourceError, match="cannot be read"):
        load_baseline(str(tmp_path / "none.json"))


def test_a_document_of_another_kind_is_no_baseline(tmp_path: Path) -> None:
    text = render_report(report(), "json").replace('"AuditReport"', '"FixReport"')
    (tmp_path / "old.json").write_text(text)

    with pytest.raises(SourceError, match=r"but evenspread.io/v1alpha1, FixReport; make one"):
        load_baseline(str(tmp_path / "old.json"))
