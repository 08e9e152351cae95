"""A file in the making: its text, edited round by round, and read again after each of them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from webhook.errors import SourceError
from webhook.fix.changes import apply_changes
from webhook.fix.conflicts import EMPTY_PLAN, DocumentPlan, Proposal, plan_document
from webhook.manifests import Document, expand, parse
from webhook.manifests.edits import TextEdit, apply_edits, find_line_starts, find_original_position

NOT_READ = "another document of its file cannot be read"
MISREAD = "its file would not read as intended"


class FileDraft:
    """
    A file in the making.

    Attributes:
        source: Its name.
        first: Its text as it was read.
        text: As it is now.
        documents: What is in it now.
        spoilt: Why it is not edited; empty if it may be.
    """

    def __init__(self, source: str, text: str) -> None:
        """Take the text of a file."""
        self.source = source
        self.first = self.text = text
        self.spoilt = ""
        self._rounds: list[list[TextEdit]] = []
        self._read()

    def _read(self) -> None:
        self.documents: list[Document] = []
        self._starts = find_line_starts(self.text)
        for item in parse(self.text, self.source):
            if isinstance(item, Document):
                self.documents.append(item)
            else:
                self.spoilt = NOT_READ

    def objects(self) -> Iterator[Document]:
        """Give the objects in it, lists taken apart."""
        for document in self.documents:
            yield from (each for each in expand(document) if each.api_version and each.kind)

    def plan(self, proposals: Iterable[Proposal]) -> list[DocumentPlan]:
        """Choose for every document what is done to it in this round."""
        asked: defaultdict[int, list[Proposal]] = defaultdict(list)
        for proposal in proposals:
            asked[proposal.judged.document.text.start].append(proposal)
        return [
            plan_document(document.text.tree, asked[document.text.start])
            if document.text.start in asked
            else EMPTY_PLAN
            for document in self.documents
        ]

    def edit(self, settled: Sequence[DocumentPlan]) -> SourceError | None:
        """
        Make edits, if what is read afterwards is what was meant; else go back to the beginning.

        Args:
            settled: For each of the documents.
        """
        pairs = list(zip(self.documents, settled, strict=True))
        values = [apply_changes(each.changes, document.value) for document, each in pairs]
        edits = [edit.shift(document.text.start) for document, each in pairs for edit in each.edits]
        self.text = apply_edits(edits, self.text)
        self._read()
        if not self.spoilt and [each.value for each in self.documents] == values:
            self._rounds.append(edits)
            return None
        self.text = self.first
        self._rounds.clear()
        self._read()
        self.spoilt = MISREAD
        return SourceError(
            self.source,
            f"{MISREAD} after an edit, so nothing was written: this is a bug of evenspread, please "
            "report it with the file",
        )

    def first_line(self, line: int) -> int:
        """Give the line in the file as it was read of a line as it is now; from 1."""
        position = self._starts[line - 1]
        for edits in reversed(self._rounds):
            position = find_original_position(edits, position)
        return bisect_right(find_line_starts(self.first), position)
