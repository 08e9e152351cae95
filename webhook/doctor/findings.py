"""What checks find, as values."""

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How much a finding weighs."""

    PROBLEM = "problem"
    """Something does not work, or will not when it is needed; the exit code becomes 1."""
    NOTE = "note"
    """To be known, and perhaps as it is meant to be."""


class Finding(NamedTuple):
    """
    One thing that is not as it should be.

    Attributes:
        says: What, a sentence without its full stop.
        advice: What to do, with the command if there is one.
    """

    says: str
    advice: str
    severity: Severity = Severity.PROBLEM


class State(StrEnum):
    """What came of a check, in one word."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


class Result(NamedTuple):
    """
    What came of one check.

    Attributes:
        unseen: What could not be looked at, and which right that needs.
    """

    id: str
    title: str
    findings: tuple[Finding, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """A problem before what is not known, that before a note."""
        if any(each.severity is Severity.PROBLEM for each in self.findings):
            return State.PROBLEM
        if self.unseen:
            return State.UNKNOWN
        return State.NOTE if self.findings else State.OK
