"""Files edited in rounds, and verified after each."""

from tests.fix.fixed import deployment, options, reasons, run_fix
from webhook.fix.changes import Put
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
    assert [each.source for each in outcome.fixed] == ["b.yaml"]
    assert reasons(outcome.left) == {"TSC001": NOT_READ}


def test_what_would_not_be_read_as_meant_is_given_back_as_it_was() -> None:
    text = deployment(CONSTRAINTS)
    draft = FileDraft("web.yaml", text)
    wrong = DocumentPlan((), (Put(("kind",), "Pod"),), (TextEdit(0, 0, "# no\n"),), ())

    problem = draft.edit([wrong])

    assert problem is not None
    assert "this is a bug of evenspread" in str(problem)
    assert (draft.text, draft.locked) == (text, MISREAD)
