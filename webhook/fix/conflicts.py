"""
Selection of the changes that can be made to a document together, and of their edits.

``plan_document`` is the entry point. A proposal that conflicts with an accepted one is neither
accepted nor rejected: the next round proposes it again.
"""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product, starmap
from typing import TypeAlias

from webhook.audit.report import AuditFinding
from webhook.fix.changes import (
    Change,
    FixObstacle,
    Identity,
    Move,
    Wrap,
    conflict,
    identity,
    shift,
)
from webhook.fix.evaluate import EvaluatedObject, UndecodedObject
from webhook.fix.locate import MERGED, Placement, locate_change
from webhook.fix.merges import locate_in_merged
from webhook.fix.move import locate_move
from webhook.fix.overrides import override_merged
from webhook.manifests.edits import TextEdit, overlap
from webhook.manifests.tree import Tree
from webhook.policy.paths import FieldPath

ALIASED_ELSEWHERE = FixObstacle("an alias uses the same text elsewhere, where it must not change")
CONFLICTING = FixObstacle("it conflicts with another change")


@dataclass(frozen=True)
class Proposal:
    """
    The changes that would fix a finding.

    Attributes:
        changes: At least one, with paths from the object.
        wrote: A description of the changes.
        alone: Whether no other changes of the object may be made in the same round.
    """

    evaluated: EvaluatedObject | UndecodedObject
    finding: AuditFinding
    changes: tuple[Change, ...]
    wrote: str
    alone: bool = False

    @property
    def changes_of_document(self) -> tuple[Change, ...]:
        """The changes with paths from the document that contains the object."""
        at: FieldPath = self.evaluated.document.path
        return tuple(shift(change, at) for change in self.changes)


RejectedProposal: TypeAlias = tuple[Proposal, FixObstacle]
"""A proposal that cannot be carried out, and why."""


@dataclass(frozen=True)
class DocumentPlan:
    """
    The changes to make to a document.

    Attributes:
        accepted: The proposals that these changes carry out.
        changes: The changes to the document's value.
        edits: The edits of its text, in order.
        rejected: The proposals that cannot be carried out.
    """

    accepted: tuple[Proposal, ...] = ()
    changes: tuple[Change, ...] = ()
    edits: tuple[TextEdit, ...] = ()
    rejected: tuple[RejectedProposal, ...] = ()


def plan_document(tree: Tree, proposals: Sequence[Proposal]) -> DocumentPlan:
    """Select the proposals to carry out; at least one is accepted or rejected."""
    proposals, placements = _place(tree, proposals)
    selection = _Selection(placements)
    rejected: list[RejectedProposal] = []
    for proposal in proposals:
        if obstacle := placements.find_obstacle(proposal):
            rejected.append((proposal, obstacle))
        else:
            selection.add(proposal)
    plan = selection.plan()
    if not plan.accepted and not rejected:  # otherwise the rounds would never end
        rejected = [(proposal, CONFLICTING) for proposal in proposals]
    return replace(plan, rejected=tuple(rejected))


def _place(tree: Tree, proposals: Sequence[Proposal]) -> tuple[Sequence[Proposal], "_Placements"]:
    """Find the edits of proposals, which override merged members that cannot be edited."""
    while True:
        placements = _Placements(tree, proposals)
        placed = [
            _override(tree, proposal) if placements.find_obstacle(proposal) == MERGED else proposal
            for proposal in proposals
        ]
        if placed == proposals:
            return proposals, placements
        proposals = placed  # now others may not be made at the anchor any more


def _override(tree: Tree, proposal: Proposal) -> Proposal:
    document = proposal.evaluated.document
    changes = override_merged(tree, proposal.changes, document.path, document.value)
    return replace(proposal, changes=changes) if changes else proposal


class _Placements:
    """The edits of every proposed change, and which changes share an edit."""

    def __init__(self, tree: Tree, proposals: Iterable[Proposal]) -> None:
        changes = [change for proposal in proposals for change in proposal.changes_of_document]
        self._found = {
            identity(change): locate_move(tree, change)
            if isinstance(change, Move | Wrap)
            else locate_change(tree, change)
            for change in changes
        }
        # The aliases of one anchor share its text, so one edit makes the changes of all of them.
        self._users: defaultdict[tuple[TextEdit, ...], set[Identity]] = defaultdict(set)
        for change, found in {**self._found, **self._find_merged(tree, changes)}.items():
            self._found[change] = found
            if isinstance(found, Placement):
                self._users[found.edits].add(change)

    def _find_merged(
        self, tree: Tree, changes: Iterable[Change]
    ) -> dict[Identity, Placement | FixObstacle]:
        """
        Find the changes to make in a merged mapping, since all that share its text need them.

        The others override the merged value, so that the rest stays as it is.
        """
        merged = {
            identity(change): found
            for change in changes
            if (found := locate_in_merged(tree, change))
        }
        users = Counter(
            found.edits
            for found in {**self._found, **merged}.values()
            if isinstance(found, Placement)
        )
        return {
            change: found for change, found in merged.items() if users[found.edits] == found.places
        }

    def find_obstacle(self, proposal: Proposal) -> FixObstacle | None:
        """Find what prevents a proposal regardless of the other proposals."""
        changes, edits = proposal.changes_of_document, self.edits_of(proposal)
        if any(starmap(conflict, combinations(changes, 2))) or any(
            starmap(overlap, combinations(edits, 2))
        ):
            return CONFLICTING
        for change in changes:
            found = self._found[identity(change)]
            if isinstance(found, FixObstacle):
                return found
            # The edit also changes places for which no proposal requires the change.
            if len(self._users[found.edits]) < found.places:
                return ALIASED_ELSEWHERE
        return None

    def edits_of(self, proposal: Proposal) -> list[TextEdit]:
        """Return the edits of a proposal."""
        return [edit for placement in self._placements_of(proposal) for edit in placement.edits]

    def changes_made_with(self, proposal: Proposal) -> Iterator[Identity]:
        """Yield all changes that the edits of a proposal make."""
        for placement in self._placements_of(proposal):
            yield from self._users[placement.edits]

    def _placements_of(self, proposal: Proposal) -> Iterator[Placement]:
        for change in proposal.changes_of_document:
            found = self._found[identity(change)]
            if isinstance(found, Placement):
                yield found


class _Selection:
    """The accepted proposals, in the order in which they are proposed."""

    def __init__(self, placements: _Placements) -> None:
        self._placements = placements
        self._accepted: list[Proposal] = []
        self._edits: list[TextEdit] = []
        self._changes: defaultdict[FieldPath, list[Change]] = defaultdict(list)  # by object
        self._alone = set[FieldPath]()  # objects that are not changed further

    def add(self, proposal: Proposal) -> None:
        """Accept a proposal, unless it conflicts with an accepted one."""
        edits, changed = self._placements.edits_of(proposal), proposal.evaluated.document.path
        new, changes = proposal.changes_of_document, self._changes[changed]
        if changed in self._alone or (proposal.alone and changes):
            return
        if any(starmap(conflict, product(new, changes))) or any(
            overlap(edit, neighbour) for edit in edits for neighbour in self._neighbours(edit)
        ):
            return
        self._accepted.append(proposal)
        changes += new
        if proposal.alone:
            self._alone.add(changed)
        for edit in edits:
            if edit not in self._neighbours(edit):
                insort(self._edits, edit)

    def _neighbours(self, edit: TextEdit) -> list[TextEdit]:
        """Return the accepted edits next to one; accepted edits never overlap each other."""
        at = bisect_left(self._edits, edit)
        return self._edits[max(at - 1, 0) : at + 2]

    def plan(self) -> DocumentPlan:
        """Drop proposals of which an edit makes a change that is not accepted, until none is."""
        accepted = self._accepted
        while True:
            changes = {
                identity(change): change
                for proposal in accepted
                for change in proposal.changes_of_document
            }
            complete = [
                proposal
                for proposal in accepted
                if all(made in changes for made in self._placements.changes_made_with(proposal))
            ]
            if len(complete) == len(accepted):
                break
            accepted = complete
        edits = {edit for proposal in accepted for edit in self._placements.edits_of(proposal)}
        return DocumentPlan(tuple(accepted), tuple(changes.values()), tuple(sorted(edits)))
