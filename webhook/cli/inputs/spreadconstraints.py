"""
The constraints in force for a pod: its own, or the defaults of kube-scheduler.

Entry point: ``ConstraintResolver.resolve``. What our webhook writes into pods is the subject of
``admitted``.
"""

from msgspec.structs import replace

from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.inject import profile_of
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, SYSTEM_CONSTRAINTS, Policy
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION, recognize_constraints
from webhook.policy.defaulting.selector import derive_scheduler_selector
from webhook.policy.facts import Facts
from webhook.policy.model import Constraint
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.placement.spreads import (
    DefaultConstraints,
    SpreadConstraints,
    resolve_constraints,
)


class ConstraintResolver:
    """Resolves the constraints of pods under one configuration."""

    def __init__(self, policy: Policy, *, replaces: bool) -> None:
        """
        Store the configuration.

        Args:
            replaces: Whether its profiles replace the defaults of kube-scheduler.
        """
        self._policy, self._replaces = policy, replaces

    def resolve(self, pod: SchedulingPod, namespace: str, facts: Facts) -> SpreadConstraints:
        """
        Resolve the constraints of a pod; one without any gets kube-scheduler's defaults.

        Args:
            facts: Those of its namespace, with the controller of the pod.
        """
        derived = derive_scheduler_selector(pod, namespace, facts)
        selector = derived.selector if derived else None
        constraints, is_system = self._find_defaults(pod, namespace, facts)
        defaults = DefaultConstraints(constraints, selector, is_system)
        found = resolve_constraints(pod.constraints, pod.labels, self._policy.gates, defaults)
        annotations = pod.metadata.annotations if pod.metadata else {}
        added = recognize_constraints(annotations.get(DEFAULTS_ANNOTATION), pod.constraints)
        return replace(found, added=frozenset(added)) if added else found

    def _find_defaults(
        self, pod: SchedulingPod, namespace: str, facts: Facts
    ) -> tuple[tuple[Constraint, ...], bool]:
        """Find the defaults of the scheduler of a pod, and whether they are the System ones."""
        if self._replaces:
            profile = profile_of(pod, namespace, self._policy, facts)
            return (profile.constraints, profile.system) if profile else ((), False)
        scheduler = (pod.spec.scheduler_name if pod.spec else "") or DEFAULT_SCHEDULER
        is_known = scheduler in self._policy.scheduler_defaults
        is_system = is_known and Gate.DEFAULT_POD_TOPOLOGY_SPREAD in self._policy.gates
        return (SYSTEM_CONSTRAINTS if is_system else ()), is_system
