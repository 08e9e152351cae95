import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
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
from webhook.audit.exemptionreport import FROM_DEFAULTS, ExemptionSource
from webhook.audit.exemptions import ProjectExemptions
from webhook.audit.report import AuditSeverity, WorkloadReport
from webhook.config.project import Exemption
from webhook.policy import render
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


# change of a constraint -> rules of all findings about it
BROKEN = {
    "a broken number, and the selector of another": (
        {"maxSkew: 1": "maxSkew: 0", "matchLabels: {app: web}": "matchLabels: {app: other}"},
        ["TSC001", "TSC101"],
    ),
    "a broken number that advice would be about": ({"maxSkew: 1": "maxSkew: -4"}, ["TSC001"]),
    "a broken selector": ({"{app: web}}\n": "{app: -}}\n"}, ["TSC009"]),
    "a broken action, and a deprecated label": (
        {"DoNotSchedule": "Never", "topology.kubernetes.io/": "failure-domain.beta.kubernetes.io/"},
        ["TSC003", "TSC020"],
    ),
    "a misspelled selector": ({"labelSelector": "labelselector"}, ["TSC008", "TSC011"]),
    "an unknown field, and the selector of another": (
        {
            "maxSkew: 1": "maxSkew: 1\n        minDomain: 2",
            "matchLabels: {app: web}": "matchLabels: {app: other}",
        },
        ["TSC011", "TSC101"],
    ),
    "misspelled keys, and no selector": (
        {"        labelSelector: {matchLabels: {app: web}}\n": "", "LabelKeys": "LabelKey"},
        ["TSC011", "TSC021"],
    ),
    "a misplaced list": ({"topologySpreadConstraints": "topologySpreadConstraint"}, ["TSC011"]),
}


@pytest.mark.parametrize(("changes", "found"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_constraint_gets_advice_on_its_readable_fields(
    changes: dict[str, str], found: list[str]
) -> None:
    text = world.DEPLOYMENT
    for old, new in changes.items():
        text = text.replace(old, new)

    assert [rule for _, rule in rules(audit(text))] == found


IN_ONE_ZONE = {
    "spec:\n      containers": (
        "spec:\n      nodeSelector: {topology.kubernetes.io/zone: zone-a}\n      containers"
    )
}
IGNORING = {"maxSkew: 1": "maxSkew: 1\n        nodeAffinityPolicy: Ignore"}

# changes of a workload on the nodes of three zones -> rules of all findings about it
BROKEN_ON_NODES = {
    "a broken number, and one domain": (
        {**IN_ONE_ZONE, "maxSkew: 1": "maxSkew: 0"}, ["TSC001", "TSC120"]
    ),
    "a broken minDomains, and closed domains": (
        {**IN_ONE_ZONE, "maxSkew: 1": "minDomains: 0\n        nodeAffinityPolicy: Ignore\n"
         "        maxSkew: 1"},
        ["TSC005", "TSC116"],
    ),
    "a misspelled minDomains, and closed domains": (
        {**IN_ONE_ZONE, "maxSkew: 1": "minDomain: 2\n        nodeAffinityPolicy: Ignore\n"
         "        maxSkew: 1"},
        ["TSC011", "TSC116"],
    ),
    "a broken policy, and too few domains": (
        {"maxSkew: 1": "maxSkew: 1\n        minDomains: 5\n        nodeTaintsPolicy: honor"},
        ["TSC007", "TSC104"],
    ),
    "a broken number, and closed domains": (
        {**IN_ONE_ZONE, "maxSkew: 1": "maxSkew: 0\n        nodeAffinityPolicy: Ignore"},
        ["TSC001", "TSC120"],
    ),
    "a misspelled action, and a misspelled label": (
        {"DoNotSchedule": "doNotSchedule", "io/zone": "io/zon"}, ["TSC003", "TSC103"]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "found"), BROKEN_ON_NODES.values(), ids=BROKEN_ON_NODES.keys())
def test_a_broken_constraint_gets_advice_about_nodes(
    changes: dict[str, str], found: list[str]
) -> None:
    text = world.DEPLOYMENT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)

    assert [rule for _, rule in rules(audit(world.NODES + text))] == found


def test_strictness_makes_unknown_fields_denials() -> None:
    text = world.DEPLOYMENT.replace("topologySpreadConstraints", "topologySpreadConstraint")

    (loose,), (strict,) = (
        [finding.severity for _, finding in audit(text, options=options).findings()]
        for options in (audit_options(), audit_options(strict=True))
    )

    assert (loose, strict) == (AuditSeverity.WARN, AuditSeverity.DENY)


def test_an_exempted_unknown_field_is_listed_with_its_reason() -> None:
    text = world.DEPLOYMENT.replace("maxSkew: 1", "maxSkew: 1\n        fromTheFuture: 1")
    annotation = "annotations: {evenspread.io/exempt: TSC011=newer}"
    text = text.replace("namespace: shop}", f"namespace: shop, {annotation}}}", 1)

    (workload,) = audit(text, options=audit_options(strict=True)).workloads

    assert workload.findings == ()
    assert [(one.rule, one.reason) for one in workload.exempted] == [("TSC011", "newer")]


@given(st.lists(strategies.any_constraints, min_size=1, max_size=3))
def test_any_broken_constraints_are_audited(constraints: list[Constraint]) -> None:
    (document,) = yaml.safe_load_all(world.DEPLOYMENT)
    written = [render.constraint(constraint) for constraint in constraints]
    document["spec"]["template"]["spec"]["topologySpreadConstraints"] = written

    report = audit(world.NODES + "---\n" + json.dumps(document))

    assert report.summary.workloads == 1


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
