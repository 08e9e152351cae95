"""
Facts for the status of SpreadPolicies, from what the server holds anyway.

``judge_profiles`` reads the profiles in force and the Namespaces; it may take long, so run it in a
thread. ``gather_facts`` joins its result with one policy and with the counts of audits. Nothing
here calls the API server.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from webhook.cluster.spreadpolicies import SpreadPolicyObject
from webhook.config.spreadpolicies import MergedProfiles, SpreadPolicy, describe_unused
from webhook.policy.defaulting.effective import IneffectiveProfile, find_ineffective
from webhook.policy.defaulting.policystatus import PolicyCounts, PolicyFacts
from webhook.policy.defaulting.profiles import Mode, Policy, Profile

Namespaces: TypeAlias = Mapping[str, Mapping[str, str]]
"""Labels of Namespaces, by name."""


class StatusSources(NamedTuple):
    """
    Where the facts come from.

    Attributes:
        objects: Gives the SpreadPolicies as the API server has them.
        merge: Puts SpreadPolicies behind the profiles of files.
        policy: Gives the policy in force.
        namespaces: Gives the Namespaces; None if not all are known.
        audits: Whether this server makes audits while it holds the Lease.
    """

    objects: Callable[[], tuple[SpreadPolicyObject, ...]]
    merge: Callable[[Iterable[SpreadPolicy]], MergedProfiles]
    policy: Callable[[], Policy]
    namespaces: Callable[[], Namespaces | None]
    audits: bool


class ProfileFacts(NamedTuple):
    """
    What the profiles show of SpreadPolicies, by their names.

    Attributes:
        unused: Policies whose name a profile of a file has.
        ineffective: Policies that apply to no pod.
        recommending: Policies that only recommend.
        namespaces: The number of Namespaces that each matches; None if these are not known.
    """

    unused: frozenset[str]
    ineffective: Mapping[str, IneffectiveProfile]
    recommending: frozenset[str]
    namespaces: Mapping[str, int] | None


def judge_profiles(
    merged: MergedProfiles, policy: Policy, namespaces: Namespaces | None
) -> ProfileFacts:
    """Find what the profiles show; O(profiles ** 2 + profiles * namespaces)."""
    profiles = merged.profiles
    recommending = (one.name for one in profiles if policy.mode_of(one) is Mode.RECOMMEND)
    return ProfileFacts(
        frozenset(merged.unused),
        {one.name: one for one in find_ineffective(profiles)},
        frozenset(recommending),
        None if namespaces is None else _count(profiles, namespaces, policy.exempt_namespaces),
    )


def _count(
    profiles: Sequence[Profile], namespaces: Namespaces, exempt: frozenset[str]
) -> dict[str, int]:
    matched = {name: labels for name, labels in namespaces.items() if name not in exempt}
    return {
        profile.name: sum(profile.fits_namespace(*namespace) for namespace in matched.items())
        for profile in profiles
    }


def gather_facts(
    policy_object: SpreadPolicyObject,
    profiles: ProfileFacts,
    counts: Mapping[str, PolicyCounts],
    *,
    audits: bool,
) -> PolicyFacts:
    """
    Gather the facts of one policy.

    Args:
        policy_object: The policy.
        profiles: Of all policies.
        counts: Of the last audit of this replica; empty before its first one.
        audits: Whether audits count, or will count, the pods of the policy.
    """
    name, metadata = policy_object.name, policy_object.metadata
    is_used = policy_object.found is not None and name not in profiles.unused
    return PolicyFacts(
        generation=(metadata and metadata.generation) or 0,
        problem=policy_object.problem,
        in_force=policy_object.found is not None,
        conflict=describe_unused(name).message if name in profiles.unused else "",
        ineffective=profiles.ineffective.get(name) if is_used else None,
        recommends=name in profiles.recommending,
        namespaces=None if profiles.namespaces is None else profiles.namespaces.get(name),
        counts=counts.get(name, PolicyCounts()),
        keeps_counts=audits and name not in counts,
    )
