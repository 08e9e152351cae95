"""Selection of the changes that can be made together."""

import dataclasses

import pytest

from tests.fix.fixed import deployment, objects, options, reasons, run_fix
from webhook.audit.snapshot import Snapshot
from webhook.fix.changes import Change, Put
from webhook.fix.conflicts import (
    ALIASED_ELSEWHERE,
    CONFLICTING,
    Proposal,
    plan_document,
)
from webhook.fix.evaluate import Evaluation
from webhook.manifests import Document, parse
from webhook.manifests.edits import TextEdit
from webhook.manifests.positions import read_tree
from webhook.policy.model import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY

LIST = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {{name: a, labels: &labels {{app: web}}}}
  spec:
    topologySpreadConstraints: &spread
    - {{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: {action}, labelSelector: {{}}}}
- apiVersion: v1
  kind: Pod
  metadata: {{name: b, labels: *labels}}
  spec: {{topologySpreadConstraints: *spread}}
{more}"""


EXEMPT = """\
- apiVersion: v1
  kind: Pod
  metadata:
    {name: c, labels: *labels, annotations: {evenspread.io/exempt: "TSC102=counts all on purpose"}}
  spec: {topologySpreadConstraints: *spread}
"""


def test_an_anchor_is_edited_if_all_aliases_require_it() -> None:
    text = LIST.format(action=SCHEDULE_ANYWAY, more="")

    outcome = run_fix(text)

    selector = "labelSelector: {matchLabels: {app: web}}"
    expected = text.replace("maxSkew: 0", "maxSkew: 1").replace("labelSelector: {}", selector)
    assert outcome.texts["web.yaml"] == expected
    assert [(finding.rule, finding.object) for finding in outcome.fixed] == [
        ("TSC001", "Pod default/a"),
        ("TSC102", "Pod default/a"),
        ("TSC001", "Pod default/b"),
        ("TSC102", "Pod default/b"),
    ]


def test_an_anchor_is_left_if_one_alias_does_not_require_the_change() -> None:
    text = LIST.format(action=SCHEDULE_ANYWAY, more=EXEMPT).replace("maxSkew: 0", "maxSkew: 1")
    outcome = run_fix(text)

    assert outcome.texts["web.yaml"] == text
    assert reasons(outcome.left) == {"TSC102": ALIASED_ELSEWHERE.reason}


def test_a_typed_list_is_fixed_as_it_is_written() -> None:
    text = LIST.format(action=DO_NOT_SCHEDULE, more="").replace("kind: List", "kind: PodList")
    text = text.replace("- apiVersion: v1\n  kind: Pod\n  ", "- ")

    outcome = run_fix(text, options("TSC001"))

    assert outcome.texts["web.yaml"] == text.replace("maxSkew: 0", "maxSkew: 1")


def proposal(*changes: Change, text: str = "a: 1\nb: 2\n") -> Proposal:
    """A proposal for the document of a text, whatever its finding."""
    (document,) = parse(text, "web.yaml")
    assert isinstance(document, Document)
    (evaluated,) = Evaluation.of_documents(
        objects(deployment("")), Snapshot(), options()
    ).evaluate_objects()
    finding = evaluated.findings[0]
    return Proposal(dataclasses.replace(evaluated, document=document), finding, changes, "changed")


def test_of_conflicting_proposals_the_first_is_accepted_and_the_other_waits() -> None:
    tree = read_tree("a: 1\nb: 2\n")
    first, second = proposal(Put(("a",), 3)), proposal(Put(("a",), 4))

    plan = plan_document(tree, [first, second])

    assert (plan.accepted, plan.rejected) == ((first,), ())
    assert plan.edits == (TextEdit(3, 4, "3"),)


def test_a_change_that_must_be_made_alone_waits_for_others_of_its_object() -> None:
    tree = read_tree("a: 1\nb: 2\n")
    first, second = (
        dataclasses.replace(proposal(Put((name,), 3)), alone=True) for name in ("a", "b")
    )

    plan = plan_document(tree, [first, second])

    assert (plan.accepted, plan.rejected) == ((first,), ())


def test_nothing_else_is_changed_beside_a_change_that_must_be_made_alone() -> None:
    tree = read_tree("a: 1\nb: 2\n")
    first, second = (
        dataclasses.replace(proposal(Put(("a",), 3)), alone=True),
        proposal(Put(("b",), 3)),
    )

    assert plan_document(tree, [first, second]).accepted == (first,)
    assert plan_document(tree, [second, first]).accepted == (second,)


def test_a_proposal_that_conflicts_with_itself_is_rejected() -> None:
    tree = read_tree("a: 1\nb: 2\n")
    contradiction = proposal(Put(("a",), 3), Put(("a",), 4))

    plan = plan_document(tree, [contradiction])

    assert plan.rejected == ((contradiction, CONFLICTING),)


def test_a_proposal_without_a_safe_edit_is_rejected() -> None:
    tree = read_tree("a: !!str 1\n")

    plan = plan_document(tree, [proposal(Put(("a",), 3))])

    assert [obstacle.reason for _, obstacle in plan.rejected] == ["it has a tag: write it without"]


def test_proposals_that_all_wait_for_each_other_are_rejected() -> None:
    text = "x: &x {a: 1}\ny: *x\nz: 0\n"
    first = proposal(Put(("x", "a"), 2), Put(("z",), 1), text=text)
    second = proposal(Put(("y", "a"), 2), Put(("z",), 2), text=text)  # needs the same edit

    plan = plan_document(read_tree(text), [first, second])

    assert (plan.accepted, plan.changes, plan.edits) == ((), (), ())
    assert plan.rejected == ((first, CONFLICTING), (second, CONFLICTING))


MERGED = """\
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {app: web}}
spec:
  topologySpreadConstraints:
  - &c1
    maxSkew: 0
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
  - <<: *c1
    topologyKey: host
    whenUnsatisfiable: ScheduleAnyway
"""


def test_a_merged_mapping_is_edited_if_all_mappings_need_it() -> None:
    outcome = run_fix(MERGED)

    assert outcome.texts["web.yaml"] == MERGED.replace("maxSkew: 0", "maxSkew: 1")
    assert [finding.rule for finding in outcome.fixed] == ["TSC001", "TSC001"]


# a misspelled or superfluous line of the anchor -> what it becomes
IN_ALL = {
    "a renamed field": ("    minDomain: 3\n", "    minDomains: 3\n"),
    "a removed field": ("    minDomains: 0\n", ""),
    "a wrapped field": (
        "    matchLabels: {app: web}\n", "    labelSelector:\n      matchLabels: {app: web}\n"
    ),
    "a renamed field of a selector": (
        "    labelSelector: {matchLabel: {app: web}}\n",
        "    labelSelector: {matchLabels: {app: web}}\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), IN_ALL.values(), ids=IN_ALL.keys())
def test_a_field_is_changed_at_its_anchor_if_all_mappings_need_it(before: str, after: str) -> None:
    selector = "    labelSelector: {matchLabels: {app: web}}\n"
    text = MERGED.replace("maxSkew: 0", "maxSkew: 1").replace("ScheduleAnyway", "DoNotSchedule")
    text = text.replace(selector, before if "atchLabel" in before else before + selector)

    outcome = run_fix(text, options("TSC005", "TSC011"))

    assert outcome.texts["web.yaml"] == text.replace(before, after)
    assert len(outcome.fixed) == 2
    assert outcome.left == ()


def test_a_field_that_one_mapping_overrides_is_not_changed_at_its_anchor() -> None:
    text = MERGED.replace("    topologyKey: zone\n", "    topologyKey: zone\n    minDomain: 3\n")
    text = text.replace("    topologyKey: host\n", "    topologyKey: host\n    minDomain: 4\n")

    outcome = run_fix(text, options("TSC011"))

    assert "    topologyKey: zone\n    minDomain: 3\n" in outcome.texts["web.yaml"]


def test_a_merged_value_is_overridden_if_only_one_mapping_needs_it() -> None:
    (document,) = (item for item in parse(MERGED, "x") if isinstance(item, Document))
    evaluation = Evaluation.of_documents([document], Snapshot(), options())
    (evaluated,) = evaluation.evaluate_objects()
    path = ("spec", "topologySpreadConstraints", 1, "maxSkew")
    proposal = Proposal(evaluated, evaluated.findings[0], (Put(path, 2),), "")

    plan = plan_document(read_tree(MERGED), [proposal])

    assert plan.accepted == (proposal,)
    assert [edit.text.strip() for edit in plan.edits] == ["maxSkew: 2"]
    assert MERGED[plan.edits[0].start - 1 :].count("<<") == 0


WORKLOADS = """\
apiVersion: v1
kind: List
x-spread: &spread
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: wbe}}
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: web, labels: {app: web}}
  spec:
    <<: *spread
    priority: 1
- apiVersion: v1
  kind: Pod
  metadata: {name: api, labels: {app: api}}
  spec:
    <<: *spread
"""
OWN = """\
    topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: DoNotSchedule
      labelSelector:
        matchLabels:
          app: %s
"""


def test_workloads_that_merge_the_same_constraints_get_their_own() -> None:
    outcome = run_fix(WORKLOADS)

    expected = WORKLOADS.replace("    priority: 1\n", "    priority: 1\n" + OWN % "web")
    assert outcome.texts["web.yaml"] == expected + OWN % "api"
    assert [finding.rule for finding in outcome.fixed] == ["TSC101", "TSC101"]
