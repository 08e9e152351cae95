import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.audit import world
from tests.audit.world import NODES
from tests.fix import manifests
from tests.fix.fixed import SOURCE, deployment, options, reasons, run_fix
from webhook.audit.report import AuditSeverity
from webhook.fix.engine import MOST_ROUNDS
from webhook.manifests import Document, parse
from webhook.policy.api.versions import Version
from webhook.policy.catalogue import TYPE_INVALID
from webhook.policy.model import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY

APP = "labelSelector: {matchLabels: {app: web}}"
CONSTRAINTS = """\
      topologySpreadConstraints:
      - maxSkew: 0
        topologyKey: zone
        whenUnsatisfiable: DoNotSchedul
        minDomains: 0
"""


def test_what_one_finding_hides_is_fixed_in_the_next_round() -> None:
    outcome = run_fix(deployment(CONSTRAINTS), cluster=NODES)

    rules = [finding.rule for finding in outcome.fixed]
    assert rules == ["TSC001", "TSC003", "TSC102", "TSC103", "TSC005", "TSC107"]
    assert outcome.left == ()


# what is broken beside a key that the selector has as well -> the rules that are fixed
KEY_IN_BOTH: dict[str, tuple[str, list[str]]] = {
    "a value": ("maxSkew: 0, whenUnsatisfiable: ScheduleAnyway", ["TSC001", "TSC008"]),
    "a word": ("maxSkew: 1, whenUnsatisfiable: DoNotSchedul", ["TSC003", "TSC008"]),
    "minDomains": (
        "maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, minDomains: 3",
        ["TSC006", "TSC008"],
    ),
}


@pytest.mark.parametrize(("members", "rules"), KEY_IN_BOTH.values(), ids=KEY_IN_BOTH.keys())
def test_a_key_that_the_selector_has_as_well_hinders_no_fix(members: str, rules: list[str]) -> None:
    entry = f"{{topologyKey: kubernetes.io/hostname, {members}, {APP}, matchLabelKeys: [app]}}"
    text = deployment(f"      topologySpreadConstraints: [{entry}]\n")

    outcome = run_fix(text, options(*rules))
    alone = run_fix(text, options(rules[0]))
    again = run_fix(outcome.texts, options(*rules))

    assert ([finding.rule for finding in outcome.fixed], outcome.left) == (rules, ())
    assert ([finding.rule for finding in alone.fixed], alone.left) == (rules[:1], ())
    assert (again.fixed, again.texts) == ((), outcome.texts)


TYPO = "labelSelector: {matchLabels: {app: wbe}}"
CROWDED = f"""\
      topologySpreadConstraints:
      - {{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,
         {TYPO}}}
      - {{maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule,
         {TYPO}}}
"""
NODE_D = "---" + NODES.rpartition("---")[2].replace("node-c", "node-d")
ONE_AND_THREE = (NODES + NODE_D).replace("zone-c", "zone-b")


def test_changes_that_harm_only_together_are_not_made_in_one_round() -> None:
    outcome = run_fix(deployment(CROWDED, replicas=6), options("TSC101"), ONE_AND_THREE)

    assert [finding.field.partition("[")[2] for finding in outcome.fixed] == ["0].labelSelector"]
    assert "in some order of placement" in reasons(outcome.left)["TSC101"]


def test_fixed_findings_have_lines_of_the_original_file() -> None:
    text = "# one\n" + deployment(CONSTRAINTS)

    outcome = run_fix(text, cluster=NODES)

    lines = text.splitlines()
    found = {finding.rule: lines[finding.line - 1].strip() for finding in outcome.fixed}
    assert found["TSC001"] == "- maxSkew: 0"
    assert found["TSC005"] == "minDomains: 0"
    assert found["TSC103"] == "topologyKey: zone"
    assert found["TSC107"] == "- maxSkew: 0"


@pytest.mark.parametrize(("as_read", "line"), [(True, 16), (False, 20)])
def test_remaining_findings_have_lines_of_the_requested_text(as_read: bool, line: int) -> None:
    more = CONSTRAINTS + "      - {maxSkew: 1, topologyKey: '', whenUnsatisfiable: DoNotSchedule}\n"

    outcome = run_fix(deployment(more))

    left = outcome.left_as_read({SOURCE} if as_read else {})
    assert {finding.rule: finding.line for finding in left}["TSC002"] == line


TWICE = """\
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels: {app: web}
          matchExpressions: [{key: app, operator: In, values: [web]}]
        matchLabelKeys: [app]
"""


def test_no_file_is_changed_before_all_are_fixed(tmp_path: Path) -> None:
    """The caller writes them: an error on the way leaves each as it was."""
    text = deployment(TWICE)
    path = tmp_path / "web.yaml"
    path.write_text(text)

    outcome = run_fix({str(path): text})

    assert outcome.texts[str(path)] != text
    assert path.read_text() == text


def test_an_edit_that_fixes_several_errors_of_a_field_is_reported_once() -> None:
    outcome = run_fix(deployment(TWICE), options("TSC008"))

    assert [finding.wrote for finding in outcome.fixed] == ["removed matchLabelKeys: [app]"]


def test_the_same_errors_of_two_fields_are_reported_twice() -> None:
    entry = "{maxSkew: 0, topologyKey: %s, whenUnsatisfiable: ScheduleAnyway, " + APP + "}"
    listed = f"      topologySpreadConstraints: [{entry % 'a'}, {entry % 'b'}]\n"

    outcome = run_fix(deployment(listed), options("TSC001"))

    assert [finding.wrote for finding in outcome.fixed] == ["wrote maxSkew: 1, not 0"] * 2


def test_equal_findings_that_are_left_are_reported_once() -> None:
    outcome = run_fix(deployment(TWICE.replace("[web]", "[other]")), options("TSC008"))

    assert [finding.rule for finding in outcome.left] == ["TSC008"]


def test_an_object_with_a_value_of_a_wrong_type_is_left() -> None:
    text = deployment(CONSTRAINTS.replace("maxSkew: 0", "maxSkew: x"))

    outcome = run_fix(text)

    assert reasons(outcome.left) == {TYPE_INVALID: "a value of a wrong type is corrected by hand"}
    assert [finding.object for finding in outcome.left] == ["Deployment shop/web"]


def test_a_finding_that_needs_too_many_rounds_is_left() -> None:
    keys = ", ".join(["app"] * (MOST_ROUNDS + 5))  # a round removes one of them
    constraint = f"{{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, {APP}"
    text = deployment(
        f"      topologySpreadConstraints: [{constraint}, matchLabelKeys: [{keys}]}}]\n"
    )

    outcome = run_fix(text, options("TSC008", version=Version(1, 33)))

    assert len(outcome.fixed) == MOST_ROUNDS
    assert {finding.reason for finding in outcome.left} == {"it was still changing"}


def test_facts_are_not_fixed() -> None:
    outcome = run_fix({}, cluster=deployment(CONSTRAINTS))

    assert outcome[:4] == ({}, (), (), ())


def test_facts_that_cannot_be_read_are_reported() -> None:
    outcome = run_fix("apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: 1}\n")

    assert [str(problem) for problem in outcome.problems] == [
        "web.yaml:3: Node/a: metadata.labels: expected an object, got an integer"
    ]


def test_pods_that_are_uneven_are_left() -> None:
    outcome = run_fix(world.LIVE, options("TSC114"))

    assert {finding.rule for finding in outcome.left} == {"TSC114"}
    assert outcome.texts["web.yaml"] == world.LIVE


def test_findings_below_the_level_are_left() -> None:
    text = deployment(
        "      topologySpreadConstraints:\n"
        "      - {maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}\n"
    )
    by = replace(options(), level=AuditSeverity.DENY)

    outcome = run_fix(text, by)

    assert [finding.rule for finding in outcome.fixed] == ["TSC001"]
    assert reasons(outcome.left) == {
        "TSC102": "its severity is warn: --level warn fixes it, as does --rules TSC102"
    }


def test_two_rules_that_exclude_each_other_do_not_take_turns() -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,
         labelSelector: {matchLabels: {app: web}}}
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule,
         labelSelector: {matchLabels: {app: web}}}
"""
    shapes = [("a1", "a"), ("b1", "b"), ("b2", "b"), ("b3", "b")]
    nodes = "".join(
        f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: "
        f"{{kubernetes.io/hostname: {name}, topology.kubernetes.io/zone: {zone}}}}}\n"
        for name, zone in shapes
    )
    both = options("TSC109", "TSC112")

    outcome = run_fix(text, both, nodes)
    again = run_fix(outcome.texts, both, nodes)

    assert [finding.rule for finding in outcome.fixed] == ["TSC109"]
    assert (again.texts, again.fixed) == (outcome.texts, ())


def _written(constraint: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    return {key: constraint[key] for key in keys if key in constraint}


MEMBERS = [
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
    "labelSelector",
]
constraints = st.fixed_dictionaries(
    {},
    optional={
        "maxSkew": st.integers(-1, 4),
        "topologyKey": st.sampled_from(
            ["zone", "rack", "topology.kubernetes.io/zone", "beta.kubernetes.io/os", ""]
        ),
        "whenUnsatisfiable": st.sampled_from(
            [DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, "donotschedule", "Maybe"]
        ),
        "minDomains": st.integers(-1, 5),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "ignore", ""]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Honour"]),
        "matchLabelKeys": st.lists(strategies.keys, max_size=3),
        "labelSelector": st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "matchLabels": strategies.labels,
                "matchExpressions": st.lists(
                    st.fixed_dictionaries(
                        {
                            "key": strategies.keys,
                            "operator": st.sampled_from(["In", "exists", "Exists", "Equals"]),
                        },
                        optional={"values": st.lists(strategies.values, max_size=2)},
                    ),
                    max_size=2,
                ),
            },
        ),
    },
).flatmap(lambda members: st.permutations(MEMBERS).map(lambda keys: _written(members, keys)))

pods = st.builds(
    lambda labels, held, kind: {
        "apiVersion": "v1" if kind == "Pod" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop", "labels": labels},
        "spec": {"topologySpreadConstraints": held}
        if kind == "Pod"
        else {
            "replicas": 3,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"topologySpreadConstraints": held},
            },
        },
    },
    strategies.labels,
    st.lists(constraints, max_size=4),
    st.sampled_from(["Pod", "Deployment"]),
)
TEXTS = st.lists(manifests.texts(pods), min_size=1, max_size=2).map("\n---\n".join)


@given(TEXTS, st.sampled_from(["", NODES]))
def test_any_manifest_is_fixed_once_and_for_all(text: str, cluster: str) -> None:
    outcome = run_fix(text, cluster=cluster)
    after = outcome.texts["web.yaml"]
    again = run_fix(after, cluster=cluster)

    assert (outcome.problems, again.fixed, again.texts["web.yaml"]) == ((), (), after)
    assert manifests.comments(after) == manifests.comments(text)
    assert _outside(after) == _outside(text)
    assert again.left == outcome.left


def _outside(text: str) -> list[Any]:
    """The documents of a text without their constraints."""
    kept = []
    for document in parse(text, "x"):
        assert isinstance(document, Document)
        value = msgspec.json.decode(msgspec.json.encode(document.value))
        value["spec"].get("template", value)["spec"].pop("topologySpreadConstraints", None)
        kept.append(value)
    return kept


@pytest.mark.parametrize("pieces", list(itertools.permutations(["maxSkew: 0", "minDomains: 2"])))
def test_lines_that_are_not_touched_stay_to_the_byte(pieces: tuple[str, str]) -> None:
    rest = ["topologyKey:   'zone'   # as it is", "whenUnsatisfiable:  ScheduleAnyway"]
    rest += ["labelSelector: { matchLabels: {app : web} }", "matchLabelKeys: [ pod-template-hash]"]
    text = deployment(
        "      topologySpreadConstraints:\n      -\n"
        + "".join(f"        {line}\n" for line in (*pieces, *rest))
        + "\n\n# the end\n\n"
    )

    outcome = run_fix(text)

    expected = text.replace("maxSkew: 0", "maxSkew: 1").replace("        minDomains: 2\n", "")
    assert outcome.texts["web.yaml"] == expected
