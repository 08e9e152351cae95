"""Exemptions in audits: by annotations, the project and SpreadPolicyExceptions."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from tests.audit import world
from tests.audit.world import (
    audit,
    audit_options,
)
from webhook.audit.exemptionreport import FROM_DEFAULTS, ExemptionSource
from webhook.audit.exemptions import ProjectExemptions
from webhook.audit.report import AuditSeverity
from webhook.config.project import Exemption
from webhook.policy.defaulting.profiles import Profile


def test_exemptions_are_listed_with_their_reasons() -> None:
    text = world.BARE.replace(
        "kubectl.kubernetes.io/last-applied-configuration: secret",
        "evenspread.io/exempt: 'TSC110=one zone by contract, TSC999=why not'",
    )

    (workload,) = audit(text).workloads

    assert [(finding.rule, finding.reason) for finding in workload.exempted] == [
        ("TSC110", "one zone by contract")
    ]
    assert [(finding.rule, finding.severity) for finding in workload.findings] == [
        ("exempt", AuditSeverity.WARN)
    ]


def test_an_exemption_of_the_project_hides_no_error_of_the_annotation() -> None:
    text = world.BARE.replace(
        "kubectl.kubernetes.io/last-applied-configuration: secret", "evenspread.io/exempt: TSC110"
    )
    everything = Exemption(where="p:3", rules=frozenset({"TSC110"}), reason="legacy")

    (workload,) = audit(
        text,
        options=audit_options(world.CONFIGURATION, exemptions=ProjectExemptions([everything])),
    ).workloads

    assert [finding.rule for finding in workload.exempted] == ["TSC110"]
    assert [finding.rule for finding in workload.findings] == ["exempt"]


EXCEPTION = """\
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: %s, namespace: shop}
spec: {rules: [TSC110], reason: one zone, expires: '%s-01-01T00:00:00Z'}
"""

TWO_EXCEPTIONS = world.BARE + EXCEPTION % ("over", 2026) + EXCEPTION % ("valid", 2028)


def test_exceptions_exempt_until_they_expire_and_are_listed() -> None:
    options = audit_options(now=datetime(2027, 1, 1, tzinfo=UTC))

    report = audit(TWO_EXCEPTIONS, options=options)

    (workload,) = report.workloads
    assert [(one.rule, one.reason, one.exception) for one in workload.exempted] == [
        ("TSC110", "one zone", "valid")
    ]
    assert [one.exempted_by for one in workload.exempted] == [ExemptionSource.EXCEPTION]
    listed = [(one.name, one.is_expired, one.exempted) for one in report.exceptions]
    assert listed == [("over", True, 0), ("valid", False, 1)]


def test_without_a_time_exceptions_with_an_end_have_no_effect() -> None:
    report = audit(TWO_EXCEPTIONS)

    assert report.summary.exempted == 0
    assert all(one.is_expired for one in report.exceptions)


def test_exceptions_of_other_namespaces_are_not_listed() -> None:
    assert audit(TWO_EXCEPTIONS, options=audit_options(namespace="ops")).exceptions == ()


def test_an_exception_from_a_rule_without_exemptions_has_no_effect() -> None:
    configured = replace(world.CONFIGURATION, not_exemptible=frozenset({"TSC110"}))
    now = datetime(2027, 1, 1, tzinfo=UTC)

    report = audit(TWO_EXCEPTIONS, options=audit_options(configured, now=now))

    assert (report.summary.exempted, [one.exempted for one in report.exceptions]) == (0, [0, 0])
    assert {"TSC110"} == {rule for one in report.exceptions for rule in one.forbidden}


def test_an_exception_from_a_rule_of_a_profile_without_exemptions_has_no_effect() -> None:
    profiles = (Profile(name="strict", exemptible={"TSC110": False}),)
    options = audit_options(
        replace(world.CONFIGURATION, profiles=profiles), now=datetime(2027, 1, 1, tzinfo=UTC)
    )

    report = audit(TWO_EXCEPTIONS, options=options)

    assert report.summary.exempted == 0
    assert [one.forbidden for one in report.exceptions] == [("TSC110",)] * 2


# whether exceptions from the defaults of each profile have an effect -> what has none
PROFILES: dict[str, tuple[tuple[bool, ...], tuple[str, ...]]] = {
    "no profile": ((), ()),
    "the first one applies and allows them": ((True, False), ()),
    "the first one applies and forbids them": ((False, True), (FROM_DEFAULTS,)),
    "none allows them": ((False,), (FROM_DEFAULTS,)),
}


@pytest.mark.parametrize(("allowed", "forbidden"), PROFILES.values(), ids=PROFILES)
def test_an_exception_from_defaults_has_an_effect_if_a_profile_allows_it(
    allowed: tuple[bool, ...], forbidden: tuple[str, ...]
) -> None:
    profiles = tuple(Profile(name=f"p{i}", allows_exceptions=one) for i, one in enumerate(allowed))
    options = audit_options(replace(world.CONFIGURATION, profiles=profiles))
    text = (EXCEPTION % ("all", 2028)).replace("rules: [TSC110]", "defaults: true")

    (reported,) = audit(world.BARE + text, options=options).exceptions

    assert reported.forbidden == forbidden
