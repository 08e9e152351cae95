"""The topology key whose domains a pod is ranked in; use ``ranking_key``."""

from collections.abc import Sequence
from typing import Protocol

from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME


class SpreadTerm(Protocol):
    """The part of a topology spread constraint that decides where a pod is ranked."""

    @property
    def topology_key(self) -> str:
        """The node label whose values are the domains."""
        ...

    @property
    def when_unsatisfiable(self) -> str:
        """DoNotSchedule or ScheduleAnyway."""
        ...


def ranking_key(constraints: Sequence[SpreadTerm]) -> str:
    """
    Choose the topology key whose domains a pod is ranked in.

    It is that of the first hard constraint on a key other than ``kubernetes.io/hostname``, else of
    the first hard constraint, else of the first; empty without a constraint. Most domains of the
    hostname hold one pod of a workload, so ranks within them would say nothing.
    """
    hard = [item.topology_key for item in constraints if item.when_unsatisfiable == DO_NOT_SCHEDULE]
    above_nodes = [key for key in hard if key != HOSTNAME]
    listed = above_nodes or hard or [item.topology_key for item in constraints]
    return listed[0] if listed else ""
