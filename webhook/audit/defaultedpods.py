"""
Pods that have default constraints, by the profile that their provenance annotation names.

``count_defaulted`` is the entry point. Any client can write the annotation, so profiles that do not
exist are left out. Constraints are identified by topology key: a pod has no constraint of its own
with the key of a default.
"""

from collections.abc import Collection, Iterable

import msgspec

from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION, Provenance, read_provenance
from webhook.policy.model import DO_NOT_SCHEDULE


class DefaultedPods(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The pods of a workload that have the defaults of a profile.

    Attributes:
        profile: The profile.
        pods: Running and pending pods.
        awaiting: Pending pods with a hard default, of which kube-scheduler reports that nodes did
            not match their constraints.
        uneven: Whether the skew of the workload over the topology key of a default exceeds maxSkew,
            as they are or as they are counted.
    """

    profile: str
    pods: int
    awaiting: int = 0
    uneven: bool = False


def count_defaulted(
    running: Iterable[RunningPods], profiles: Collection[str], uneven_keys: Collection[str]
) -> tuple[DefaultedPods, ...]:
    """
    Count the pods of a workload that have defaults.

    Args:
        running: Its pods.
        profiles: The names of the profiles that exist.
        uneven_keys: The topology keys over which it is uneven.

    Returns:
        One entry for each profile, by name.
    """
    found: dict[str, DefaultedPods] = {}
    for group in running:
        written = _find_provenance(group)
        if written is None or written.profile not in profiles:
            continue
        before = found.get(written.profile) or DefaultedPods(profile=written.profile, pods=0)
        awaits = group.awaits_spread and _has_hard_default(group, written)
        found[written.profile] = DefaultedPods(
            profile=written.profile,
            pods=before.pods + group.number,
            awaiting=before.awaiting + (group.number if awaits else 0),
            uneven=before.uneven or any(key in uneven_keys for key in written.keys),
        )
    return tuple(found[name] for name in sorted(found))


def _find_provenance(group: RunningPods) -> Provenance | None:
    metadata = group.pod.metadata
    annotation = metadata.annotations.get(DEFAULTS_ANNOTATION) if metadata else None
    return read_provenance(annotation) if annotation else None


def _has_hard_default(group: RunningPods, written: Provenance) -> bool:
    return any(
        constraint.topology_key in written.keys and constraint.when_unsatisfiable == DO_NOT_SCHEDULE
        for constraint in group.pod.constraints
    )
