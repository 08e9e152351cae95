"""
Find profiles that never apply, since one before them fits every pod that they fit.

``find_shadowed`` is the entry point. It compares selectors by their text, and not by their meaning.
The time is linear in the number of profiles if most of them have selectors of their own.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice, product
from typing import TypeAlias

from webhook.policy import selectors
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.model import LabelSelector

_SelectorPair: TypeAlias = tuple[str, str]
"""The texts of a profile's selectors of Namespaces and of pods; empty for all."""


def find_shadowed(policy: Policy) -> list[str]:
    """Describe these profiles, each in a sentence without a final full stop."""
    return [
        f"profile {profile.name!r}: applies to no pod, since profile {earlier.name!r} before it "
        "fits all of its pods: put it before that one, or narrow the match of that one"
        for profile, earlier in _find_pairs(policy)
    ]


def _find_pairs(policy: Policy) -> Iterator[tuple[Profile, Profile]]:
    """Find these profiles, each with one that fits all of its pods."""
    before: defaultdict[_SelectorPair, list[Profile]] = defaultdict(list)
    for profile in policy.profiles:
        pair = _write(profile.namespace_selector), _write(profile.object_selector)
        wider = dict.fromkeys(product(("", pair[0]), ("", pair[1])))
        candidates = (other for key in wider for other in before[key])
        covers = (other for other in candidates if _covers(other, profile))
        yield from ((profile, earlier) for earlier in islice(covers, 1))
        before[pair].append(profile)


def _write(selector: LabelSelector | None) -> str:
    return "" if selector is None else selectors.render(selector)


def _covers(other: Profile, profile: Profile) -> bool:
    """Whether the other conditions of a profile hold for all pods of another one."""
    kinds = other.owner_kinds
    return profile.scheduler_names <= other.scheduler_names and (
        kinds is None or (profile.owner_kinds is not None and profile.owner_kinds <= kinds)
    )
