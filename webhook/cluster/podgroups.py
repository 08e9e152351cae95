"""
Decode PodGroups with ``decode_pod_group``.

Source: k8s.io/api scheduling v1alpha2, v1alpha3 and v1beta1 types.go ``PodGroupSpec``, whose fields
are the same as far as they are read.
"""

import msgspec

from webhook.cluster import wire
from webhook.policy.advice.podgroups import PodGroup


class _TopologyConstraint(msgspec.Struct, frozen=True, gc=False):
    """A topology in one domain of which all pods run; None is the same as absent."""

    key: str | None = None


class _SchedulingConstraints(msgspec.Struct, frozen=True, gc=False):
    """The constraints of a PodGroup."""

    topology: tuple[_TopologyConstraint | None, ...] | None = None


class _SchedulingPolicy(msgspec.Struct, frozen=True, gc=False):
    """The policy of a PodGroup: ``basic`` or ``gang``, of which only the presence is read."""

    basic: dict[str, object] | None = None


class _PodGroupSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The specification of a PodGroup."""

    scheduling_policy: _SchedulingPolicy | None = None
    scheduling_constraints: _SchedulingConstraints | None = None


class PodGroupObject(wire.NamedObject, frozen=True, gc=False):
    """A PodGroup, scheduling.k8s.io."""

    spec: _PodGroupSpec | None = None


_decode = msgspec.json.Decoder(PodGroupObject).decode


def decode_pod_group(data: bytes | msgspec.Raw) -> PodGroup:
    """
    Decode a PodGroup.

    Raises:
        msgspec.DecodeError: A value has the wrong type.
    """
    found = _decode(data)
    spec = found.spec or _PodGroupSpec()
    policy = spec.scheduling_policy or _SchedulingPolicy()
    constraints = spec.scheduling_constraints or _SchedulingConstraints()
    keys = (item.key for item in constraints.topology or () if item is not None)
    return PodGroup(
        namespace=found.namespace,
        name=found.name,
        keys=tuple(key for key in keys if key),
        gang=policy.basic is None,
    )
