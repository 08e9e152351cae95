from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit import world
from tests.audit.world import EVERYTHING, LIVE, audit, audit_options, rules
from webhook.audit.report import AuditSeverity
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import Constraint


def test_every_rule_is_applied_to_every_workload() -> None:
    assert rules(audit(EVERYTHING)) == [
        ("Pod ops/lone", "TSC001"),
        ("Deployment shop/web", "TSC114"),
        ("StatefulSet shop/db", "TSC110"),
    ]


def test_findings_stand_on_their_lines() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  topologySpreadConstraints:\n"
    text += "  - maxSkew: 0\n    topologyKey: zone\n    whenUnsatisfiable: DoNotSchedule\n"

    (workload,) = audit(text).workloads

    assert [(finding.rule, finding.line) for finding in workload.findings] == [("TSC001", 6)]
    assert (workload.source, workload.line, workload.namespace) == ("all.yaml", 1, "default")


def test_an_object_that_the_api_refuses_gets_no_advice() -> None:
    text = world.DEPLOYMENT.replace("maxSkew: 1", "maxSkew: 0")
    text = text.replace("matchLabels: {app: web}", "matchLabels: {app: other}")

    assert rules(audit(text)) == [("Deployment shop/web", "TSC001")]


@pytest.mark.parametrize(
    ("count", "found"), [(1_000, []), (1_001, [("Pod default/web", "TSC010")])]
)
def test_too_many_constraints_are_a_finding(count: int, found: list[Any]) -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\nspec:\n"
    constraint = "  - {maxSkew: 1, topologyKey: key-%d, whenUnsatisfiable: ScheduleAnyway,"
    constraint += " labelSelector: {matchLabels: {app: web}}}\n"
    listed = "".join(constraint % number for number in range(count))

    assert rules(audit(f"{head}  topologySpreadConstraints:\n{listed}")) == found


def test_a_null_selector_is_reported_once() -> None:
    text = world.DEPLOYMENT.replace("labelSelector: {matchLabels: {app: web}}", "")
    text = text.replace("matchLabelKeys: [pod-template-hash]", "")

    assert [rule for _, rule in rules(audit(text)) if rule in ("TSC021", "TSC102")] == ["TSC102"]


def test_wrong_types_are_findings_with_their_place() -> None:
    (workload,) = audit(world.DEPLOYMENT.replace("maxSkew: 1", "maxSkew: '1'")).workloads
    (found,) = workload.findings

    assert (found.rule, found.severity) == ("FieldValueTypeInvalid", AuditSeverity.DENY)
    assert found.field == "spec.template.spec.topologySpreadConstraints[0].maxSkew"
    assert (found.problem, found.line) == ("expected an integer, got a string", 12)


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


def test_actions_set_severities_and_switch_rules_off() -> None:
    actions = {**DEFAULT_ACTIONS, "TSC110": Action.DENY, "TSC114": Action.OFF}
    configured = replace(world.CONFIGURATION, actions=actions)

    report = audit(LIVE, options=audit_options(configured))

    assert [finding.severity for _, finding in report.findings()] == [AuditSeverity.DENY]


def test_only_the_requested_rules_and_namespaces_are_audited() -> None:
    options = audit_options(rules=frozenset({"TSC110"}), namespace="shop")

    report = audit(EVERYTHING, options=options)

    assert rules(report) == [("StatefulSet shop/db", "TSC110")]
    assert {workload.namespace for workload in report.workloads} == {"shop"}


def test_defaults_of_the_next_pods_are_reported() -> None:
    wanted = Constraint(
        max_skew=2, topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway"
    )
    profile = Profile(name="all", constraints=(wanted,))
    configured = replace(world.CONFIGURATION, profiles=(profile,))

    report = audit(LIVE, options=audit_options(configured))

    (database, _) = sorted(report.workloads, key=lambda workload: workload.name)
    assert database.defaults is not None
    assert database.defaults.profile == "all"
    assert database.defaults.constraints[0]["labelSelector"] == {"matchLabels": {"app": "db"}}
    assert ("StatefulSet shop/db", "TSC110") not in rules(report)


def test_the_summary_counts() -> None:
    counted = audit(EVERYTHING).summary

    assert (counted.workloads, counted.pods, counted.nodes) == (3, 5, 3)
    assert (counted.deny, counted.warn, counted.audit) == (1, 0, 2)
    assert (counted.spread, counted.uneven) == (0, 1)


def test_the_order_of_files_makes_no_difference() -> None:
    turned = "---".join(reversed(EVERYTHING.split("---\n")))

    assert rules(audit(f"---{turned}".replace("---", "---\n"))) == rules(audit(EVERYTHING))


def test_the_defaults_of_a_pod_are_those_of_its_own_labels() -> None:
    constraint = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway")
    profile = Profile(name="all", constraints=(constraint,))
    configured = replace(world.CONFIGURATION, profiles=(profile,))
    text = "{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {app: one}}, spec: {}}\n"
    text += (
        "---\n{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {app: one}}}"
    )

    (workload,) = audit(text, options=audit_options(configured)).workloads

    assert workload.defaults is not None
    assert workload.defaults.constraints[0]["labelSelector"] == {"matchLabels": {"app": "one"}}
