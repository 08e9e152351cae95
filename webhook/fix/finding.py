"""One finding with the object it is about, as remedies read it."""

from dataclasses import dataclass
from typing import Any

from webhook.audit.report import AuditFinding
from webhook.manifests.yaml import load
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.api.schema import DUPLICATE_FIELD, UNKNOWN_FIELD, StrictFinding
from webhook.policy.model import Constraint
from webhook.policy.paths import FieldPath, constraints_path, find_value, parse_path

ABSENT = object()  # the value of a field that is not written; null is a value


@dataclass(frozen=True)
class FindingContext:
    """
    A finding and its object.

    Attributes:
        value: The object as it is written; immutable.
        subject: The object as rules read it.
        grounds: The policy and the cluster.
        strict_findings: The unknown and duplicate fields of the object.
        is_refused: Whether the object breaks an API rule.
    """

    finding: AuditFinding
    value: Any
    subject: Subject
    grounds: AdviceContext
    strict_findings: tuple[StrictFinding, ...] = ()
    is_refused: bool = False

    @property
    def strict(self) -> StrictFinding | None:
        """The unknown or duplicate field that the finding is about; None for other findings."""
        found = (one for one in self.strict_findings if one.rule == self.finding.rule)
        return next((one for one in found if one.field == self.finding.field), None)

    def find_misspelled(self, path: FieldPath) -> StrictFinding | None:
        """Find the misspelled or misplaced field that has the value of the field at a path."""
        if self.finding.rule == UNKNOWN_FIELD:
            return None
        hidden = (
            one for one in self.strict_findings if one.meant and self.written(one.meant) is ABSENT
        )
        return next((one for one in hidden if _overlap(path, one.meant)), None)

    def is_duplicate(self, path: FieldPath) -> bool:
        """Whether a field is written several times, so that the intended value is not known."""
        return any(one.rule == DUPLICATE_FIELD and one.path == path for one in self.strict_findings)

    @property
    def path(self) -> FieldPath:
        """From the object to the field of the finding."""
        return parse_path(self.finding.field)

    @property
    def list_path(self) -> FieldPath:
        """From the object to its constraints."""
        return constraints_path(self.subject.path)

    @property
    def entry(self) -> FieldPath:
        """From the object to the constraint that the finding is about."""
        return self.path[: len(self.list_path) + 1]

    @property
    def entry_index(self) -> int:
        """The index of that constraint in the list."""
        index = self.entry[-1]
        assert isinstance(index, int), "the finding is about one constraint"
        return index

    @property
    def constraint(self) -> Constraint:
        """That constraint as rules read it."""
        return self.subject.pod.constraints[self.entry_index]

    def written(self, path: FieldPath) -> Any:
        """Return the value at a path in the object, or ``ABSENT``."""
        return find_value(self.value, path, ABSENT)

    @property
    def instead(self) -> tuple[tuple[FieldPath, Any], ...]:
        """The paths and values that the finding proposes; empty if it proposes no value."""
        if self.finding.instead.startswith("#"):
            return ()
        members: dict[str, Any] = load(self.finding.instead, self.finding.rule, 1)
        path = self.path
        # The field is the list, or a constraint or a member of it; others of it may be proposed.
        parent = path[:-1] if path[-1] in members else self.entry
        return tuple(((*parent, name), value) for name, value in members.items())


def _overlap(one: FieldPath, other: FieldPath) -> bool:
    """Whether two paths lead to the same value, or one to a part of the other's."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
