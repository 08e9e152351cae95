"""Findings are completed with lines, fingerprints and fixes."""

import pytest
from msgspec.structs import replace

from tests.build import deployment, spread, template
from webhook.audit.findings import FINGERPRINT_DIGITS, FindingBuilder, report_type_errors
from webhook.audit.inventory import AuditSubject
from webhook.audit.origins import Origin
from webhook.audit.report import AuditFinding, AuditSeverity
from webhook.audit.snapshot import UnreadableObject
from webhook.policy.advice.advise import Advice, ExemptFinding
from webhook.policy.advice.findings import AdviceFinding
from webhook.policy.advice.subject import Subject, SubjectPod, SubjectSpec
from webhook.policy.api import rules
from webhook.policy.api.predict import APART, ApiWarning
from webhook.policy.api.rules import too_many
from webhook.policy.api.schema import DUPLICATE_FIELD, UNKNOWN_FIELD, StrictFinding
from webhook.policy.kinds import DEPLOYMENT
from webhook.policy.model import GroupKind, ObjectMeta

FIELD = "spec.topologySpreadConstraints[0]"
ADVICE = AdviceFinding("TSC101", FIELD, "it does not match", "labelSelector: {}")


def builder(origin: Origin | None = None, name: str = "web") -> FindingBuilder:
    subject = Subject(
        kind=GroupKind("apps", "Deployment"),
        metadata=ObjectMeta(name=name, generate_name="web-"),
        namespace="shop",
        pod=SubjectPod(),
    )
    return FindingBuilder(AuditSubject("apps/v1", subject, origin))


def build(
    field: str = FIELD, problem: str = "a", instead: str = "", origin: Origin | None = None
) -> AuditFinding:
    violation = AdviceFinding("TSC101", field, problem, instead)
    return builder(origin).build(AuditSeverity.WARN, violation)


def test_a_violation_without_a_fix_gets_that_of_its_rule() -> None:
    assert build(instead="b").instead == "b"
    assert build().instead


@pytest.mark.parametrize(("origin", "line"), [(None, 0), (Origin("a", {(): 3}), 3)])
def test_a_finding_has_a_line_if_its_object_has_a_file(origin: Origin | None, line: int) -> None:
    assert build(origin=origin).line == line


def test_the_fingerprint_depends_on_rule_object_and_field_alone() -> None:
    first, again = build(problem="a"), build(problem="b")
    other = builder(name="").build(AuditSeverity.WARN, ADVICE)

    assert first.fingerprint == again.fingerprint != build("spec").fingerprint
    assert other.fingerprint != first.fingerprint
    assert len(first.fingerprint) == FINGERPRINT_DIGITS


SEVERITIES = {
    "denied": AuditSeverity.DENY,
    "refused": AuditSeverity.WARN,
    "warned": AuditSeverity.WARN,
    "audited": AuditSeverity.AUDIT,
}


@pytest.mark.parametrize(("member", "severity"), SEVERITIES.items())
def test_the_action_of_a_rule_is_the_severity_of_its_findings(
    member: str, severity: AuditSeverity
) -> None:
    (finding,) = builder().build_advice(replace(Advice(), **{member: (ADVICE,)}))

    assert (finding.rule, finding.severity, finding.instead) == (
        "TSC101", severity, "labelSelector: {}"
    )  # fmt: skip


def test_a_violation_has_one_finding_whose_fix_depends_on_the_constraint() -> None:
    listed = template(deployment(spread(matchLabelKeys=["app"])))
    pod = SubjectPod(spec=SubjectSpec(topology_spread_constraints=listed.constraints))
    subject = Subject(kind=DEPLOYMENT, path=("spec", "template"), pod=pod)
    violations = rules.check(subject.constraints, subject.list_path, APART)

    found = FindingBuilder(AuditSubject("apps/v1", subject, None)).build_violations(
        violations * 2, AuditSeverity.DENY
    )

    assert [one.instead for one in found] == ["remove matchLabelKeys[0], or app from labelSelector"]


def test_an_exempted_finding_has_its_reason() -> None:
    finding = builder().build(AuditSeverity.AUDIT, *ExemptFinding(ADVICE, "known"))

    assert (finding.severity, finding.reason) == (AuditSeverity.AUDIT, "known")


def test_a_warning_that_advice_explains_is_left_out() -> None:
    warnings = [ApiWarning("TSC021", 0, f"{FIELD}.labelSelector: is null")]
    explained = builder().build(
        AuditSeverity.WARN, AdviceFinding("TSC102", f"{FIELD}.labelSelector", "a", instead="")
    )

    (finding,) = builder().build_warnings(warnings, [])
    assert (finding.field, finding.problem) == (f"{FIELD}.labelSelector", "is null")
    assert builder().build_warnings(warnings, [explained]) == []


def test_an_object_of_wrong_types_is_a_workload_with_one_denial() -> None:
    unreadable = UnreadableObject(
        api_version="apps/v1", kind="Deployment", namespace="shop", name="web", source="a.yaml",
        line=1, field="spec", field_line=2, problem="expected an object, got a list",
    )  # fmt: skip

    report = report_type_errors(unreadable, AuditSeverity.WARN, lambda _: True)

    (finding,) = report.findings
    assert report.title == "Deployment shop/web"
    assert (finding.severity, finding.line) == (AuditSeverity.DENY, 2)
    assert finding.read_on == "kubectl explain deployment"
    assert finding.instead == "leave out the dash: there is only one"


STRICT = StrictFinding(UNKNOWN_FIELD, ("spec", "minDomain"), instead="# minDomains", line=4)


def test_an_unknown_field_has_its_own_line_and_fix() -> None:
    (finding,) = builder().build_strict([STRICT], AuditSeverity.WARN)

    assert (finding.rule, finding.severity) == (UNKNOWN_FIELD, AuditSeverity.WARN)
    assert (finding.field, finding.line) == ("spec.minDomain", 4)
    assert (finding.problem, finding.instead) == (STRICT.problem, "# minDomains")


def test_exempted_strict_findings_have_the_reasons_of_their_rules() -> None:
    twice = StrictFinding(DUPLICATE_FIELD, ("spec", "replicas"))
    reasons = {UNKNOWN_FIELD: "newer", DUPLICATE_FIELD: "generated"}

    found = list(builder().build_exempted_strict([STRICT, twice], reasons))

    assert [(item.severity, item.reason) for item in found] == [
        (AuditSeverity.AUDIT, "newer"),
        (AuditSeverity.AUDIT, "generated"),
    ]


def test_a_violation_of_an_api_rule_has_its_severity_and_field() -> None:
    violation = too_many((), "spec.topologySpreadConstraints")

    (finding,) = builder().build_violations([violation], AuditSeverity.WARN)

    assert (finding.rule, finding.severity) == (violation.rule, AuditSeverity.WARN)
    assert finding.field == violation.error.field
