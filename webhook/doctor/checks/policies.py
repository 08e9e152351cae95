"""Check of the SpreadPolicies: those that the server does not use, or not as they are written."""

from collections.abc import Iterator

from webhook.config.configuration import list_denying_rules
from webhook.doctor.checks.registration import APPLY
from webhook.doctor.findings import CheckState, DoctorFinding
from webhook.doctor.installation import Installation
from webhook.policy.defaulting.effective import find_ineffective

_CHECK = "see which profile applies to which pods: evenspread config check --context CONTEXT"


def check_policies(installation: Installation) -> Iterator[DoctorFinding]:
    """The server uses every SpreadPolicy as it is written."""
    source, policies = installation.settings.get("policies"), installation.policies.value
    if source == "file":
        if policies:
            yield DoctorFinding(
                f"{len(policies)} SpreadPolicies have no effect: the server runs with "
                "--policies file",
                "set policies.source: both in the values of the chart, or delete them",
                CheckState.NOTE,
            )
        return
    if policies is None and source == "resource":
        yield DoctorFinding(
            "the server takes profiles from SpreadPolicies alone, and their "
            "CustomResourceDefinition is not installed: no pod gets defaults",
            f"install it: {APPLY}",
        )
    for policy in policies or ():
        if policy.problem:
            yield DoctorFinding(
                f"SpreadPolicy {policy.name!r} cannot be used: {policy.problem.splitlines()[0]}",
                "fix it, or delete it",
            )
    yield from _check_merged(installation)


def _check_merged(installation: Installation) -> Iterator[DoctorFinding]:
    """Report policies without effect among the profiles."""
    found, merged = installation.valid_configuration, installation.merged_profiles
    if found is None or merged is None:
        return  # check_configuration reports it
    setting = installation.settings.get("validate-pods", "auto")
    denies = any(list_denying_rules(found.configuration))
    validates_pods = setting == "true" or (setting == "auto" and denies)
    for notice in merged.list_notices(validates_pods=validates_pods):
        yield DoctorFinding(notice.message, _CHECK)
    used = {profile.name for profile in merged.used}
    for profile in find_ineffective(merged.profiles):
        if profile.name in used:
            message = f"SpreadPolicy {profile.name!r} {profile.reason}"
            yield DoctorFinding(message, _CHECK, CheckState.NOTE)
