"""One finding as remedies see it: what was found, in which object, and what is known around it."""

from typing import Any, NamedTuple

from webhook.audit.origins import path_of
from webhook.audit.report import Finding
from webhook.manifests import Path, is_array, is_object
from webhook.manifests.yaml import load
from webhook.policy.advice.grounds import Grounds
from webhook.policy.advice.subject import Subject
from webhook.policy.model import Constraint

NOTHING = object()
"""What stands where nothing is written; null is something."""


class Case(NamedTuple):
    """
    A finding and its object.

    Attributes:
        value: The object as it is written; not to be changed.
        subject: The same as rules see it.
        grounds: The policy and the cluster.
    """

    finding: Finding
    value: Any
    subject: Subject
    grounds: Grounds

    @property
    def path(self) -> Path:
        """Where the finding is, from the object."""
        return path_of(self.finding.field)

    @property
    def list_path(self) -> Path:
        """Where the constraints stand."""
        return (*self.subject.path, "spec", "topologySpreadConstraints")

    @property
    def entry(self) -> Path:
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

    def written(self, path: Path) -> Any:
        """Give what stands somewhere in the object, or ``NOTHING``."""
        value = self.value
        for step in path:
            if is_object(value) and step in value:
                value = value[str(step)]
            elif is_array(value) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return NOTHING
        return value

    @property
    def instead(self) -> tuple[Path, Any] | None:
        """What the finding says to write, and where; None if that is nothing that can be."""
        if self.finding.instead.startswith("#"):
            return None
        ((name, value),) = load(self.finding.instead, self.finding.rule, 1).items()
        path = self.path
        return (path if path[-1:] == (name,) else (*path, name)), value
