import dataclasses
import json

import msgspec
import pytest
from msgspec.structs import replace

from tests.audit import customs, world
from tests.audit.world import (
    EVERYTHING,
    LIVE,
    audit,
    audit_options,
    gather,
    report_on,
    rules,
)
from webhook.audit.defaultedpods import DefaultedPods
from webhook.audit.exemptions import ProjectExemptions
from webhook.audit.report import AuditSeverity, WorkloadReport
from webhook.config.project import Exemption
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import FieldDefaults, Mode, Profile
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION, Provenance
from webhook.policy.model import ZONE, Constraint
from webhook.policy.rule_entry import Action


def test_every_rule_is_applied_to_every_workload() -> None:
    assert rules(audit(EVERYTHING)) == [
        ("Pod ops/lone", "TSC001"),
        ("Deployment shop/web", "TSC114"),
        ("StatefulSet shop/db", "TSC110"),
    ]


def test_a_rollout_with_the_template_of_a_deployment_has_no_findings() -> None:
    rollout = (
        "---\napiVersion: argoproj.io/v1alpha1\nkind: Rollout\n"
        "metadata: {name: front, namespace: shop}\n"
        "spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
    )

    found = audit(world.DEPLOYMENT + rollout)

    assert [(one.kind, bool(one.findings)) for one in found.workloads] == [
        ("Deployment", True),
        ("Rollout", False),
    ]


def test_findings_stand_on_their_lines() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  topologySpreadConstraints:\n"
    text += "  - maxSkew: 0\n    topologyKey: zone\n    whenUnsatisfiable: DoNotSchedul\n"

    (workload,) = audit(text).workloads

    assert [(finding.rule, finding.line) for finding in workload.findings] == [
        ("TSC001", 6),
        ("TSC003", 8),
        ("TSC102", 6),
    ]
    assert (workload.source, workload.line, workload.namespace) == ("all.yaml", 1, "default")


def test_actions_set_severities_and_switch_rules_off() -> None:
    actions = {**DEFAULT_ACTIONS, "TSC110": Action.DENY, "TSC114": Action.OFF}
    configured = replace(world.CONFIGURATION, actions=actions)

    report = audit(LIVE, options=audit_options(configured))

    assert [finding.severity for _, finding in report.findings()] == [AuditSeverity.DENY]


def test_the_rules_of_a_profile_set_severities_for_its_workloads() -> None:
    sets = Profile(
        name="sets",
        owner_kinds=frozenset({"StatefulSet"}),
        actions={"TSC110": Action.DENY},
        exemptible={"TSC110": False},
    )
    exempt_all = Exemption(where="p:3", rules=frozenset({"TSC110", "TSC114"}), reason="legacy")
    configured = replace(world.CONFIGURATION, profiles=(sets,))
    options = audit_options(configured, exemptions=ProjectExemptions([exempt_all]))

    report = audit(LIVE, options=options)

    found = [one for workload in report.workloads for one in workload.findings]
    assert [(one.rule, one.severity) for one in found] == [("TSC110", AuditSeverity.DENY)]
    exempted = [one for workload in report.workloads for one in workload.exempted]
    assert [one.rule for one in exempted] == ["TSC114"]


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


def test_defaults_that_are_only_recommended_are_none_of_the_next_pods() -> None:
    wanted = Constraint(max_skew=2, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway")
    applied = Profile(name="all", constraints=(wanted,))
    recommended = replace(applied, mode=Mode.RECOMMEND)
    configured = replace(world.CONFIGURATION, profiles=(recommended,))
    in_file = replace(world.CONFIGURATION, profiles=(applied,), mode=Mode.RECOMMEND)

    for one in (configured, in_file):
        workloads = audit(LIVE + "---\n" + POD, options=audit_options(one)).workloads
        assert [workload.defaults for workload in workloads] == [None] * 3


POD = "{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {app: one}}, spec: {}}\n"


def test_pods_with_defaults_are_counted_by_profile() -> None:
    written = Provenance("all", (), ("topology.kubernetes.io/zone",), "")
    annotations = json.dumps({DEFAULTS_ANNOTATION: msgspec.json.encode(written).decode()})
    annotated = f'"namespace":"shop","annotations":{annotations},"labels"'
    text = LIVE.replace('"namespace":"shop","labels"', annotated)
    configured = replace(world.CONFIGURATION, profiles=(Profile(name="all"),))

    (web, _) = sorted(audit(text, options=audit_options(configured)).workloads, key=title)

    assert web.defaulted == (DefaultedPods(profile="all", pods=4, uneven=True),)
    assert not any(report.defaulted for report in audit(text).workloads)


def title(report: WorkloadReport) -> str:
    return report.title


def test_the_summary_counts() -> None:
    counted = audit(EVERYTHING).summary

    assert (counted.workloads, counted.pods, counted.nodes) == (3, 4, 3)
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


def test_the_keys_of_a_pod_that_was_stored_are_in_its_selector() -> None:
    manifest = world.STORED_POD.replace("uid: 9f0c2f3e, ", "")

    assert "TSC008" not in {rule for _, rule in rules(audit(world.STORED_POD))}
    assert "TSC008" in {rule for _, rule in rules(audit(manifest))}


@pytest.mark.parametrize(("strict", "severity"), [(False, "warn"), (True, "deny")])
def test_a_template_whose_pods_are_refused_is_a_finding(strict: bool, severity: str) -> None:
    text = world.DEPLOYMENT.replace("pod-template-hash", "app")

    report = audit(text, options=audit_options(strict=strict))

    (found,) = (item for _, item in report.findings() if item.rule == "TSC008")
    assert (found.severity, found.field[-17:]) == (severity, "matchLabelKeys[0]")


def test_a_broken_field_does_not_hide_that_pods_are_refused() -> None:
    text = world.DEPLOYMENT.replace("pod-template-hash", "app").replace("maxSkew: 1", "maxSkew: 0")

    found = {item.rule: item for _, item in audit(text).findings()}

    assert (found["TSC001"].severity, found["TSC008"].severity) == ("deny", "warn")


def test_pods_of_an_unknown_controller_are_no_template() -> None:
    pod = world.STORED_POD.replace("uid: 9f0c2f3e,", "ownerReferences: [{kind: Web, name: web, "
                                   "apiVersion: example.io/v1, controller: true}],")  # fmt: skip

    assert "TSC008" not in {rule for _, rule in rules(audit(pod))}


def test_a_snapshot_does_not_contain_the_identity_of_pods() -> None:
    assert b"9f0c2f3e" not in msgspec.json.encode(gather(world.STORED_POD).snapshot, enc_hook=str)


def test_every_template_of_an_object_has_a_report() -> None:
    found = audit(customs.JOB_SET)

    assert [(workload.title, workload.replicas) for workload in found.workloads] == [
        ("JobSet shop/train, template driver", 1),
        ("JobSet shop/train, template workers", 6),
    ]
    (finding,) = found.workloads[1].findings
    at = "spec.replicatedJobs[1].template.spec.template.spec.topologySpreadConstraints[0]"
    assert (finding.rule, finding.field, finding.line) == ("TSC001", f"{at}.maxSkew", 22)


def test_a_bare_list_is_judged_by_the_api_rules() -> None:
    snapshot = gather(customs.CLUSTER, configuration=customs.WITH_LISTS).snapshot

    report = report_on(snapshot, audit_options(customs.WITH_LISTS))

    assert rules(report) == [("Cluster shop/db", "TSC001")]


def test_a_bare_list_gets_no_advice_that_needs_labels() -> None:
    text = customs.CLUSTER.replace("maxSkew: 0", "maxSkew: 1")
    snapshot = gather(text, configuration=customs.WITH_LISTS).snapshot

    report = report_on(snapshot, audit_options(customs.WITH_LISTS))

    assert rules(report) == []


def test_omitted_fields_are_filled_in_as_the_server_does() -> None:
    pod = (
        "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}},"
        " spec: {topologySpreadConstraints:"
        " [{maxSkew: 1, topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}"
    )
    options = audit_options()
    as_written = replace(options.policy, field_defaults=FieldDefaults.NONE)

    assert rules(report_on(gather(pod).snapshot, options)) == []
    assert rules(
        report_on(gather(pod).snapshot, dataclasses.replace(options, policy=as_written))
    ) == [("Pod default/web", "TSC003")]
