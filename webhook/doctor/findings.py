"""Findings of checks and results of checks, as values."""

from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """The result of a check in one word."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing, and possibly intended."""
    PROBLEM = "problem"
    """Something fails now, or fails when it is needed; the exit code becomes 1."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class DoctorFinding:
    """
    One deviation from a healthy installation.

    Attributes:
        message: What deviates, a sentence without its full stop.
        advice: What to do, with the command if there is one.
        severity: PROBLEM or NOTE.
    """

    message: str
    advice: str
    severity: CheckState = CheckState.PROBLEM


@dataclass(frozen=True)
class CheckResult:
    """
    The result of one check.

    Attributes:
        unreadable: What the check could not read, and the right that this needs.
    """

    id: str
    title: str
    findings: tuple[DoctorFinding, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def state(self) -> CheckState:
        """The worst of: problem, unknown, note, ok."""
        if any(finding.severity is CheckState.PROBLEM for finding in self.findings):
            return CheckState.PROBLEM
        if self.unreadable:
            return CheckState.UNKNOWN
        return CheckState.NOTE if self.findings else CheckState.OK
