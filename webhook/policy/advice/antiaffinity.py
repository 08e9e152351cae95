"""
Pod anti-affinity: the older way to keep pods apart, which counts as spreading.

Affinity to other pods is not here: it brings pods together.

Source: k8s.io/api core/v1 types.go.
"""

import msgspec

from webhook.policy.model import LabelSelector


class PodAffinityTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The pods that a pod is to be away from, and how far.

    Attributes:
        label_selector: None matches no pod.
        topology_key: The node label whose values must differ.
        namespaces: Where these pods are; None or empty for the pod's own, unless there is a
            namespace_selector.
        namespace_selector: Further namespaces; None adds none.
        mismatch_label_keys: Labels in which these pods differ from a pod that carries them; None is
            the same as empty.

    Source: k8s.io api core/v1 ``PodAffinityTerm``.
    """

    label_selector: LabelSelector | None = None
    topology_key: str | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A term that is only preferred, by whatever weight."""

    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The terms of a pod affinity that are required; None is the same as empty."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None


class PodAntiAffinity(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The terms of a pod anti-affinity; None is the same as empty."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: (
        tuple[WeightedPodAffinityTerm, ...] | None
    ) = None

    @property
    def terms(self) -> tuple[PodAffinityTerm, ...]:
        """All terms, required or preferred."""
        preferred = self.preferred_during_scheduling_ignored_during_execution or ()
        return (
            *(self.required_during_scheduling_ignored_during_execution or ()),
            *(each.pod_affinity_term for each in preferred if each.pod_affinity_term),
        )
