from webhook.audit.exemptionreport import ExemptionSource
from webhook.audit.exemptions import ProjectExemptions
from webhook.audit.report import AuditFinding, AuditSeverity
from webhook.config.project import Exemption
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.kinds import DEPLOYMENT
from webhook.policy.model import ObjectMeta

WEB = Subject(
    kind=DEPLOYMENT,
    namespace="shop",
    pod=SubjectPod(),
    metadata=ObjectMeta(name="web", labels={"app": "web"}),
)


def exemption(where: str, *rules: str, names: tuple[str, ...] = ()) -> Exemption:
    return Exemption(where=where, rules=frozenset(rules), reason=f"reason {where}", names=names)


def finding(rule: str) -> AuditFinding:
    return AuditFinding(
        rule=rule,
        severity=AuditSeverity.WARN,
        field="spec",
        line=1,
        problem="p",
        instead="i",
        read_on="r",
        fingerprint="f",
    )


def test_covered_findings_are_exempted_for_the_first_reason() -> None:
    first, second = exemption("1", "TSC101"), exemption("2", "TSC101", "TSC102")
    exemptions = ProjectExemptions([first, second])

    kept, exempted = exemptions.split([finding("TSC101"), finding("TSC110")], WEB)

    assert [item.rule for item in kept] == ["TSC110"]
    assert [(item.rule, item.reason, item.severity) for item in exempted] == [
        ("TSC101", "reason 1", AuditSeverity.AUDIT)
    ]
    assert [item.exempted_by for item in exempted] == [ExemptionSource.PROJECT]
    assert exemptions.unused == [second]


def test_other_objects_are_not_exempt() -> None:
    exemptions = ProjectExemptions([exemption("1", "TSC101", names=("api",))])

    kept, exempted = exemptions.split([finding("TSC101")], WEB)

    assert (len(kept), exempted, len(exemptions.unused)) == (1, [], 1)


def test_without_exemptions_findings_stay() -> None:
    assert ProjectExemptions().split([finding("TSC101")], WEB)[1] == []


def test_a_rule_without_exemptions_stays() -> None:
    exemptions = ProjectExemptions([exemption("1", "TSC101")])

    kept, exempted = exemptions.split([finding("TSC101")], WEB, frozenset({"TSC101"}))

    assert (len(kept), exempted, len(exemptions.unused)) == (1, [], 1)
