"""Findings of objects, and of the same objects after a change."""

from tests.fix.fixed import deployment, objects, options
from webhook.fix.changes import Put, Remove
from webhook.fix.evaluate import EvaluatedObject, Evaluation

CONSTRAINTS = """\
      topologySpreadConstraints:
      - {maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
"""
SKEW = ("spec", "template", "spec", "topologySpreadConstraints", 0, "maxSkew")


def evaluate(text: str, context: str = "") -> tuple[Evaluation, list[EvaluatedObject]]:
    evaluation = Evaluation(objects(text), objects(context), options())
    return evaluation, list(evaluation.evaluate_objects())


def obstacle(*changes: Put | Remove) -> str:
    """The obstacle to changes that should fix TSC001; empty if there is none."""
    evaluation, (evaluated,) = evaluate(deployment(CONSTRAINTS))
    (finding,) = (one for one in evaluated.findings if one.rule == "TSC001")
    found = evaluation.find_obstacle(evaluated, finding, changes)
    return found.reason if found else ""


def test_only_objects_to_evaluate_have_findings() -> None:
    other = deployment(CONSTRAINTS).replace("name: web", "name: other")

    _, evaluated = evaluate(deployment(CONSTRAINTS), other)

    assert [one.document.name for one in evaluated] == ["web"]


def test_a_change_that_fixes_a_finding_has_no_obstacle() -> None:
    assert obstacle(Put(SKEW, 1)) == ""


def test_a_change_that_does_not_fix_the_finding_is_refused() -> None:
    assert obstacle(Put(SKEW, -1)) == "no change that could be written would fix it"


def test_a_change_that_causes_a_worse_finding_is_refused() -> None:
    action = Put((*SKEW[:-1], "whenUnsatisfiable"), "Never")

    assert obstacle(Put(SKEW, 1), action).startswith("the proposed value would cause TSC003: ")


def test_a_change_that_makes_the_object_unreadable_is_refused() -> None:
    assert obstacle(Put(SKEW, "1")) == "the object could not be read any more"


def test_objects_with_type_errors_are_reported() -> None:
    text = deployment(CONSTRAINTS.replace("maxSkew: 0", "maxSkew: x"))
    evaluation, evaluated = evaluate(text)

    assert evaluated == []
    (report,) = evaluation.type_errors
    assert report.name == "web"


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
