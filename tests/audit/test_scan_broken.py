"""Findings about broken constraints, which get advice on what can be read of them."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.audit import world
from tests.audit.world import (
    audit,
    audit_options,
    rules,
)
from webhook.audit.report import AuditSeverity
from webhook.policy import render
from webhook.policy.model import Constraint

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
