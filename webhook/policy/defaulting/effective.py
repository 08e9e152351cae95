"""
Profiles that can never apply, whatever pods are created.

``find_ineffective`` and ``describe_ineffective`` are the entry points. The first profile that fits
a pod applies, so a profile has no effect if earlier ones fit every pod that it fits. The mode of a
profile does not matter: one that only recommends decides for its pods, too.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import msgspec

from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import NAME_LABEL
from webhook.policy.selectorsubsets import (
    PRESENT,
    AllowedValues,
    find_allowed,
    is_contradictory,
    is_subset,
)

MOST_PROFILES_COMPARED = 128
"""Profiles that one is compared with: 1 000 profiles take at most half a second."""

_Value: TypeAlias = tuple[int, str, str]
"""Whether it is of pods and not of Namespaces, label key, and value."""

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

    @property
    def suggestion(self) -> str:
        """What to write instead."""
        if self.selector:
            return "correct the selector, or remove the profile"
        return "move it before, or remove it"


def describe_ineffective(profiles: Sequence[Profile]) -> list[str]:
    """Describe the profiles that apply to no pod, each in a sentence without a final full stop."""
    return [
        f"profile {one.name!r} {one.reason}: {one.suggestion}" for one in find_ineffective(profiles)
    ]


class _Match(NamedTuple):
    """
    The pods that a profile fits.

    Attributes:
        namespaces: What its selector of Namespaces allows, by label key.
        objects: What its selector of pods allows, by label key.
    """

    position: int
    profile: Profile
    namespaces: Mapping[str, AllowedValues]
    objects: Mapping[str, AllowedValues]


def find_ineffective(profiles: Sequence[Profile]) -> Iterator[IneffectiveProfile]:
    """
    Find the profiles that apply to no pod.

    The result is exact for labels, owners and schedulers taken one by one. Profiles that only
    together fit all values of a label are not found. The time is linear in the number of profiles
    if most of them require values of a label that few others require.

    Args:
        profiles: In their order.
    """
    earlier = _EarlierProfiles()
    for position, profile in enumerate(profiles):
        match = _read_match(position, profile)
        selector = _find_contradiction(match)
        covering = () if selector else _find_covering(profile, earlier.find_wider(match))
        if selector or covering:  # what it fits, others before it fit as well
            yield IneffectiveProfile(profile.name, covering, selector)
        else:
            earlier.add(match)


def _read_match(position: int, profile: Profile) -> _Match:
    namespaces = find_allowed(profile.namespace_selector, _OF_NAMESPACES)
    return _Match(position, profile, namespaces, find_allowed(profile.object_selector))


class _EarlierProfiles:
    """
    Profiles by one value that they require.

    A profile that fits all pods of another one allows every value that the other one allows.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._matches: defaultdict[_Value | None, list[_Match]] = defaultdict(list)

    def add(self, match: _Match) -> None:
        """Add a profile, by the label that it requires to have one of the fewest values."""
        required = min(_list_required(match), key=len, default=None)
        for value in (None,) if required is None else required:
            self._matches[value].append(match)

    def find_wider(self, match: _Match) -> list[Profile]:
        """Find profiles that select all pods of another one, in their order; not all of many."""
        values = (None, *(required[0] for required in _list_required(match)))
        candidates = chain.from_iterable(self._matches.get(value, ()) for value in values)
        return [
            one.profile
            for one in sorted(islice(candidates, MOST_PROFILES_COMPARED), key=itemgetter(0))
            if is_subset(match.namespaces, one.namespaces) and is_subset(match.objects, one.objects)
        ]


def _list_required(match: _Match) -> Iterator[list[_Value]]:
    """List the values that a profile requires of each label, if those are a few; never empty."""
    for of_pods, allowed in enumerate((match.namespaces, match.objects)):
        for key, one in allowed.items():
            if not (one.is_complement or one.is_absent_allowed) and one.values:
                yield [(of_pods, key, value) for value in sorted(one.values)]


def _find_contradiction(match: _Match) -> str:
    if is_contradictory(match.namespaces):
        return "namespaceSelector"
    return "objectSelector" if is_contradictory(match.objects) else ""


def _find_covering(profile: Profile, wider: Sequence[Profile]) -> tuple[str, ...]:
    """Find earlier profiles that fit its pods of every scheduler and owner; empty if none do."""
    found: set[str] = set()
    for scheduler in profile.scheduler_names:
        for owner in profile.owner_kinds or (None,):
            covering = _find_first(wider, scheduler, owner)
            if covering is None:
                return ()
            found.add(covering)
    return tuple(one.name for one in wider if one.name in found)


def _find_first(candidates: Sequence[Profile], scheduler: str, owner: str | None) -> str | None:
    """Find the first profile for a scheduler, and for a kind of owner or (None) for all pods."""
    for one in candidates:
        fits = one.owner_kinds is None or (owner is not None and owner in one.owner_kinds)
        if fits and scheduler in one.scheduler_names:
            return one.name
    return None
