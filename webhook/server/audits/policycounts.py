"""
What an audit counts of each profile, for the status of SpreadPolicies.

``PolicyTally`` adds up the reports of an audit. A profile is counted only by an audit that knows
all namespaces; otherwise its numbers would be too small.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from webhook.audit.report import AuditReport
from webhook.policy.defaulting.policystatus import PolicyCounts


class PolicyTally:
    """The pods and workloads of the profiles of one audit."""

    def __init__(self) -> None:
        """Start without a report."""
        self._pods = Counter[str]()
        self._uneven = Counter[str]()
        self._awaiting = Counter[str]()

    def add(self, report: AuditReport) -> None:
        """Add a report; it holds all workloads of its namespaces."""
        for workload in report.workloads:
            for found in workload.defaulted:
                self._pods[found.profile] += found.pods
                self._awaiting[found.profile] += found.awaiting
                self._uneven[found.profile] += found.uneven

    def counts(self, profiles: Iterable[str], *, complete: bool) -> Mapping[str, PolicyCounts]:
        """
        Give the counts by the name of the profile.

        Args:
            profiles: The names of the profiles that the audit knew; one without pods counts 0.
            complete: Whether no namespace was left out; otherwise no number is known.
        """
        return {name: self._count(name) if complete else PolicyCounts() for name in profiles}

    def _count(self, name: str) -> PolicyCounts:
        return PolicyCounts(self._pods[name], self._uneven[name], self._awaiting[name])
