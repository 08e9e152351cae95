import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.audit import multitool
from tests.audit.world import EVERYTHING, audit, finding, report
from webhook import PROJECT_ADDRESS
from webhook.audit.exemptionreport import ExemptionSource
from webhook.audit.renderers import render_report
from webhook.audit.rendering import RenderOptions, SuggestedFix, TextReplacement, finding_key
from webhook.audit.report import AuditReport, AuditSeverity
from webhook.manifests.edits import TextRegion
from webhook.policy.catalogue import CATALOGUE

RULES = Path(__file__).parents[3] / "docs/rules.md"

REPORTS = {
    "of manifests": audit(EVERYTHING),
    "of a cluster, without files": report(finding(line=0)),
    "with an exemption": report(exempted=(finding(reason="by contract"),)),
    "of nothing": report(),
}


def run_of(made: AuditReport) -> Any:
    return msgspec.json.decode(render_report(made, "sarif"))["runs"][0]


@pytest.fixture(scope="module")
def schema() -> Any:
    return msgspec.json.decode(multitool.needed(multitool.SCHEMA).read_bytes())


@pytest.mark.integration
@pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS.keys())
def test_it_is_valid_by_the_schema_of_sarif(made: AuditReport, schema: Any) -> None:
    jsonschema.validate(msgspec.json.decode(render_report(made, "sarif")), schema)


NOT_APPLICABLE = {"SARIF2005"}  # for an address of the tool's own; it has none yet


@pytest.fixture(scope="module")
def validator() -> Path:
    return multitool.needed(multitool.PROGRAM)


@pytest.mark.integration
def test_its_own_validator_has_nothing_against_it(validator: Path, tmp_path: Path) -> None:
    for name, made in REPORTS.items():
        (tmp_path / f"{name}.sarif").write_text(render_report(made, "sarif"))

    complaints = multitool.complaints(validator, tmp_path)

    assert len(complaints) >= len(REPORTS), "it has read all of them"
    assert [message for message in complaints if message[0] not in NOT_APPLICABLE] == []


@pytest.mark.integration
def test_its_own_validator_sees_a_rule_that_is_not_there(validator: Path, tmp_path: Path) -> None:
    log = msgspec.json.decode(render_report(report(finding()), "sarif"))
    log["runs"][0]["results"][0]["ruleIndex"] = 999
    (tmp_path / "report.sarif").write_bytes(msgspec.json.encode(log))

    complaints = multitool.complaints(validator, tmp_path)

    assert "SARIF1009" in [rule for rule, _ in complaints]


@pytest.mark.parametrize(
    ("weight", "level"),
    [(AuditSeverity.DENY, "error"), (AuditSeverity.WARN, "warning"), (AuditSeverity.AUDIT, "note")],
)
def test_weights_are_levels(weight: AuditSeverity, level: str) -> None:
    (result,) = run_of(report(finding(severity=weight)))["results"]

    assert result["level"] == level


def test_findings_point_to_file_and_line() -> None:
    (result,) = run_of(report(finding(), source="a dir/web.yaml", line=1))["results"]

    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20dir/web.yaml"},
        "region": {"startLine": 7},
    }


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (ExemptionSource.ANNOTATION, "inSource"),
        (ExemptionSource.EXCEPTION, "external"),
        (ExemptionSource.PROJECT, "external"),
    ],
)
def test_exempted_findings_are_suppressed_with_their_reason(
    source: ExemptionSource, kind: str
) -> None:
    exempted = finding(reason="by contract", exempted_by=source)

    (result,) = run_of(report(exempted=(exempted,)))["results"]

    assert result["suppressions"] == [{"kind": kind, "justification": "by contract"}]


def test_every_result_names_a_rule_of_the_list() -> None:
    run = run_of(audit(EVERYTHING))
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]

    assert rules == list(CATALOGUE)
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])


def test_fixes_are_replacements_in_the_file() -> None:
    made = report(finding(), source="a dir/web.yaml", line=1)
    (workload,) = made.workloads
    replacement = TextReplacement(TextRegion(7, 3, 8, 1), "a: 1\n")
    fix = SuggestedFix("wrote a: 1", (replacement,))
    options = RenderOptions(fixes={finding_key(workload, workload.findings[0]): fix})

    log = msgspec.json.decode(render_report(made, "sarif", options))

    (written,) = log["runs"][0]["results"][0]["fixes"]
    region = {"startLine": 7, "startColumn": 3, "endLine": 8, "endColumn": 1}
    assert written == {
        "description": {"text": "The edits of evenspread fix: wrote a: 1."},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": "a%20dir/web.yaml"},
                "replacements": [{"deletedRegion": region, "insertedContent": {"text": "a: 1\n"}}],
            }
        ],
    }


def test_a_finding_without_a_fix_has_none() -> None:
    (result,) = run_of(report(finding()))["results"]

    assert "fixes" not in result


def test_every_rule_has_an_address_in_the_documentation() -> None:
    headings = re.findall(r"^#+ (.*)$", RULES.read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    for rule in run_of(report())["tool"]["driver"]["rules"]:
        page, _, anchor = rule["helpUri"].partition("#")
        assert page == f"{PROJECT_ADDRESS}/blob/main/docs/rules.md"
        assert anchor in anchors or not rule["id"].startswith("TSC"), rule["id"]
