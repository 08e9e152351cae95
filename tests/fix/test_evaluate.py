"""Findings of objects, and of the same objects after a change."""

import dataclasses
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from tests.fix.fixed import context, deployment, objects, options
from webhook.audit.report import AuditSeverity
from webhook.fix.changes import Change, Move, Put, Remove
from webhook.fix.evaluate import EvaluatedObject, Evaluation
from webhook.policy.model import LabelSelector
from webhook.policy.paths import format_path

CONSTRAINTS = """\
      topologySpreadConstraints:
      - {maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
"""
SKEW = ("spec", "template", "spec", "topologySpreadConstraints", 0, "maxSkew")
MISSPELT = CONSTRAINTS.replace("maxSkew: 0", "maxSkew: 1, minDomain: 0")
MIN_DOMAIN, MIN_DOMAINS = (*SKEW[:-1], "minDomain"), (*SKEW[:-1], "minDomains")
ROLLOUT = """\
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: front, namespace: shop}
spec: {replicas: 2, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""


def evaluate(text: str, cluster: str = "") -> tuple[Evaluation, list[EvaluatedObject]]:
    evaluation = Evaluation.of_documents(objects(text), context(cluster), options())
    return evaluation, list(evaluation.evaluate_objects())


def obstacle(*changes: Change, rule: str = "TSC001", text: str = deployment(CONSTRAINTS)) -> str:
    """The obstacle to changes that should fix the finding of a rule; empty if there is none."""
    evaluation, (evaluated,) = evaluate(text)
    (finding,) = (one for one in evaluated.findings if one.rule == rule)
    found = evaluation.find_obstacle(evaluated, finding, changes)
    return found.reason if found else ""


def test_only_objects_to_evaluate_have_findings() -> None:
    other = deployment(CONSTRAINTS).replace("name: web", "name: other")

    _, evaluated = evaluate(deployment(CONSTRAINTS), other)

    assert [one.document.name for one in evaluated] == ["web"]
    assert [one.name for one in evaluated] == ["Deployment shop/web"]


def test_a_change_that_fixes_a_finding_has_no_obstacle() -> None:
    assert obstacle(Put(SKEW, 1)) == ""


def test_a_change_that_does_not_fix_the_finding_is_refused() -> None:
    assert obstacle(Put(SKEW, -1)) == "no change that could be written would fix it"


def test_a_change_that_causes_a_worse_finding_is_refused() -> None:
    action = Put((*SKEW[:-1], "whenUnsatisfiable"), "Never")

    assert obstacle(Put(SKEW, 1), action).startswith("the proposed value would cause TSC003: ")


def test_a_change_that_makes_the_object_unreadable_is_refused() -> None:
    assert obstacle(Put(SKEW, "1")) == (
        "written there, spec.template.spec.topologySpreadConstraints[0].maxSkew would be refused: "
        "expected an integer, got a string: first write an integer without quotes, such as 1"
    )


def test_a_change_that_removes_the_pod_template_is_refused() -> None:
    assert obstacle(Remove(SKEW[:2])) == "the object would have no pod template any more"


NODES = "".join(
    "---\napiVersion: v1\nkind: Node\n"
    f"metadata: {{name: {name}, labels: {{zone: {name[0]}, node: {name}}}}}\n"
    for name in ("a1", "b1", "b2", "b3")
)
UNEVEN = """\
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule,
         labelSelector: {matchLabels: {app: wbe}}}
      - {maxSkew: 2, topologyKey: node, whenUnsatisfiable: DoNotSchedule,
         labelSelector: {matchLabels: {app: wbe}}}
"""


def test_a_change_that_corrects_an_unknown_key_causes_no_pending_pods() -> None:
    misspelled = UNEVEN.replace("wbe", "web").replace("topologyKey: zone", "topologyKey: zonn")
    evaluation, (evaluated,) = evaluate(deployment(misspelled, replicas=6), NODES)
    finding = next(one for one in evaluated.findings if one.rule == "TSC103")
    change = Put((*SKEW[:-1], "topologyKey"), "zone")

    assert evaluation.find_obstacle(evaluated, finding, [change]) is None


def test_changes_may_cause_harm_only_together() -> None:
    evaluation, (evaluated,) = evaluate(deployment(UNEVEN, replicas=6), NODES)
    findings = [one for one in evaluated.findings if one.rule == "TSC101"]
    zone, node = (
        Put((*SKEW[:-2], index, "labelSelector", "matchLabels", "app"), "web") for index in (0, 1)
    )

    assert [
        evaluation.find_obstacle(evaluated, finding, [change])
        for finding, change in zip(findings, (zone, node), strict=True)
    ] == [None, None]
    assert not evaluation.fit_together(evaluated, [zone, node])
    assert evaluation.fit_together(evaluated, [zone])
    assert not evaluation.fit_together(evaluated, [Put((*SKEW[:3], "a", "b"), 1)])


def test_a_change_that_causes_a_finding_with_a_fix_may_be_made() -> None:
    tainted = NODES + (
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: cp, labels: {zone: c, node: cp}}\n"
        "spec: {taints: [{key: cp, effect: NoSchedule}]}\n"
    )
    change = Put((*SKEW[:-2], 0, "labelSelector", "matchLabels", "app"), "web")
    found: list[str] = []
    few = UNEVEN.replace("{maxSkew: 1,", "{maxSkew: 1, minDomains: 3,")  # fixed on request only
    for text, by in ((UNEVEN, options()), (UNEVEN, options("TSC101")), (few, options())):
        evaluation = Evaluation.of_documents(
            objects(deployment(text, replicas=6)), context(tainted), by
        )
        (evaluated,) = evaluation.evaluate_objects()
        finding = next(one for one in evaluated.findings if one.rule == "TSC101")
        obstacle = evaluation.find_obstacle(evaluated, finding, [change])
        found.append(obstacle.reason.partition(":")[0] if obstacle else "")

    caused = "the proposed value would cause TSC105"
    assert found == ["", caused, caused]


def test_objects_with_type_errors_are_reported() -> None:
    text = deployment(CONSTRAINTS.replace("maxSkew: 0", "maxSkew: x, maxSkew: y"))
    evaluation, evaluated = evaluate(text)

    assert evaluated == []
    (undecoded,) = evaluation.undecoded
    assert undecoded.name == "Deployment shop/web"
    assert [one.rule for one in undecoded.findings] == ["FieldValueTypeInvalid", "TSC012"]
    assert undecoded.is_duplicate(SKEW)
    assert not undecoded.is_duplicate(MIN_DOMAINS)


def test_whether_a_change_gives_a_value_its_type() -> None:
    text = deployment(CONSTRAINTS.replace("maxSkew: 0", "maxSkew: x, minDomains: y"))
    evaluation, _ = evaluate(text)
    (undecoded,) = evaluation.undecoded
    field = format_path(SKEW)

    assert evaluation.has_type_after(undecoded, field, Put(SKEW, 1))
    assert not evaluation.has_type_after(undecoded, field, Put(SKEW, "1"))
    assert not evaluation.has_type_after(undecoded, field, Put(MIN_DOMAINS, 1))


def test_a_controller_that_only_its_pods_name_is_not_evaluated() -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: "1", controller: true}]
spec: {nodeName: node-a, containers: []}
"""

    _, evaluated = evaluate(pod + "---\n" + deployment(CONSTRAINTS))

    assert [one.document.kind for one in evaluated] == ["Deployment"]


def test_all_rules_are_selected_if_none_is_named() -> None:
    _, (evaluated,) = evaluate(deployment(CONSTRAINTS))
    finding = next(one for one in evaluated.findings if one.rule == "TSC001")

    assert options().selects(finding)
    assert options("TSC001").selects(finding)
    assert not options("TSC002").selects(finding)


def test_objects_that_are_not_selected_are_not_evaluated() -> None:
    other = deployment(CONSTRAINTS).replace("name: web", "name: other")
    evaluation, _ = evaluate(deployment(CONSTRAINTS) + "---\n" + other)

    evaluated = evaluation.evaluate_objects(lambda one: one.subject.metadata.name == "other")

    assert [one.document.name for one in evaluated] == ["other"]


# only namespace, required labels, whether the object is included
INCLUDED: dict[str, tuple[str, dict[str, str], bool]] = {
    "everything": ("", {}, True),
    "its namespace": ("shop", {}, True),
    "another namespace": ("bank", {}, False),
    "its own label": ("", {"team": "a"}, True),
    "a label of its pods": ("", {"app": "web"}, False),
    "its label in another namespace": ("bank", {"team": "a"}, False),
}


@pytest.mark.parametrize(("only", "labels", "included"), INCLUDED.values(), ids=INCLUDED.keys())
def test_objects_are_included_by_namespace_and_own_labels(
    only: str, labels: dict[str, str], *, included: bool
) -> None:
    _, (evaluated,) = evaluate(
        deployment(CONSTRAINTS).replace("namespace: shop}", "namespace: shop, labels: {team: a}}")
    )
    selecting = dataclasses.replace(options(), only=only, labels=LabelSelector(labels))

    assert selecting.includes(evaluated.audited) is included


# named rules, severity of the finding, whether it is fixed at the level "warn"
FIXED: dict[str, tuple[tuple[str, ...], AuditSeverity, bool]] = {
    "above the level": ((), AuditSeverity.DENY, True),
    "at the level": ((), AuditSeverity.WARN, True),
    "below the level": ((), AuditSeverity.AUDIT, False),
    "below the level, of a named rule": (("TSC001",), AuditSeverity.AUDIT, True),
}


@pytest.mark.parametrize(("rules", "severity", "fixed"), FIXED.values(), ids=FIXED.keys())
def test_findings_are_fixed_from_a_level_on_or_by_named_rules(
    rules: tuple[str, ...], severity: AuditSeverity, *, fixed: bool
) -> None:
    _, (evaluated,) = evaluate(deployment(CONSTRAINTS))
    by = dataclasses.replace(options(*rules), level=AuditSeverity.WARN)

    assert by.fixes(replace(evaluated.findings[0], severity=severity)) is fixed


def test_a_change_inside_a_field_that_is_not_written_is_refused() -> None:
    inside = Put(("spec", "strategy", "rollingUpdate", "maxSurge"), 1)

    assert obstacle(inside) == "the field that would contain the change is not written"


def test_a_correct_name_fixes_an_unknown_field_though_it_reveals_other_findings() -> None:
    text = deployment(MISSPELT)

    assert obstacle(Move(MIN_DOMAIN, MIN_DOMAINS, 0), rule="TSC011", text=text) == ""


def test_an_unknown_field_that_stays_is_not_fixed() -> None:
    found = obstacle(Put(MIN_DOMAIN, 2), rule="TSC011", text=deployment(MISSPELT))

    assert found == "no change that could be written would fix it"


def test_replicas_of_a_rollout_that_refers_to_the_object_stay_in_force() -> None:
    loose = CONSTRAINTS.replace("maxSkew: 0", "maxSkew: 3").replace(
        "labelSelector: {}", "labelSelector: {matchLabels: {app: web}}"
    )
    alone, change = deployment(loose, replicas=2), Put(("spec", "replicas"), 9)

    assert obstacle(change, rule="TSC112", text=alone) == ""
    assert obstacle(change, rule="TSC112", text=alone + ROLLOUT) == (
        "no change that could be written would fix it"
    )


EXEMPTED = (
    deployment(CONSTRAINTS.replace("maxSkew: 0", "maxSkew: 1"))
    + """\
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: legacy, namespace: shop}
spec: {rules: [TSC102], reason: old, expires: "2027-01-31T00:00:00Z"}
"""
)


@pytest.mark.parametrize(("year", "found"), [(2026, []), (2028, ["TSC102"])])
def test_findings_are_exempt_until_an_exception_expires(year: int, found: list[str]) -> None:
    scope = dataclasses.replace(options(), now=datetime(year, 1, 1, tzinfo=UTC))
    evaluation = Evaluation.of_documents(objects(EXEMPTED), context(""), scope)

    (evaluated,) = evaluation.evaluate_objects()

    assert [one.rule for one in evaluated.findings if one.rule == "TSC102"] == found


TWO_NODES = "".join(
    f"---\n{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{a: {name}}}}}}}\n"
    for name in ("n1", "n2")
)
VALID = CONSTRAINTS.replace("maxSkew: 0", "maxSkew: 1")

# constraints before and after, whether the object is worse off
WORSE_OFF: dict[str, tuple[str, str, bool]] = {
    "refused before": (CONSTRAINTS, VALID, False),
    "refused afterwards": (VALID, CONSTRAINTS, True),
    "a key of no node": (VALID, VALID.replace("topologyKey: a", "topologyKey: b"), True),
    "a key of no node before": (VALID.replace("topologyKey: a", "topologyKey: b"), VALID, False),
    "more domains than there are": (
        VALID,
        VALID.replace("maxSkew: 1", "maxSkew: 1, minDomains: 3"),
        True,
    ),
    "as before": (VALID, VALID, False),
}


@pytest.mark.parametrize(("old", "new", "expected"), WORSE_OFF.values(), ids=WORSE_OFF.keys())
def test_whether_an_object_is_worse_off(old: str, new: str, expected: bool) -> None:
    selected = "labelSelector: {matchLabels: {app: web}}"
    texts = [
        deployment(text.replace("labelSelector: {}", selected), replicas=3) for text in (old, new)
    ]
    (evaluation, (before,)), (_, (after,)) = (evaluate(text, TWO_NODES) for text in texts)

    assert evaluation.becomes_worse(before, after) is expected
