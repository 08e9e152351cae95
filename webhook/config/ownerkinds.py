"""
Find ownerKinds of profiles that are the kind of no pod's controller.

``find_absent_owners`` is the entry point. Kinds that resemble no known one may be those of custom
controllers, and are not judged.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from webhook.policy.defaulting.forecast import POD_CONTROLLERS
from webhook.policy.defaulting.profiles import Policy

SIMILARITY = 0.8
"""Similarity, from 0 to 1, from which on a kind is taken for a misspelled one."""

_LONGEST_KIND = 64  # characters that are compared; the longest known kind has 21

_NODE = "Node"  # controls static pods


def find_absent_owners(policy: Policy) -> list[str]:
    """Describe the kinds, each in a sentence without a final full stop."""
    created = {
        kind.kind: row.kind for kind, row in POD_CONTROLLERS.items() if kind.kind != row.kind
    }
    direct = {kind.kind for kind in policy.pod_templates if kind not in POD_CONTROLLERS}
    owners = {_NODE, *direct, *(row.kind for row in POD_CONTROLLERS.values())}
    used = {owner for profile in policy.profiles for owner in profile.owner_kinds or ()}
    known = {kind.lower(): kind for kind in (*created, *owners)}
    problems = {owner: _find_problem(owner, known, created) for owner in used - owners}
    return [
        f"profile {profile.name!r}: match.ownerKinds: {problems[owner]}"
        for profile in policy.profiles
        for owner in sorted(profile.owner_kinds or ())
        if problems.get(owner)
    ]


def _find_problem(owner: str, known: Mapping[str, str], created: Mapping[str, str]) -> str:
    """
    Return what is wrong with a kind that is none of the owners; empty if that is not known.

    Args:
        known: Kinds by their lower-case names.
    """
    if owner in created:
        return (
            f"a {owner} does not control its pods: write {created[owner]}, the kind that it creates"
        )
    for close in get_close_matches(owner[:_LONGEST_KIND].lower(), known, 1, SIMILARITY):
        meant = known[close]
        return f"no controller of kind {owner} is known: did you mean {created.get(meant, meant)}?"
    return ""
