"""
Which pods an admission policy of a profile is for: the first profile that fits a pod applies.

Each profile becomes a policy of its own, and API servers evaluate all policies. ``find_precedence``
writes the condition under which an earlier profile takes a pod from a later one.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from webhook.export import cel
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, Profile
from webhook.policy.kinds import BUILT_IN_OWNERS, KindRow
from webhook.policy.selectors import SELECT_ALL

CONTROLLERS = "object.metadata.?ownerReferences.orValue([])"
_SCHEDULER = f"object.spec.?schedulerName.orValue({cel.text(DEFAULT_SCHEDULER)})"


class Precedence(NamedTuple):
    """
    Effect of the earlier profiles on the pods of a profile.

    Attributes:
        conditions: CEL; an earlier profile applies to the pod if any of them is true.
        hidden_by: The earlier profile that fits all pods of the profile; empty if none does.
    """

    conditions: tuple[str, ...] = ()
    hidden_by: str = ""


def find_precedence(profile: Profile, earlier: Sequence[Profile]) -> Precedence:
    """Compare a profile with those before it."""
    conditions: list[str] = []
    for other in earlier:
        found = _find_conditions(other, profile)
        if found == ():
            return Precedence(hidden_by=other.name)
        if found is not None:
            conditions.append(cel.all_of(found))
    return Precedence(tuple(conditions))


def controller_rows(profile: Profile) -> tuple[KindRow, ...]:
    """List the controllers of a profile's pods whose selector kube-scheduler uses."""
    kinds = profile.owner_kinds
    return tuple(row for row in BUILT_IN_OWNERS if kinds is None or row.kind in kinds)


def scheduled_by(names: Iterable[str]) -> str:
    """Write that one of these schedulers is responsible for the pod."""
    return f"{_SCHEDULER} in {cel.texts(sorted(names))}"


def controlled_by(rows: Iterable[KindRow]) -> str:
    """Write that an object of one of these kinds controls the pod."""
    kinds = sorted(f"{row.api_version}/{row.kind}" for row in rows)
    return (
        f"{CONTROLLERS}.exists(owner, owner.?controller.orValue(false) && "
        f'owner.apiVersion + "/" + owner.kind in {cel.texts(kinds)})'
    )


def _find_conditions(earlier: Profile, profile: Profile) -> tuple[str, ...] | None:
    """
    Find the conditions under which an earlier profile fits a pod of a profile.

    Returns:
        None if it fits none of them, no condition if it fits all.
    """
    rows, shared = controller_rows(profile), controller_rows(earlier)
    common = tuple(row for row in rows if row in shared)
    schedulers = profile.scheduler_names & earlier.scheduler_names
    if not common or not schedulers:
        return None
    conditions: list[str] = []
    if schedulers != profile.scheduler_names:
        conditions.append(scheduled_by(schedulers))
    if common != rows:
        conditions.append(controlled_by(common))
    conditions.extend(_match_labels(earlier, profile))
    return tuple(conditions)


def _match_labels(earlier: Profile, profile: Profile) -> Iterator[str]:
    """Write the conditions on labels that do not hold for all pods of the profile anyway."""
    selectors = (
        (earlier.namespace_selector, profile.namespace_selector, cel.LABELS_OF_NAMESPACE),
        (earlier.object_selector, profile.object_selector, cel.LABELS_OF_POD),
    )
    for selector, implied, labels in selectors:
        if selector is not None and selector not in (SELECT_ALL, implied):
            yield from cel.matches(selector, labels)
