"""What exceptions can exempt from, by the profiles of the objects that they select."""

import pytest
from msgspec.structs import replace

from tests.build import NAMESPACE, policy, profile, spread
from tests.policy.advice.subjects import audit, deployed
from webhook.audit.exemptible import ExemptibleScopes
from webhook.audit.exemptionreport import FROM_DEFAULTS
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.model import LabelSelector
from webhook.policy.policyexceptions import PolicyException

WEB = replace(deployed(spread()), namespace=NAMESPACE)
OTHER = replace(WEB, namespace="other")
EXCEPTION = PolicyException(namespace=NAMESPACE, name="a", reason="b", rules=("TSC101",))
NO_WEB = replace(EXCEPTION, selector=LabelSelector({"app": "db"}))


def rules_of(selected: dict[str, str] | None, *, allowed: bool) -> Profile:
    selector = None if selected is None else LabelSelector(selected)
    return profile(object_selector=selector, exemptible={"TSC101": allowed})


FOR_ALL = rules_of(None, allowed=False)
FOR_WEB = rules_of({"app": "web"}, allowed=False)
FOR_DB = rules_of({"app": "db"}, allowed=False)


@pytest.mark.parametrize(
    ("found", "exception", "expected"),
    [
        (FOR_ALL, EXCEPTION, False),
        (FOR_WEB, EXCEPTION, False),
        (FOR_DB, EXCEPTION, True),
        (FOR_ALL, NO_WEB, True),
        (FOR_ALL, replace(EXCEPTION, namespace="none"), True),
    ],
    ids=["all", "its objects", "other objects", "it selects none", "no object"],
)
def test_a_rule_of_the_profile_of_all_objects_has_no_exceptions(
    found: Profile, exception: PolicyException, expected: bool
) -> None:
    scopes = ExemptibleScopes([WEB, OTHER], audit(config=policy(found)), [exception])

    assert scopes.can_exempt(exception, "TSC101") is expected
    assert scopes.can_exempt(exception, "TSC110")


def test_one_object_of_another_profile_is_enough() -> None:
    database = replace(WEB, pod=deployed(spread(), labels={"app": "db"}).pod)
    context = audit(config=policy(FOR_WEB))

    assert ExemptibleScopes([WEB, database], context, [EXCEPTION]).can_exempt(EXCEPTION, "TSC101")


def test_a_profile_permits_what_the_configuration_forbids() -> None:
    config = policy(rules_of({"app": "db"}, allowed=True), not_exemptible=frozenset({"TSC101"}))

    assert not ExemptibleScopes([WEB], audit(config=config), [EXCEPTION]).can_exempt(
        EXCEPTION, "TSC101"
    )
    assert ExemptibleScopes([], audit(config=config), [EXCEPTION]).can_exempt(EXCEPTION, "TSC101")


def test_defaults_are_those_of_the_profiles_of_the_objects() -> None:
    strict = replace(
        profile(allows_exceptions=False), object_selector=LabelSelector({"app": "web"})
    )
    config = policy(strict, replace(profile(), name="rest"))
    database = replace(WEB, pod=deployed(spread(), labels={"app": "db"}).pod)

    def includes(*subjects: Subject, config: Policy = config) -> bool:
        scopes = ExemptibleScopes(subjects, audit(config=config), [EXCEPTION])
        return scopes.can_exempt(EXCEPTION, FROM_DEFAULTS)

    assert not includes(WEB)
    assert includes(WEB, database)
    assert includes()
    assert includes(database, config=policy())
    assert not includes(database, config=policy(strict))
