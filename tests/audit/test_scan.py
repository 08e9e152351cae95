from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit import world
from tests.audit.world import EVERYTHING, LIVE, audit, question, rules
from webhook.audit.report import AuditSeverity
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import Constraint


def test_every_rule_is_asked_about_every_workload() -> None:
    assert rules(audit(EVERYTHING)) == [
        ("Pod ops/lone", "TSC001"),
        ("Deployment shop/web", "TSC114"),
        ("StatefulSet shop/db", "TSC110"),
    ]


def test_findings_stand_on_their_lines() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  topologySpreadConstraints:\n"
    text += "  - maxSkew: 0\n    topologyKey: zone\n    whenUnsatisfiable: DoNotSchedule\n"

    (workload,) = audit(text).workloads

    assert [(each.rule, each.line) for each in workload.findings] == [("TSC001", 6)]
    assert (workload.source, workload.line, workload.namespace) == ("all.yaml", 1, "default")


def test_what_the_api_refuses_is_not_advised_on() -> None:
    text = world.DEPLOYMENT.replace("maxSkew: 1", "maxSkew: 0")
    text = text.replace("matchLabels: {app: web}", "matchLabels: {app: other}")

    assert rules(audit(text)) == [("Deployment shop/web", "TSC001")]


@pytest.mark.parametrize(
    ("count", "found"), [(1_000, []), (1_001, [("Pod default/web", "TSC010")])]
)
def test_what_the_hooks_deny_for_its_length_is_told(count: int, found: list[Any]) -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\nspec:\n"
    each = "  - {maxSkew: 1, topologyKey: key-%d, whenUnsatisfiable: ScheduleAnyway,"
    each += " labelSelector: {matchLabels: {app: web}}}\n"
    listed = "".join(each % number for number in range(count))

    assert rules(audit(f"{head}  topologySpreadConstraints:\n{listed}")) == found


def test_a_null_selector_is_told_once() -> None:
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

    assert [(each.rule, each.reason) for each in workload.exempted] == [
        ("TSC110", "one zone by contract")
    ]
    assert [(each.rule, each.severity) for each in workload.findings] == [
        ("exempt", AuditSeverity.WARN)
    ]


def test_actions_weigh_findings_and_switch_rules_off() -> None:
    actions = {**DEFAULT_ACTIONS, "TSC110": Action.DENY, "TSC114": Action.OFF}
    configured = replace(world.CONFIGURATION, actions=actions)

    report = audit(LIVE, asked=question(configured))

    assert [finding.severity for _, finding in report.findings()] == [AuditSeverity.DENY]


def test_only_the_rules_and_namespaces_that_are_asked_for() -> None:
    asked = question(rules=frozenset({"TSC110"}), namespaces=frozenset({"shop"}))

    report = audit(EVERYTHING, asked=asked)

    assert rules(report) == [("StatefulSet shop/db", "TSC110")]
    assert {each.namespace for each in report.workloads} == {"shop"}


def test_what_would_be_injected_is_told() -> None:
    wanted = Constraint(
        max_skew=2, topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway"
    )
    profile = Profile(name="all", constraints=(wanted,))
    configured = replace(world.CONFIGURATION, profiles=(profile,))

    report = audit(LIVE, asked=question(configured))

    (database, _) = sorted(report.workloads, key=lambda each: each.name)
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

    (workload,) = audit(text, asked=question(configured)).workloads

    assert workload.defaults is not None
    assert workload.defaults.constraints[0]["labelSelector"] == {"matchLabels": {"app": "one"}}
