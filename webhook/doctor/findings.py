"""Findings of checks and results of checks, as values."""

from dataclasses import dataclass
from enum import StrEnum


class DoctorSeverity(StrEnum):
    """The severity of a finding."""

    PROBLEM = "problem"
    """Something fails now, or fails when it is needed; the exit code becomes 1."""
    NOTE = "note"
    """Worth knowing, and possibly intended."""


@dataclass(frozen=True)
class DoctorFinding:
    """
    One deviation from a healthy installation.

    Attributes:
        message: What deviates, a sentence without its full stop.
        advice: What to do, with the command if there is one.
    """

    message: str
    advice: str
    severity: DoctorSeverity = DoctorSeverity.PROBLEM


class CheckState(StrEnum):
    """The result of a check in one word."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


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
        if any(finding.severity is DoctorSeverity.PROBLEM for finding in self.findings):
            return CheckState.PROBLEM
        if self.unreadable:
            return CheckState.UNKNOWN
        return CheckState.NOTE if self.findings else CheckState.OK
