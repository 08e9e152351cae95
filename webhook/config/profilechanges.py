"""
Differences between the profiles of two configurations: ``compare_profiles``.

``compare_settings`` does the same for what is not about one profile. Nothing here looks at pods.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from webhook.config.configuration import Configuration
from webhook.config.summary import (
    configured_kinds,
    configured_rules,
    describe_profile,
)
from webhook.policy.defaulting.effective import find_ineffective
from webhook.policy.defaulting.profiles import Policy


class ProfileEdit(StrEnum):
    """What happens to a profile."""

    NEW = "new"
    CHANGED = "changed"
    REMOVED = "removed"
    REORDERED = "reordered"
    INEFFECTIVE = "ineffective"
    EFFECTIVE = "effective"


class ProfileChange(msgspec.Struct, frozen=True):
    """
    A profile that differs.

    Attributes:
        edits: At least one, in the order of ``ProfileEdit``.
        reason: Why it applies to no pod now, as a sentence without a subject; usually empty.
        before: As ``config check`` describes it; None if it is new.
        after: Likewise; None if it is removed.
    """

    name: str
    edits: tuple[ProfileEdit, ...]
    reason: str = ""
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


def compare_profiles(
    before: tuple[Configuration, Policy], after: tuple[Configuration, Policy]
) -> list[ProfileChange]:
    """
    Find the profiles that are new, changed, removed, moved, or that start or cease to apply.

    Args:
        before: A configuration, and its policy.
        after: Likewise.

    Returns:
        Those that are in force after the change, in their order, and then those that are removed.
    """
    old, new = _describe_all(before), _describe_all(after)
    moved = _find_moved([name for name in old if name in new], list(new))
    idle_before, idle_after = _find_reasons(before[1]), _find_reasons(after[1])
    found: list[ProfileChange] = []
    for name in (*new, *(name for name in old if name not in new)):
        edits = [
            (ProfileEdit.NEW, name not in old),
            (ProfileEdit.CHANGED, name in old and name in new and old[name] != new[name]),
            (ProfileEdit.REMOVED, name not in new),
            (ProfileEdit.REORDERED, name in moved),
            (ProfileEdit.INEFFECTIVE, name in idle_after and name not in idle_before),
            (ProfileEdit.EFFECTIVE, name in idle_before and name in new and name not in idle_after),
        ]
        made = tuple(edit for edit, is_made in edits if is_made)
        if made:
            reason = idle_after.get(name, "") if ProfileEdit.INEFFECTIVE in made else ""
            found.append(ProfileChange(name, made, reason, old.get(name), new.get(name)))
    return found


def _describe_all(side: tuple[Configuration, Policy]) -> dict[str, dict[str, Any]]:
    configuration, policy = side
    return {
        profile.name: describe_profile(policy, profile, configuration.orders)
        for profile in policy.profiles
    }


def _find_reasons(policy: Policy) -> Mapping[str, str]:
    return {one.name: one.reason for one in find_ineffective(policy.profiles)}


def _find_moved(old: Sequence[str], new: Iterable[str]) -> frozenset[str]:
    """
    Find the fewest names to move so that those of both sequences have the new order.

    The others are a longest increasing subsequence of the old positions; O(n log n).

    Args:
        old: Names that are also in ``new``.
    """
    positions = {name: position for position, name in enumerate(old)}
    kept = [name for name in new if name in positions]
    ends: list[int] = []  # the smallest last position of a subsequence of each length
    last: list[str] = []  # its name
    previous: dict[str, str] = {}
    for name in kept:
        length = bisect_left(ends, positions[name])
        if length:
            previous[name] = last[length - 1]
        ends[length : length + 1] = [positions[name]]
        last[length : length + 1] = [name]
    stays: set[str] = set()
    name = last[-1] if last else ""
    while name:
        stays.add(name)
        name = previous.get(name, "")
    return frozenset(kept) - stays


class SettingsChange(msgspec.Struct, frozen=True):
    """The settings that are not about one profile, before and after."""

    before: dict[str, Any]
    after: dict[str, Any]


def compare_settings(
    before: tuple[Configuration, Policy], after: tuple[Configuration, Policy]
) -> SettingsChange | None:
    """Find the differences in settings that are not about one profile; None if there are none."""
    old, new = _describe_settings(*before), _describe_settings(*after)
    return None if old == new else SettingsChange(old, new)


def _describe_settings(configuration: Configuration, policy: Policy) -> dict[str, Any]:
    return {
        "mode": str(policy.mode),
        "fieldDefaults": str(policy.field_defaults),
        "exemptNamespaces": sorted(policy.exempt_namespaces),
        "scaleDownRepair": configuration.scale_down_repair,
        "kinds": [row._asdict() for row in configured_kinds(policy)],
        "rules": [row._asdict() for row in configured_rules(policy)],
        "gates": {str(name): setting.on for name, setting in policy.gates.settings.items()},
        "ownerSelectors": {str(one.kind): list(one.path) for one in configuration.owner_selectors},
        "notices": list(configuration.notices),
    }
