"""
Find profiles that never apply, since one before them fits every pod that they fit.

``find_shadowed`` is the entry point. It compares the conditions of profiles one by one; selectors
that are written differently are not compared.
"""

from webhook.policy.defaulting.profiles import Policy, Profile


def find_shadowed(policy: Policy) -> list[str]:
    """Describe these profiles, each in a sentence without a final full stop."""
    return [
        f"profile {profile.name!r}: applies to no pod, since profile {earlier.name!r} before it "
        "fits all of its pods: put it before that one, or narrow the match of that one"
        for index, profile in enumerate(policy.profiles)
        if (earlier := _find_cover(profile, policy.profiles[:index])) is not None
    ]


def _find_cover(profile: Profile, earlier: tuple[Profile, ...]) -> Profile | None:
    return next((other for other in earlier if _covers(other, profile)), None)


def _covers(other: Profile, profile: Profile) -> bool:
    """Whether each condition of a profile holds for all pods of another one."""
    kinds = other.owner_kinds
    return (
        profile.scheduler_names <= other.scheduler_names
        and other.namespace_selector in (None, profile.namespace_selector)
        and other.object_selector in (None, profile.object_selector)
        and (kinds is None or (profile.owner_kinds is not None and profile.owner_kinds <= kinds))
    )
