"""
Decode autoscalers: HorizontalPodAutoscalers of every version, and ScaledObjects of KEDA.

``decode_autoscaler`` is the entry point. Metrics and triggers are not decoded, nor is the speed of
scaling.

Source: k8s.io/api autoscaling/v1 and v2 types.go; KEDA apis/keda/v1alpha1/scaledobject_types.go.
"""

from collections.abc import Mapping

import msgspec

from webhook.cluster import wire
from webhook.policy.advice.scaling import Autoscaler
from webhook.policy.kinds import SCALED_OBJECT
from webhook.policy.model import GroupKind, group_of

HPA_LEAST = 1  # minReplicas, if absent
KEDA_LEAST = 0  # minReplicaCount, if absent
KEDA_MOST = 100  # maxReplicaCount, if absent
PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas"
PAUSED = "autoscaling.keda.sh/paused"
_FALSE = frozenset({"0", "f", "F", "false", "False", "FALSE"})  # of Go's strconv.ParseBool
DISABLED = "Disabled"  # selectPolicy that turns scaling in a direction off
_KEDA_TARGET = ("apps/v1", "Deployment")  # of a scaleTargetRef that names no kind


class ScaleTarget(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The workload that an autoscaler scales; None is the same as absent."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None


class ScalingRules(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How an autoscaler scales in one direction."""

    select_policy: str | None = None


class ScalerBehavior(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How an autoscaler scales; the direction up is not decoded."""

    scale_down: ScalingRules | None = None


class ScalerConfig(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of a ScaledObject that KEDA writes into its HorizontalPodAutoscaler."""

    behavior: ScalerBehavior | None = None


class ScalerOptions(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The ``advanced`` member of a ScaledObject."""

    horizontal_pod_autoscaler_config: ScalerConfig | None = None


class ScalerSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The specification of an autoscaler of either kind; None is the same as absent."""

    scale_target_ref: ScaleTarget | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    min_replica_count: int | None = None
    max_replica_count: int | None = None
    idle_replica_count: int | None = None
    behavior: ScalerBehavior | None = None
    advanced: ScalerOptions | None = None

    @property
    def scales_down(self) -> bool:
        """Whether the autoscaler, or the one that KEDA creates, removes single pods."""
        config = self.advanced and self.advanced.horizontal_pod_autoscaler_config
        behavior = self.behavior or (config and config.behavior)
        down = behavior and behavior.scale_down
        return not (down and down.select_policy == DISABLED)


class ScalerMetadata(wire.NameMetadata, frozen=True, gc=False):
    """The metadata of an autoscaler."""

    annotations: wire.Pairs = None


class ScalerObject(wire.NamedObject, frozen=True, gc=False):
    """An autoscaler of either kind."""

    metadata: ScalerMetadata | None = None
    spec: ScalerSpec | None = None

    @property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations."""
        return (self.metadata and wire.without_nulls(self.metadata.annotations)) or {}


_decode = msgspec.json.Decoder(ScalerObject).decode


def decode_autoscaler(kind: GroupKind, data: bytes | msgspec.Raw) -> Autoscaler | None:
    """
    Decode an autoscaler.

    Returns:
        None if it names no target, if a HorizontalPodAutoscaler has no maxReplicas, or if a
        ScaledObject is paused at the number that its workload has.

    Raises:
        msgspec.DecodeError: A value has the wrong type.
    """
    return to_autoscaler(kind, _decode(data))


def to_autoscaler(kind: GroupKind, found: ScalerObject) -> Autoscaler | None:
    """Return an autoscaler as a value; the result is that of ``decode_autoscaler``."""
    spec = found.spec or ScalerSpec()
    target = spec.scale_target_ref or ScaleTarget()
    is_keda = kind == SCALED_OBJECT
    version, name = _KEDA_TARGET if is_keda else ("", "")
    least, most = _read_keda_range(found, spec) if is_keda else _read_range(spec)
    if not target.name or most is None:
        return None
    return Autoscaler(
        kind=kind,
        namespace=found.namespace,
        name=found.name,
        target=GroupKind(group_of(target.api_version or version), target.kind or name),
        target_name=target.name,
        least=least,
        most=most,
        scales_down=spec.scales_down,
    )


def _read_range(spec: ScalerSpec) -> tuple[int, int | None]:
    return HPA_LEAST if spec.min_replicas is None else spec.min_replicas, spec.max_replicas


def _read_keda_range(found: ScalerObject, spec: ScalerSpec) -> tuple[int, int | None]:
    """
    Read the range, which begins at idleReplicaCount if there is one; a paused one has one number.

    Source: KEDA apis/keda/v1alpha1/scaledobject_types.go ``NeedToBePausedByAnnotation``.
    """
    paused = found.annotations.get(PAUSED_REPLICAS)
    if paused is not None:
        held = int(paused) if paused.isascii() and paused.isdigit() else None
        return held or 0, held
    if found.annotations.get(PAUSED, "false") not in _FALSE:
        return KEDA_LEAST, None
    numbers = (spec.idle_replica_count, spec.min_replica_count, KEDA_LEAST)
    least = next(number for number in numbers if number is not None)
    return least, KEDA_MOST if spec.max_replica_count is None else spec.max_replica_count
