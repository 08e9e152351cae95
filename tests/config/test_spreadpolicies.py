import pytest

from webhook.config.configuration import Configuration
from webhook.config.spreadpolicies import PolicyNotice, SpreadPolicy, add_policies, merge_profiles
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.rule_entry import Action


def test_policies_follow_the_profiles_of_files_by_order_and_name() -> None:
    files = (Profile(name="z"), Profile(name="taken"))
    policies = [
        SpreadPolicy(order, Profile(name=name))
        for order, name in [(0, "b"), (0, "a"), (-1, "y"), (7, "taken"), (2**31 - 1, "c")]
    ]

    merged = merge_profiles(files, policies)

    assert [one.name for one in merged.profiles] == ["z", "taken", "y", "a", "b", "c"]
    assert merged.unused == ("taken",)
    assert merged.profiles[1] is files[1]


def test_a_configuration_gets_the_policies_and_a_notice_of_each_that_is_not_used() -> None:
    policies = {name: SpreadPolicy(7, Profile(name=name)) for name in ("web", "taken")}
    configuration = Configuration(profiles=(Profile(name="taken"),), notices=("before",))

    found = add_policies(configuration, policies)

    assert [profile.name for profile in found.profiles] == ["taken", "web"]
    assert found.orders == {"web": 7}
    assert found.notices == ("before", UNUSED.message)


UNUSED = PolicyNotice(
    "SpreadPolicyUnused",
    "SpreadPolicy 'taken' is not used: a profile of the configuration has its name; rename one of "
    "the two",
)
UNENFORCED = PolicyNotice(
    "SpreadPolicyUnenforced",
    "SpreadPolicy 'strict' denies by TSC101, TSC102, but not new pods, since the validating "
    "webhook does not receive them; set validatePods: true in the values of the chart",
)
DENYING = {"TSC101": Action.DENY, "TSC102": Action.DENY, "TSC103": Action.WARN}


@pytest.mark.parametrize(
    ("validates_pods", "notices"), [(False, [UNUSED, UNENFORCED]), (True, [UNUSED])]
)
def test_a_notice_names_what_a_policy_does_not_get(
    validates_pods: bool, notices: list[PolicyNotice]
) -> None:
    files = [Profile(name="taken", actions=DENYING)]
    profiles = Profile(name="taken"), Profile(name="strict", actions=DENYING), Profile(name="a")

    merged = merge_profiles(files, [SpreadPolicy(0, profile) for profile in profiles])

    assert merged.list_notices(validates_pods=validates_pods) == notices


def test_a_rule_of_the_file_that_denies_sends_pods_to_the_webhook() -> None:
    policies = {"strict": SpreadPolicy(0, Profile(name="strict", actions=DENYING))}
    denying = Configuration(profiles=(Profile(name="a", actions=DENYING),))

    assert add_policies(Configuration(), policies).notices == (UNENFORCED.message,)
    assert add_policies(denying, policies).notices == ()


def test_a_policy_that_denies_by_a_rule_of_audits_needs_no_webhook() -> None:
    actions = {"TSC111": Action.DENY, "TSC112": Action.DENY}
    policies = {"prod": SpreadPolicy(0, Profile(name="prod", actions=actions))}

    (notice,) = add_policies(Configuration(), policies).notices
    assert notice == (
        "SpreadPolicy 'prod': deny for TSC112 has an effect in audits only, on their exit code and "
        "report: admission does not check such rules"
    )
