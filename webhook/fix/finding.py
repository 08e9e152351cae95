"""One finding with the object it is about, as remedies read it."""

from dataclasses import dataclass
from typing import Any

from webhook.audit.report import AuditFinding
from webhook.manifests.yaml import load
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.model import Constraint
from webhook.policy.paths import CONSTRAINTS_IN_POD, FieldPath, find_value, parse_path

ABSENT = object()  # the value of a field that is not written; null is a value


@dataclass(frozen=True)
class FindingContext:
    """
    A finding and its object.

    Attributes:
        value: The object as it is written; immutable.
        subject: The object as rules read it.
        grounds: The policy and the cluster.
    """

    finding: AuditFinding
    value: Any
    subject: Subject
    grounds: AdviceContext

    @property
    def path(self) -> FieldPath:
        """From the object to the field of the finding."""
        return parse_path(self.finding.field)

    @property
    def list_path(self) -> FieldPath:
        """From the object to its constraints."""
        return (*self.subject.path, *CONSTRAINTS_IN_POD)

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
    def instead(self) -> tuple[FieldPath, Any] | None:
        """The path and the value that the finding proposes; None if it proposes no value."""
        if self.finding.instead.startswith("#"):
            return None
        ((name, value),) = load(self.finding.instead, self.finding.rule, 1).items()
        path = self.path
        return (path if path[-1:] == (name,) else (*path, name)), value
