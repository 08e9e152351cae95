"""
Profiles that can never apply, whatever pods are created.

``find_ineffective`` is the entry point. The first profile that fits a pod applies, so a profile has
no effect if earlier ones fit every pod that it fits. The mode of a profile does not matter: one
that only recommends decides for its pods, too.
"""

from collections.abc import Iterator, Sequence

import msgspec

from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import NAME_LABEL
from webhook.policy.selectorsubsets import PRESENT, is_contradictory, is_subset

_OF_NAMESPACES = {NAME_LABEL: PRESENT}  # the API server gives every Namespace this label


class IneffectiveProfile(msgspec.Struct, frozen=True):
    """
    A profile that applies to no pod.

    Attributes:
        name: The profile.
        earlier: The earlier profiles that together fit all its pods, in order; empty if its own
            selector fits none.
        selector: The field of ``match`` whose requirements exclude each other; otherwise empty.
    """

    name: str
    earlier: tuple[str, ...] = ()
    selector: str = ""

    @property
    def reason(self) -> str:
        """Why it applies to no pod, as a sentence without a subject and without a full stop."""
        if self.selector:
            return f"applies to no pod, as no labels satisfy match.{self.selector}"
        names = " and ".join(repr(name) for name in self.earlier)
        one = len(self.earlier) == 1
        return (
            f"applies to no pod, as {'profile' if one else 'profiles'} {names} before it "
            f"{'fits' if one else 'fit'} every pod that it fits"
        )


def find_ineffective(profiles: Sequence[Profile]) -> Iterator[IneffectiveProfile]:
    """
    Find the profiles that apply to no pod.

    The result is exact for labels, owners and schedulers taken one by one. Profiles that only
    together fit all values of a label are not found.

    Args:
        profiles: In their order.
    """
    for index, profile in enumerate(profiles):
        selector = _find_contradiction(profile)
        earlier = () if selector else _find_covering(profile, profiles[:index])
        if selector or earlier:
            yield IneffectiveProfile(profile.name, earlier, selector)


def _find_contradiction(profile: Profile) -> str:
    if is_contradictory(profile.namespace_selector):
        return "namespaceSelector"
    return "objectSelector" if is_contradictory(profile.object_selector) else ""


def _find_covering(profile: Profile, earlier: Sequence[Profile]) -> tuple[str, ...]:
    """Find earlier profiles that fit its pods of every scheduler and owner; empty if none do."""
    candidates = [one for one in earlier if _selects_all_of(one, profile)]
    found: set[str] = set()
    for scheduler in profile.scheduler_names:
        for owner in profile.owner_kinds or (None,):
            covering = _find_first(candidates, scheduler, owner)
            if covering is None:
                return ()
            found.add(covering)
    return tuple(one.name for one in candidates if one.name in found)


def _selects_all_of(earlier: Profile, profile: Profile) -> bool:
    return is_subset(
        profile.namespace_selector, earlier.namespace_selector, _OF_NAMESPACES
    ) and is_subset(profile.object_selector, earlier.object_selector)


def _find_first(candidates: Sequence[Profile], scheduler: str, owner: str | None) -> str | None:
    """Find the first profile for a scheduler, and for a kind of owner or (None) for all pods."""
    for one in candidates:
        fits = one.owner_kinds is None or (owner is not None and owner in one.owner_kinds)
        if fits and scheduler in one.scheduler_names:
            return one.name
    return None
