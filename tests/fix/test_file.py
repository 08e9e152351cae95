"""Files edited in rounds, and verified after each."""

import json

import pytest
import yaml

from tests.fix.fixed import deployment, options, reasons, run_fix
from webhook.fix.changes import Put, Remove
from webhook.fix.conflicts import DocumentPlan
from webhook.fix.file import MISREAD, NOT_READ, FileDraft
from webhook.manifests.edits import TextEdit

CONSTRAINTS = """\
      topologySpreadConstraints:
      - maxSkew: 0
        topologyKey: zone
        whenUnsatisfiable: DoNotSchedul
        minDomains: 0
"""


def test_a_file_with_a_broken_document_is_left_as_a_whole() -> None:
    text = deployment(CONSTRAINTS) + "---\n{\n"

    outcome = run_fix({"web.yaml": text, "b.yaml": deployment(CONSTRAINTS)}, options("TSC001"))

    assert outcome.texts["web.yaml"] == text
    assert [finding.source for finding in outcome.fixed] == ["b.yaml"]
    assert reasons(outcome.left) == {"TSC001": NOT_READ}


def test_a_text_that_would_misread_is_restored_and_locked() -> None:
    text = deployment(CONSTRAINTS)
    draft = FileDraft("web.yaml", text)
    plan = DocumentPlan((), (Put(("kind",), "Pod"),), (TextEdit(0, 0, "# no\n"),), ())

    draft.edit([plan])

    assert "this is a bug of evenspread" in str(draft.problem)
    assert (draft.text, draft.locked) == (text, MISREAD)


MISPLACED = """\
kind: Deployment
apiVersion: apps/v1
metadata: {name: web}
spec:
  # why
  topologySpreadConstraints:
  - maxSkew: 1

    minDomain: 2
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    matchLabels:
      app: web
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: []
"""
AS_JSON = json.dumps(yaml.safe_load(MISPLACED), indent=1)

LINES = {"YAML": (MISPLACED, (6, 9, 12)), "JSON": (AS_JSON, (8, 11, 14))}


@pytest.mark.parametrize(("text", "lines"), LINES.values(), ids=LINES.keys())
def test_a_finding_in_a_moved_list_has_the_line_of_the_old_file(
    text: str, lines: tuple[int, ...]
) -> None:
    outcome = run_fix({"web.yaml": text}, options("TSC011"))

    assert {finding.line for finding in outcome.fixed} == set(lines)
    assert outcome.left == ()


def test_a_line_is_followed_back_through_all_rounds() -> None:
    draft = FileDraft("web.yaml", "a: 1\nb: 2\nc: 3\n")
    draft.edit([DocumentPlan((), (Put(("d",), 4),), (TextEdit(0, 0, "d: 4\n"),), ())])
    draft.edit([DocumentPlan((), (Remove(("a",)),), (TextEdit(5, 10, ""),), ())])

    assert draft.text == "d: 4\nb: 2\nc: 3\n"
    assert [draft.original_line(line) for line in (1, 2, 3)] == [1, 2, 3]
