"""
Profiles of default constraints in the resource ``SpreadPolicy``, and their order.

``policyobjects`` reads them; ``merge_profiles`` puts those of a cluster behind the profiles of
files. This module does no I/O, and must not import pydantic, so that commands without
SpreadPolicies start without loading it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from webhook.config.configuration import Configuration, list_denying_rules, select_denying
from webhook.config.profilenotices import describe_audit_denials
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import GroupKind

SPREAD_POLICY = GroupKind("evenspread.io", "SpreadPolicy")
POLICY_VERSION = "v1alpha1"
POLICY_API_VERSION = f"{SPREAD_POLICY.group}/{POLICY_VERSION}"


class SpreadPolicy(NamedTuple):
    """
    A profile in the resource ``SpreadPolicy``.

    Attributes:
        order: Sorts the policies of a cluster, then their names do; from -2**31 to 2**31 - 1.
        profile: Its profile, which has the name of the object.
    """

    order: int
    profile: Profile

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.profile.name


class PolicyNotice(NamedTuple):
    """
    A SpreadPolicy that is not used, or that is not enforced for new pods.

    Attributes:
        reason: Word for Events, such as ``SpreadPolicyUnused``.
        message: A sentence without a final full stop.
    """

    reason: str
    message: str


class MergedProfiles(NamedTuple):
    """
    Profiles of files and of SpreadPolicies.

    Attributes:
        files: Those of files, in their order.
        used: Those of SpreadPolicies that follow, in their order.
        unused: Names of the SpreadPolicies that are left out, as a profile of a file has the name.
    """

    files: tuple[Profile, ...]
    used: tuple[Profile, ...]
    unused: tuple[str, ...]

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """All profiles in their order: the first one that fits a pod applies."""
        return self.files + self.used

    def list_notices(self, *, validates_pods: bool) -> list[PolicyNotice]:
        """
        List the SpreadPolicies that are not used, or that are not enforced for new pods.

        Args:
            validates_pods: Whether the validating webhook receives new pods.
        """
        unused = [describe_unused(name) for name in self.unused]
        if validates_pods:
            return unused
        denying = ((one.name, list(select_denying(one.actions))) for one in self.used)
        return unused + [_describe_unenforced(name, rules) for name, rules in denying if rules]


def merge_profiles(files: Sequence[Profile], policies: Iterable[SpreadPolicy]) -> MergedProfiles:
    """
    Put SpreadPolicies behind the profiles of files, by order and then by name.

    Args:
        policies: With different names.
    """
    taken = {profile.name for profile in files}
    ordered = sorted(policies, key=lambda policy: (policy.order, policy.name))
    used = (policy.profile for policy in ordered if policy.name not in taken)
    unused = (policy.name for policy in ordered if policy.name in taken)
    return MergedProfiles(tuple(files), tuple(used), tuple(unused))


def describe_unused(name: str) -> PolicyNotice:
    """Describe a SpreadPolicy that is left out, since a profile of a file has its name."""
    problem = "a profile of the configuration has its name; rename one of the two"
    return PolicyNotice("SpreadPolicyUnused", f"SpreadPolicy {name!r} is not used: {problem}")


def _describe_unenforced(name: str, rules: Sequence[str]) -> PolicyNotice:
    """Describe a SpreadPolicy that denies pods, which the webhook does not receive."""
    problem = (
        f"denies by {', '.join(rules)}, but not new pods, since the validating webhook does not "
        "receive them; set validatePods: true in the values of the chart"
    )
    return PolicyNotice("SpreadPolicyUnenforced", f"SpreadPolicy {name!r} {problem}")


def add_policies(
    configuration: Configuration, policies: Mapping[str, SpreadPolicy]
) -> Configuration:
    """Add SpreadPolicies, by name, to the profiles of a configuration."""
    merged = merge_profiles(configuration.profiles, policies.values())
    used = policies.keys() - set(merged.unused)
    notices = merged.list_notices(validates_pods=any(list_denying_rules(configuration)))
    denials = ((one.name, describe_audit_denials(one.actions)) for one in merged.used)
    return replace(
        configuration,
        profiles=merged.profiles,
        orders={name: policies[name].order for name in used},
        notices=(
            *configuration.notices,
            *(notice.message for notice in notices),
            *(f"SpreadPolicy {name!r}: {words}" for name, words in denials if words),
        ),
    )
