"""
Pod affinity and anti-affinity, with the fields that advice needs.

Anti-affinity is the older way to keep pods apart, and counts as spreading. Required affinity binds
pods to other pods; preferred terms of affinity are not decoded.

Source: k8s.io api core/v1 types.go.
"""

import msgspec

from webhook.policy.model import LabelSelector


class PodAffinityTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A term of pod affinity or anti-affinity.

    Attributes:
        label_selector: The other pods; None matches no pod.
        topology_key: The node label that defines what "together" and "apart" mean.
        namespaces: Their namespaces; None or empty for the pod's own, unless others are selected.
        namespace_selector: Further namespaces; None adds none.
        match_label_keys: Keys whose values must be the pod's; None is as empty.
        mismatch_label_keys: Keys whose values must differ from the pod's; None is as empty.

    Source: k8s.io api core/v1 ``PodAffinityTerm``.
    """

    label_selector: LabelSelector | None = None
    topology_key: str | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A preferred term; its weight is not decoded."""

    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The required terms of a pod affinity; None is the same as empty."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None

    @property
    def required(self) -> tuple[PodAffinityTerm, ...]:
        """The required terms."""
        return self.required_during_scheduling_ignored_during_execution or ()


class PodAntiAffinity(PodAffinity, frozen=True, rename="camel", gc=False):
    """The terms of a pod anti-affinity; None is the same as empty."""

    preferred_during_scheduling_ignored_during_execution: (
        tuple[WeightedPodAffinityTerm, ...] | None
    ) = None

    @property
    def terms(self) -> tuple[PodAffinityTerm, ...]:
        """All terms, required or preferred."""
        preferred = self.preferred_during_scheduling_ignored_during_execution or ()
        return (
            *self.required,
            *(term.pod_affinity_term for term in preferred if term.pod_affinity_term),
        )
