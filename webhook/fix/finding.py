"""One finding as remedies see it: what was found, in which object, and what is known around it."""

from typing import Any, NamedTuple

from webhook.audit.report import AuditFinding
from webhook.manifests.yaml import load
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.model import Constraint
from webhook.policy.paths import CONSTRAINTS_IN_POD, FieldPath, find_value, parse_path

ABSENT = object()
"""What stands where nothing is written; null is something."""


class FindingContext(NamedTuple):
    """
    A finding and its object.

    Attributes:
        value: The object as it is written; not to be changed.
        subject: The same as rules see it.
        grounds: The policy and the cluster.
    """

    finding: AuditFinding
    value: Any
    subject: Subject
    grounds: AdviceContext

    @property
    def path(self) -> FieldPath:
        """Where the finding is, from the object."""
        return parse_path(self.finding.field)

    @property
    def list_path(self) -> FieldPath:
        """Where the constraints stand."""
        return (*self.subject.path, *CONSTRAINTS_IN_POD)

    @property
    def entry(self) -> FieldPath:
        """Where the constraint stands that the finding is about."""
        return self.path[: len(self.list_path) + 1]

    @property
    def entry_index(self) -> int:
        """Its place in the list."""
        index = self.entry[-1]
        assert isinstance(index, int), "the finding is about one constraint"
        return index

    @property
    def constraint(self) -> Constraint:
        """The same as rules see it."""
        return self.subject.pod.constraints[self.entry_index]

    def written(self, path: FieldPath) -> Any:
        """Give what stands somewhere in the object, or ``NOTHING``."""
        return find_value(self.value, path, ABSENT)

    @property
    def instead(self) -> tuple[FieldPath, Any] | None:
        """What the finding says to write, and where; None if that is nothing that can be."""
        if self.finding.instead.startswith("#"):
            return None
        ((name, value),) = load(self.finding.instead, self.finding.rule, 1).items()
        path = self.path
        return (path if path[-1:] == (name,) else (*path, name)), value
