"""Which of the changes proposed for a document can be made together, and by which edits."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, starmap
from typing import NamedTuple

from webhook.audit.report import AuditFinding
from webhook.fix.changes import Change, FixObstacle, Identity, conflict, identity
from webhook.fix.evaluate import EvaluatedObject
from webhook.fix.locate import Placement, locate_change
from webhook.manifests.edits import TextEdit, overlap
from webhook.manifests.tree import Tree
from webhook.policy.paths import FieldPath

ALIASED_ELSEWHERE = FixObstacle(
    "an alias stands for the same text elsewhere, where it is to stay as it is"
)
CONFLICTING = FixObstacle("it conflicts with another change")


class Proposal(NamedTuple):
    """
    What would fix a finding.

    Attributes:
        changes: With paths from the object; at least one.
        wrote: The same in words.
    """

    judged: EvaluatedObject
    finding: AuditFinding
    changes: tuple[Change, ...]
    wrote: str

    @property
    def changes_of_document(self) -> tuple[Change, ...]:
        """The changes with paths from the document that holds the object."""
        at: FieldPath = self.judged.document.path
        return tuple(each._replace(path=(*at, *each.path)) for each in self.changes)


class RejectedProposal(NamedTuple):
    """A proposal that cannot be carried out."""

    proposal: Proposal
    obstacle: FixObstacle


class DocumentPlan(NamedTuple):
    """
    What is done to a document.

    Attributes:
        accepted: What is mended by it.
        changes: Of the value of the document.
        edits: Of its text, in order.
        refused: What cannot be done.
    """

    accepted: tuple[Proposal, ...]
    changes: tuple[Change, ...]
    edits: tuple[TextEdit, ...]
    refused: tuple[RejectedProposal, ...]


EMPTY_PLAN = DocumentPlan((), (), (), ())


def plan_document(tree: Tree, proposals: Sequence[Proposal]) -> DocumentPlan:
    """
    Choose what can be done together; what has to wait is in neither list.

    Args:
        tree: The document.
        proposals: For it; at least one is accepted or refused.
    """
    plan = _Plan(tree, proposals)
    choice = _Choice(plan)
    refused: list[RejectedProposal] = []
    for proposal in proposals:
        obstacle = plan.obstacle(proposal)
        if obstacle:
            refused.append(RejectedProposal(proposal, obstacle))
        else:
            choice.takes(proposal)
    settled = choice.settled()
    if not settled.accepted and not refused:
        refused = [RejectedProposal(each, CONFLICTING) for each in proposals]
    return settled._replace(refused=tuple(refused))


class _Plan:
    """Where each change of a document would be made, and who else asks for the same edits."""

    def __init__(self, tree: Tree, proposals: Iterable[Proposal]) -> None:
        changes = [change for each in proposals for change in each.changes_of_document]
        self.placed = {identity(change): locate_change(tree, change) for change in changes}
        self._users: defaultdict[tuple[TextEdit, ...], set[Identity]] = defaultdict(set)
        for change, found in self.placed.items():
            if isinstance(found, Placement):
                self._users[found.edits].add(change)

    def obstacle(self, proposal: Proposal) -> FixObstacle | None:
        """Say what keeps a proposal from being carried out, whatever else is."""
        changes, edits = proposal.changes_of_document, self.edits(proposal)
        if any(starmap(conflict, combinations(changes, 2))) or any(
            starmap(overlap, combinations(edits, 2))
        ):
            return CONFLICTING
        for change in proposal.changes_of_document:
            found = self.placed[identity(change)]
            if isinstance(found, FixObstacle):
                return found
            if len(self._users[found.edits]) < found.places:
                return ALIASED_ELSEWHERE
        return None

    def edits(self, proposal: Proposal) -> list[TextEdit]:
        """The edits of a proposal to which there is no obstacle."""
        found = (self.placed[identity(change)] for change in proposal.changes_of_document)
        return [edit for each in found if isinstance(each, Placement) for edit in each.edits]

    def partners(self, proposal: Proposal) -> Iterator[Identity]:
        """The changes that the edits of a proposal make."""
        for change in proposal.changes_of_document:
            found = self.placed[identity(change)]
            if isinstance(found, Placement):
                yield from self._users[found.edits]


class _Choice:
    """What is accepted, one proposal after the other."""

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan
        self._accepted: list[Proposal] = []
        self._edits: list[TextEdit] = []
        self._changes: defaultdict[FieldPath, list[Change]] = defaultdict(list)  # by object

    def takes(self, proposal: Proposal) -> bool:
        """Accept a proposal, unless it gets into the way of another one."""
        wanted = self._plan.edits(proposal)
        changes = self._changes[proposal.judged.document.path]
        met = any(conflict(one, other) for one in proposal.changes_of_document for other in changes)
        if met or any(self._overlaps(edit) for edit in wanted):
            return False
        self._accepted.append(proposal)
        changes += proposal.changes_of_document
        for edit in wanted:
            if edit not in self._near(edit):
                insort(self._edits, edit)
        return True

    def _overlaps(self, edit: TextEdit) -> bool:
        return any(overlap(edit, each) for each in self._near(edit))

    def _near(self, edit: TextEdit) -> list[TextEdit]:
        """The accepted edits on both sides of one; none of them overlap."""
        at = bisect_left(self._edits, edit)
        return self._edits[max(at - 1, 0) : at + 2]

    def settled(self) -> DocumentPlan:
        """Leave out what is accepted in one place of an alias, and not in another."""
        accepted = self._accepted
        while True:
            changes = {
                identity(change): change for each in accepted for change in each.changes_of_document
            }
            whole = [
                each
                for each in accepted
                if all(partner in changes for partner in self._plan.partners(each))
            ]
            if len(whole) == len(accepted):
                break
            accepted = whole
        edits = sorted({edit for each in accepted for edit in self._plan.edits(each)})
        return DocumentPlan(tuple(accepted), tuple(changes.values()), tuple(edits), ())
