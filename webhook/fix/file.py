"""The text of a file, edited in rounds and read again after each round to verify the result."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from webhook.errors import SourceError
from webhook.fix.changes import Move, Wrap, apply_changes
from webhook.fix.conflicts import DocumentPlan, Proposal, plan_document
from webhook.fix.origins import MovedPart, find_origin, pair_moved
from webhook.manifests import Document, expand, parse
from webhook.manifests.edits import AppliedEdits, apply_edits, find_line_starts

_content = re.compile(r"[^ \t-]").search

NOT_READ = "another document of its file cannot be read"
MISREAD = "its file would not read as intended"


class FileDraft:
    """
    The text of a file that is being edited.

    Attributes:
        source: The name of the file.
        text: The current text.
        documents: The documents of the current text.
        locked: Why the file must not be edited; empty if it may be.
        problem: The error of an edit after which the file did not read as planned.
    """

    def __init__(self, source: str, text: str) -> None:
        """Start with the text of the file."""
        self.source = source
        self.text = self._original = text
        self._original_starts = find_line_starts(text)
        self.locked = ""
        self.problem: SourceError | None = None
        self._rounds: list[_EditRound] = []
        self._read()

    def _read(self) -> None:
        self.documents: list[Document] = []
        self._line_starts = find_line_starts(self.text)
        for item in parse(self.text, self.source):
            if isinstance(item, Document):
                self.documents.append(item)
            else:
                self.locked = NOT_READ

    def objects(self) -> Iterator[Document]:
        """Iterate over the objects in the file, those of a ``List`` one by one."""
        objects = (item for document in self.documents for item in expand(document))
        return (item for item in objects if item.api_version and item.kind)

    def plan(self, proposals: Iterable[Proposal]) -> list[DocumentPlan]:
        """Plan the changes of this round for every document."""
        by_start: defaultdict[int, list[Proposal]] = defaultdict(list)
        for proposal in proposals:
            by_start[proposal.evaluated.document.text.start].append(proposal)
        return [
            plan_document(document.text.tree, by_start[document.text.start])
            if document.text.start in by_start
            else DocumentPlan()
            for document in self.documents
        ]

    def edit(self, plans: Sequence[DocumentPlan]) -> None:
        """Make the edits of a round; if the result misreads, restore and lock the original text."""
        pairs = list(zip(self.documents, plans, strict=True))
        values = [apply_changes(plan.changes, document.value) for document, plan in pairs]
        edits = [edit.shift(document.text.start) for document, plan in pairs for edit in plan.edits]
        self.text = apply_edits(edits, self.text)
        self._read()
        if not self.locked and [document.value for document in self.documents] == values:
            moved = [
                part
                for (document, plan), after in zip(pairs, self.documents, strict=True)
                for part in _list_moved(document, plan, after)
            ]
            self._rounds.append(_EditRound(AppliedEdits(edits), moved))
            return
        self.text = self._original
        self._rounds.clear()
        self._read()
        self.locked = MISREAD
        self.problem = SourceError(
            self.source,
            f"{MISREAD} after an edit, so nothing was written: this is a bug of evenspread, please "
            "report it with the file",
        )

    def original_line(self, line: int) -> int:
        """Return the line in the original text of a line in the current one; from 1."""
        position = self._line_starts[line - 1]
        first = _find_content(self.text, position)
        for done in reversed(self._rounds):
            origin = find_origin(done.moved, first)
            if origin is None:
                position = done.edits.original_position(position)
                first = done.edits.original_position(first)
            else:
                position = first = origin
        return bisect_right(self._original_starts, position)


class _EditRound(NamedTuple):
    """The edits of a round, and what they moved."""

    edits: AppliedEdits
    moved: Sequence[MovedPart]


def _list_moved(before: Document, plan: DocumentPlan, after: Document) -> Iterator[MovedPart]:
    if any(isinstance(change, Move | Wrap) for change in plan.changes):
        for part in pair_moved(before.text.tree, after.text.tree, plan.changes):
            yield part.shift(before.text.start, after.text.start)


def _find_content(text: str, start: int) -> int:
    """Find the first character of a line that is no blank and no dash of a list."""
    found = _content(text, start)
    return found.start() if found else start
