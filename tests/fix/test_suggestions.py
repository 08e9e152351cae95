import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fix.fixed import options
from webhook.audit.collect import ManifestCollector
from webhook.audit.inventory import Inventory
from webhook.audit.rendering import FindingKey, SuggestedFix
from webhook.audit.report import AuditReport
from webhook.audit.scan import AuditOptions, scan
from webhook.config.configuration import Configuration
from webhook.fix.suggestions import LARGEST_DOCUMENT, suggest_fixes
from webhook.manifests import Document, read_documents

CONSTRAINTS = """\
  topologySpreadConstraints:
  - maxSkew: 0  # größer: ü
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedul
    labelSelector: {matchLabels: {app: web}}
"""
POD = f"""\
# ein Kommentar: ä 😀
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: web}}, annotations: {{a: "ß 😀"}}}}
spec:
{CONSTRAINTS}"""
FLOW = (
    "--- {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {é: 😀}}, spec: "
    "{topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, "
    "whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}]}}\n"
)


def audit_file(file: Path) -> tuple[Inventory, AuditReport]:
    """Audit a file."""
    collector = ManifestCollector(Configuration())
    for item in read_documents([str(file)]):
        assert isinstance(item, Document)
        collector.add(item)
    inventory = Inventory(collector.snapshot, Configuration().owner_selectors)
    return inventory, scan(inventory, AuditOptions(options().policy))


def suggest(file: Path, text: str) -> dict[FindingKey, SuggestedFix]:
    """Audit a file, and suggest fixes of its findings."""
    file.write_bytes(text.encode())
    return suggest_fixes(*audit_file(file), options())


def carry_out(text: str, fix: SuggestedFix) -> str:
    """Carry out a fix by lines and columns, as a reader of SARIF does."""
    lines = [*re.findall(r"[^\n]*\n|[^\n]+$", text), ""]
    for replacement in reversed(fix.replacements):
        first, column, last, end = replacement.region
        joined = lines[first - 1][: column - 1] + replacement.text + lines[last - 1][end - 1 :]
        lines[first - 1 : last] = [joined]
    return "".join(lines)


def constraint_of(text: str) -> Any:
    (pod,) = yaml.safe_load_all(text)
    return pod["spec"]["topologySpreadConstraints"][0]


TEXTS = {
    "with characters of several bytes": POD,
    "with carriage returns": POD.replace("\n", "\r\n"),
    "without a line break at its end": POD.rstrip(),
    "after a document": f"a: 1\n---\n{POD}".removeprefix("a: 1\n"),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_fix_changes_its_finding_alone(text: str, tmp_path: Path) -> None:
    fixes = suggest(tmp_path / "web.yaml", text)

    by_line = {line: fix for (_, line, _), fix in fixes.items()}
    before = constraint_of(text)
    (skew, behaviour) = (carry_out(text, by_line[line]) for line in sorted(by_line)[:2])
    assert constraint_of(skew) == {**before, "maxSkew": 1}
    assert constraint_of(behaviour) == {**before, "whenUnsatisfiable": "DoNotSchedule"}
    assert skew.replace("maxSkew: 1", "maxSkew: 0") == text


def test_columns_count_from_the_start_of_the_line_of_the_file(tmp_path: Path) -> None:
    (fix,) = suggest(tmp_path / "flow.yaml", FLOW).values()

    assert carry_out(FLOW, fix) == FLOW.replace("maxSkew: 0", "maxSkew: 1")


def test_items_of_a_list_get_fixes(tmp_path: Path) -> None:
    item = POD.split("\n", 1)[1].replace("\n", "\n  ").rstrip()
    text = f"apiVersion: v1\nkind: List\nitems:\n- {item}\n"

    fixes = suggest(tmp_path / "list.yaml", text)

    fixed = {carry_out(text, fix) for fix in fixes.values()}
    assert text.replace("maxSkew: 0", "maxSkew: 1") in fixed


def test_findings_without_a_remedy_get_no_fix(tmp_path: Path) -> None:
    text = POD.replace("DoNotSchedul", "Never")

    fixes = suggest(tmp_path / "web.yaml", text)

    assert {fix.description for fix in fixes.values()} == {"wrote maxSkew: 1, not 0"}


def test_large_documents_get_no_fixes(tmp_path: Path) -> None:
    text = POD + f"# {'x' * LARGEST_DOCUMENT}\n"

    assert suggest(tmp_path / "web.yaml", text) == {}


def test_a_file_that_has_changed_gets_no_fixes(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(POD)
    audited = audit_file(file)

    file.write_text(f"# new\n{POD}")
    assert suggest_fixes(*audited, options()) == {}
    file.unlink()
    assert suggest_fixes(*audited, options()) == {}
