"""
Rule TSC108: volumes that hold the pods of a StatefulSet in zones which a hard constraint rules out.

``volumes_keep_pods`` serves TSC114, which reports pods that already run more unevenly than a
constraint allows, ``list_zonal_classes`` TSC119, which reports that they cannot be replaced, and
``volumes_return`` TSC117, which then suggests no label of a revision.

A volume of a zone pins its pod to that zone for as long as its claim exists. Which zone that is
depends on the StorageClass. ``Immediate`` creates the volume before the pod is placed, in a zone of
the provisioner's choice. ``WaitForFirstConsumer`` creates it where the pod is placed first, which
the constraint allows at that moment.

Source: k8s.io/api storage/v1 types.go ``StorageClass``; kube-scheduler plugins/volumebinding.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.countedgroups import count_together
from webhook.policy.advice.counting import hard_constraints
from webhook.policy.advice.findings import RuleViolation, join_names, quote_value
from webhook.policy.advice.repeats import suggest_soft
from webhook.policy.advice.storage import IMMEDIATE, StorageClass, find_default_class
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import BETA_ZONE, DO_NOT_SCHEDULE, ZONE, Constraint
from webhook.policy.placement.spreads import SpreadConstraint

ZONES = frozenset({ZONE, BETA_ZONE})  # labels of volumes, too


class _Zones(msgspec.Struct, frozen=True):
    """
    Zones of a constraint.

    Attributes:
        counted: Those that count.
        reached: Those among them that the pods can reach.
        closed: Number of zones that count again once their nodes are ready, and not cordoned.
    """

    counted: frozenset[str]
    reached: frozenset[str]
    closed: int = 0


def volumes_can_follow(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC108: a pod cannot leave the zone of its volume, and DoNotSchedule may rule that zone out.

    Silent if every zone takes as many pods as any other, or none more than maxSkew: then a pod
    always fits where it was placed first. While zones are closed for now, and do not count, the
    volumes of all pods are created in the others.
    """
    cluster = context.cluster
    if cluster is None or subject.kind != STATEFUL_SET or not subject.claims:
        return
    if subject.is_alone or subject.is_bound:
        return
    for spread in hard_constraints(subject, context):
        if spread.topology_key in ZONES:
            yield from _judge(spread, subject, cluster)


def volumes_keep_pods(subject: Subject, key: str, cluster: ClusterState) -> bool:
    """
    Whether volumes keep the pods of a StatefulSet in their domains of a key, also after a restart.

    That is so for zones and regions, unless all volumes are known to belong to no zone.
    """
    is_location = key.rpartition("/")[2] in ("zone", "region")
    return is_location and _volumes_last(subject, cluster.storage_classes)


def volumes_limit_nodes(subject: Subject, cluster: ClusterState) -> bool:
    """Whether volumes may limit pods that are replaced to the nodes of one of several zones."""
    zones = (cluster.lasting_domains(key, (key,), subject.demands).sizes for key in ZONES)
    return max(map(len, zones)) > 1 and _volumes_last(subject, cluster.storage_classes)


def volumes_return(constraint: Constraint, subject: Subject, cluster: ClusterState | None) -> bool:
    """
    Whether a hard constraint may keep the pods of a StatefulSet from their volumes.

    That is so for every topology key: also the nodes of one zone may all have too many pods. Unless
    all volumes are known to belong to no zone, they may keep the pods in one.
    """
    is_hard = constraint.when_unsatisfiable == DO_NOT_SCHEDULE
    return is_hard and _volumes_last(subject, cluster.storage_classes if cluster else {})


def _volumes_last(subject: Subject, classes: Mapping[str, StorageClass]) -> bool:
    """Whether replaced pods get their volumes again, which may belong to a zone."""
    if subject.kind.kind != STATEFUL_SET.kind or not subject.claims:  # also that of OpenKruise
        return False
    return bool(_list_zonal(subject, classes))


def list_zonal_classes(subject: Subject, cluster: ClusterState) -> list[StorageClass]:
    """List the known classes of the claims of a StatefulSet whose volumes belong to a zone."""
    zonal = _list_zonal(subject, cluster.storage_classes) if subject.claims else []
    return [found for found in zonal if found is not None]


def _judge(
    spread: SpreadConstraint, subject: Subject, cluster: ClusterState
) -> Iterator[RuleViolation]:
    """Yield the most certain of the three violations that the volumes of a pod may cause."""
    zones = _find_zones(spread, subject, cluster)
    zonal = _list_zonal(subject, cluster.storage_classes)
    known = list_zonal_classes(subject, cluster)
    if not zonal or (cluster.topology.nodes and len(zones.counted) <= 1):
        return  # shared storage, or a cluster without several zones
    early = next((found for found in known if found.binding_mode == IMMEDIATE), None)
    if early is not None:
        yield _report_early_volume(early, spread, subject, zones)
        return
    narrow = (found for found in known if _is_narrow(found, spread, subject, zones))
    if (found := next(narrow, None)) is not None:
        yield _report_narrow_class(found, spread, subject, zones)
        return
    for state in (zones, _leave_out_closed(zones, spread, subject, cluster)):
        if replicas := _find_uneven(spread, subject, state):
            yield _report_uneven(replicas, known, spread, subject, state)
            return


def _find_zones(spread: SpreadConstraint, subject: Subject, cluster: ClusterState) -> _Zones:
    key, demands = spread.topology_key, subject.demands
    counted = cluster.lasting_domains(key, (key,), spread.counting(demands)).sizes
    reached = cluster.lasting_domains(key, (key,), demands).sizes
    return _Zones(frozenset(counted), frozenset(counted) & frozenset(reached))


def _leave_out_closed(
    zones: _Zones, spread: SpreadConstraint, subject: Subject, cluster: ClusterState
) -> _Zones:
    """Leave out the zones that do not count now, unless pods run: their volumes exist already."""
    if any(group.placed for group in subject.running):
        return zones
    key = spread.topology_key
    counted = cluster.topology.domains(key, (key,), spread.counting(subject.demands)).sizes
    closed = len(zones.counted.difference(counted))
    return _Zones(zones.counted & counted.keys(), zones.reached & counted.keys(), closed)


def _list_zonal(subject: Subject, classes: Mapping[str, StorageClass]) -> list[StorageClass | None]:
    """List the classes of claims whose volumes may belong to a zone; None for an unknown one."""
    found = _list_classes(subject, classes)
    return [one for one in found if one is None or not one.is_shared]


def _list_classes(
    subject: Subject, classes: Mapping[str, StorageClass]
) -> Iterator[StorageClass | None]:
    """
    Yield the class of each claim; None if it is unknown.

    A claim with the empty class is bound to a volume that exists already, of an unknown zone.
    """
    for name in subject.claim_classes or ("",):
        yield find_default_class(classes.values()) if name is None else classes.get(name)


def _report_early_volume(
    found: StorageClass, spread: SpreadConstraint, subject: Subject, zones: _Zones
) -> RuleViolation:
    return RuleViolation(
        subject.field(spread.index, "whenUnsatisfiable"),
        f"StorageClass {quote_value(found.name)} binds volumes Immediate: each volume is created "
        "before its pod is placed, in a zone that the constraint does not choose, and the pod "
        f"must run there; where {DO_NOT_SCHEDULE} on {spread.topology_key} requires another zone, "
        "the pod stays Pending",
        "# use a StorageClass with volumeBindingMode: WaitForFirstConsumer, which creates the "
        f"volume where the pod is placed{_add_evenness(spread, subject, zones)}",
        f"volumes of StorageClass {found.name} choose a zone before {DO_NOT_SCHEDULE} does",
    )


def _is_narrow(
    found: StorageClass, spread: SpreadConstraint, subject: Subject, zones: _Zones
) -> bool:
    """Whether the class has no volumes in some zones that count, so that these stay empty."""
    allowed = zones.counted.intersection(found.zones or ())
    most = count_together(spread.constraint, subject) or 0
    return bool(allowed) and allowed != zones.counted and most > len(allowed) * spread.max_skew


def _report_narrow_class(
    found: StorageClass, spread: SpreadConstraint, subject: Subject, zones: _Zones
) -> RuleViolation:
    left = zones.counted.intersection(found.zones or ())
    allowed, empty = sorted(left), sorted(zones.counted.difference(left))
    return RuleViolation(
        subject.field(spread.index, "whenUnsatisfiable"),
        f"StorageClass {quote_value(found.name)} has volumes only in {join_names(allowed)} "
        f"(allowedTopologies), but {join_names(empty)} count as well and stay empty: every other "
        f"zone takes {spread.max_skew} at most, and the other pods stay Pending",
        "# require the zones of the StorageClass by node affinity, so that only they count"
        f"{_add_evenness(spread, subject, _Zones(left, zones.reached & left))}",
        f"StorageClass {found.name} has no volumes in {join_names(empty)}, counted as empty",
    )


def _add_evenness(spread: SpreadConstraint, subject: Subject, zones: _Zones) -> str:
    """
    Add to a suggestion what else to change if zones then still fill unevenly; else empty.

    Zones that the pods cannot reach do not count any more once TSC105 or TSC116 is satisfied.
    """
    replicas = _find_uneven(spread, subject, _Zones(zones.reached, zones.reached))
    if not replicas:
        return ""
    soft = suggest_soft(spread.constraint, subject)
    remedy = soft.removeprefix("# ").replace("\n", " and ")
    return (
        f"; since {replicas} replicas over {len(zones.reached)} zones put more than maxSkew "
        f"{spread.max_skew} into one, also {'' if soft.startswith('#') else 'write '}{remedy}"
    )


def _find_uneven(spread: SpreadConstraint, subject: Subject, zones: _Zones) -> int:
    """
    Find a number of replicas with which some zones have one pod more than others.

    Returns:
        0 if there is none, or if no zone ever takes more than maxSkew pods: because of their
        number, or because the minimum is 0, by minDomains or a zone that they cannot reach. A pod
        then fits into its zone even while all others are empty.
    """
    most, number = count_together(spread.constraint, subject), len(zones.reached)
    if number <= 1 or most is None:
        return 0
    if number < max(len(zones.counted), spread.min_domains):
        return 0
    least = subject.scaling.least if subject.scaling else most
    numbers = range(max(least, number * spread.max_skew + 1), most + 1)
    return next((one for one in numbers if one % number or zones.closed), 0)


def _report_uneven(
    replicas: int,
    known: Iterable[StorageClass],
    spread: SpreadConstraint,
    subject: Subject,
    zones: _Zones,
) -> RuleViolation:
    names = join_names([quote_value(found.name) for found in known])
    whose = f"of StorageClass {names} " if names else ""
    zonal = "" if names else ", if they belong to a zone"
    number = len(zones.reached)
    meanwhile = ", while the others are closed for now," if zones.closed else ""
    filled = (
        f"{number} of {number + zones.closed} zones" if zones.closed else f"{number} zones unevenly"
    )
    return RuleViolation(
        subject.field(spread.index, "whenUnsatisfiable"),
        f"the volumes {whose}stay in the zone where their pod was placed first{zonal}: "
        f"{replicas} replicas over {number} zones{meanwhile} put more than maxSkew "
        f"{spread.max_skew} into one, and a pod of that zone cannot return to its volume while "
        "another zone lacks a pod, or after a zone is added; it stays Pending",
        suggest_soft(spread.constraint, subject),
        f"{replicas} replicas fill {filled}, and volumes pin them",
    )
