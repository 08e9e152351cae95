"""What checks find, as values."""

from enum import StrEnum
from typing import NamedTuple


class DoctorSeverity(StrEnum):
    """How much a finding weighs."""

    PROBLEM = "problem"
    """Something does not work, or will not when it is needed; the exit code becomes 1."""
    NOTE = "note"
    """To be known, and perhaps as it is meant to be."""


class DoctorFinding(NamedTuple):
    """
    One thing that is not as it should be.

    Attributes:
        says: What, a sentence without its full stop.
        advice: What to do, with the command if there is one.
    """

    says: str
    advice: str
    severity: DoctorSeverity = DoctorSeverity.PROBLEM


class CheckState(StrEnum):
    """What came of a check, in one word."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


class CheckResult(NamedTuple):
    """
    What came of one check.

    Attributes:
        unseen: What could not be looked at, and which right that needs.
    """

    id: str
    title: str
    findings: tuple[DoctorFinding, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def state(self) -> CheckState:
        """A problem before what is not known, that before a note."""
        if any(each.severity is DoctorSeverity.PROBLEM for each in self.findings):
            return CheckState.PROBLEM
        if self.unseen:
            return CheckState.UNKNOWN
        return CheckState.NOTE if self.findings else CheckState.OK
