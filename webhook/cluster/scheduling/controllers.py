"""
The controllers of pods, as a plan of evictions reads them: ``PodController``.

They show how many pods they keep, and whether a rollout is going to delete some.

Source: kubectl pkg/polymorphichelpers rollout_status.go.
"""

from collections.abc import Mapping

import msgspec

from webhook.cluster.scheduling.podobjects import UniqueMeta
from webhook.policy.nextrevision import find_ordinals
from webhook.policy.podlabels import REVISION_HASH

_ROLLING_UPDATE = "RollingUpdate"  # apps/v1; the default of a StatefulSet


class GenerationMeta(UniqueMeta, frozen=True, rename="camel", gc=False):
    """The metadata of an object whose status shows which generation it is of."""

    generation: int | None = None


class _Partition(msgspec.Struct, frozen=True, gc=False):
    """The number of the first pods of a StatefulSet that a rollout leaves."""

    partition: int | None = None


class _UpdateStrategy(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How a StatefulSet replaces pods of another revision."""

    type: str | None = None
    rolling_update: _Partition | None = None


class _Ordinals(msgspec.Struct, frozen=True, gc=False):
    """The ordinal of the first pod of a StatefulSet."""

    start: int | None = None


class _ControllerSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a controller keeps; ``replicas``: None means 1."""

    replicas: int | None = None
    paused: bool | None = None
    update_strategy: _UpdateStrategy | None = None
    ordinals: _Ordinals | None = None


class _ControllerStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a controller has observed."""

    observed_generation: int | None = None
    replicas: int | None = None
    updated_replicas: int | None = None
    update_revision: str | None = None


class PodController(msgspec.Struct, frozen=True, gc=False):
    """A controller of pods, or of ReplicaSets."""

    metadata: GenerationMeta = GenerationMeta()
    spec: _ControllerSpec | None = None
    status: _ControllerStatus | None = None

    @property
    def is_rolling(self) -> bool:
        """
        Whether a Deployment has pods that its rollout deletes, or has not begun its rollout yet.

        A paused Deployment keeps its pods, and a file without a status shows no rollout.
        """
        spec, status = self.spec or _ControllerSpec(), self.status
        if spec.paused or status is None:
            return False
        generation, observed = self.metadata.generation, status.observed_generation
        is_observed = None in (generation, observed) or generation == observed
        return not is_observed or (status.replicas or 0) > (status.updated_replicas or 0)

    def updates_pod(self, name: str, labels: Mapping[str, str]) -> bool:
        """
        Whether the rollout of a StatefulSet deletes one of its pods.

        Args:
            name: Of the pod; it ends with its ordinal.
            labels: Of the pod.
        """
        spec, status = self.spec or _ControllerSpec(), self.status or _ControllerStatus()
        strategy = spec.update_strategy or _UpdateStrategy()
        if not status.update_revision or strategy.type not in (None, _ROLLING_UPDATE):
            return False
        partition = (strategy.rolling_update or _Partition()).partition or 0
        first = partition + ((spec.ordinals or _Ordinals()).start or 0)
        is_old = labels.get(REVISION_HASH) != status.update_revision
        return is_old and any(ordinal >= first for ordinal in find_ordinals((name,)))
