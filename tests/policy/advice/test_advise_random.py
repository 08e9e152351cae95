"""Advice on random subjects, in random contexts."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from itertools import product

import msgspec
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import NAMESPACE, FakeFacts, Json, kind_of, policy, spread
from tests.policy.advice import realistic
from tests.policy.advice.subjects import audit, deployed, node, running, subject
from tests.policy.placement.clusters import node_lists
from tests.strategies import any_lists, clusters, labels, policies
from webhook.policy.advice.advise import advise
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.exemptions import EXEMPT_ANNOTATION
from webhook.policy.advice.findings import LINE_CHARACTERS, LINES, RuleViolation
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject, SubjectPod, SubjectSpec
from webhook.policy.api.rules import ValidationOptions, check
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.kinds import BUILT_IN_TEMPLATES, DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    UNSATISFIABLE_ACTIONS,
    ZONE,
    Constraint,
    GroupKind,
    Node,
    ObjectMeta,
    PodSpec,
    PodTemplate,
)
from webhook.policy.paths import LIST_NAME
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Toleration
from webhook.policy.rolloutlimits import RolloutLimits
from webhook.policy.rule_entry import Action

actions = st.sampled_from(Action)
amounts = st.integers(0, 3) | st.sampled_from(["0%", "25%", "100%"])
limits = st.builds(RolloutLimits, amounts, amounts)
tolerations = st.builds(
    Toleration,
    key=st.sampled_from([None, "gpu", "spot"]),
    operator=st.sampled_from([None, "Exists", "x"]),
)
kinds = st.sampled_from([*BUILT_IN_TEMPLATES, GroupKind("argoproj.io", "Rollout")])
specs = st.builds(
    SubjectSpec,
    topology_spread_constraints=any_lists,
    node_selector=st.none() | labels,
    tolerations=st.none() | st.lists(tolerations, max_size=2).map(tuple),
    node_name=st.sampled_from(["", "", "n0"]),
)
metadata = st.builds(
    ObjectMeta,
    name=st.sampled_from(["", "web"]),
    labels=labels,
    annotations=st.just({}) | st.builds(lambda text: {EXEMPT_ANNOTATION: text}, st.text()),
)
groups = st.builds(
    RunningPods,
    st.builds(
        PodTemplate,
        st.none() | metadata,
        st.none() | st.builds(PodSpec, topology_spread_constraints=any_lists),
    ),
    st.dictionaries(st.sampled_from(["", "n0", "n1", "gone"]), st.integers(1, 3), min_size=1),
)


@st.composite
def subjects(draw: st.DrawFn) -> Subject:
    """Draw a subject that an API server could send, and many that it never would."""
    kind = draw(kinds)
    return Subject(
        kind=kind,
        path=BUILT_IN_TEMPLATES.get(kind, ("spec", "template")),
        pod=SubjectPod(draw(st.none() | metadata), draw(st.none() | specs)),
        metadata=draw(metadata),
        namespace=NAMESPACE,
        replicas=draw(st.none() | st.integers(0, 12)),
        claims=draw(st.booleans()),
        recreates=draw(st.booleans()),
        limits=draw(st.none() | limits),
        running=tuple(draw(st.lists(groups, max_size=3))),
    )


@st.composite
def context(draw: st.DrawFn) -> AdviceContext:
    """Draw the context of an admission or an audit."""
    facts, nodes = draw(clusters()), draw(node_lists())
    known = replace_nodes(facts, nodes)
    config = draw(policies)
    if draw(st.booleans()):
        return AdviceContext(config, known)
    census, members = Census(), Census()
    for name in draw(st.lists(st.sampled_from(["n0", "n1", "gone"]), max_size=5)):
        carried = draw(labels)
        census.add(NAMESPACE, carried, name)
        members.add(NAMESPACE, carried, draw(st.sampled_from(["Deployment/web", "Pod/x"])))
    return AdviceContext(config, known, ClusterState(nodes, census, members))


def replace_nodes(facts: FakeFacts, nodes: Sequence[Node]) -> FakeFacts:
    return FakeFacts(facts.services_of, facts.owners, facts.namespaces, nodes)


MEMBERS = {
    "maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector", "minDomains",
    "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys",
}  # fmt: skip


def is_existing_field(field: str, judged: Subject) -> bool:
    """Whether a path is that of the list, an entry that it has, a member of one, or nodeName."""
    if field == judged.list_path.replace(LIST_NAME, "nodeName"):
        return judged.pod.spec is not None and bool(judged.pod.spec.node_name)
    if not field.startswith(judged.list_path):
        return False
    rest = re.fullmatch(
        r"(?:\[(\d+)\](?:\.(\w+)(?:\[\d+\])?)?)?", field.removeprefix(judged.list_path)
    )
    return rest is not None and (
        rest[1] is None
        or (int(rest[1]) < len(judged.pod.constraints) and rest[2] in {None, *MEMBERS})
    )


@given(subjects(), context())
def test_a_violation_names_an_existing_field_and_a_problem(
    judged: Subject, known: AdviceContext
) -> None:
    for row in POLICY_RULES:
        for violation in row.check(judged, known):
            assert is_existing_field(violation.field, judged)
            assert violation.problem


@given(subjects(), context())
def test_rules_that_need_a_constraint_have_nothing_to_say_without_one(
    judged: Subject, known: AdviceContext
) -> None:
    bare = judged.with_constraints(())
    for row in POLICY_RULES:
        if not row.without_constraints:
            assert not list(row.check(bare, known)), row.id


@given(subjects(), context(), st.dictionaries(st.sampled_from(list(DEFAULT_ACTIONS)), actions))
def test_advice_can_be_formatted_for_any_object(
    judged: Subject, known: AdviceContext, configured: Mapping[str, Action]
) -> None:
    config = replace(known.policy, actions={**DEFAULT_ACTIONS, **configured})
    advice = advise(judged, dataclasses.replace(known, policy=config))

    assert len(advice.violations) == len(advice.denied)
    assert len(advice.lines()) <= LINES
    assert all(len(line) <= LINE_CHARACTERS and line.isprintable() for line in advice.lines())
    if judged.settled or judged.controlled:
        assert not advice.denied


WRITTEN_BESIDE = {"nodeTaintsPolicy", "whenUnsatisfiable", "minDomains", "matchLabelKeys"}
"""Members that advice on another member of a constraint suggests."""


def obeying(judged: Subject, violations: Sequence[RuleViolation]) -> Subject:
    """Replace the fields of a subject that violations report by the values that they suggest."""
    constraints = [msgspec.to_builtins(constraint) for constraint in judged.constraints]
    for violation in violations:
        for key, value in yaml.safe_load(violation.instead).items():
            entry = re.search(r"\[(\d+)\](?:\.(\w+)(?:\[\d+\])?)?$", violation.field)
            if entry is None:
                assert key == "topologySpreadConstraints"
                constraints += value
            else:
                assert key in {entry[2] or "maxSkew", *WRITTEN_BESIDE}
                constraints[int(entry[1])][key] = (
                    [] if key == "matchLabelKeys" and value is None else value
                )
    spec = replace(
        judged.pod.spec or SubjectSpec(),
        topology_spread_constraints=msgspec.convert(constraints, tuple[Constraint, ...]),
    )
    return replace(judged, pod=replace(judged.pod, spec=spec))


@st.composite
def contexts(draw: st.DrawFn) -> AdviceContext:
    """Draw the context of an audit with nodes that have long names."""
    nodes = draw(realistic.node_lists())
    census, members = Census(), Census()
    for name in draw(
        st.lists(st.sampled_from([listed.name for listed in nodes] or [""]), max_size=9)
    ):
        carried = draw(realistic.labels | st.just({"app": "web"}))
        census.add(NAMESPACE, carried, name)
        members.add(NAMESPACE, carried, draw(st.sampled_from(["Deployment/web", "Job/x"])))
    return AdviceContext(policy(), FakeFacts(nodes=nodes), ClusterState(nodes, census, members))


@given(realistic.objects(), contexts())
def test_an_object_fixed_as_suggested_has_no_finding_of_the_rule(
    obj: Json, known: AdviceContext
) -> None:
    judged = subject(obj, realistic.KINDS.get(kind_of(obj)))
    for row in POLICY_RULES:
        found = row.check(judged, known)
        violations = [violation for violation in found if not violation.instead.startswith("# ")]
        first = {(violation.field, violation.problem) for violation in violations}

        again = {
            (violation.field, violation.problem)
            for violation in row.check(obeying(judged, violations), known)
        }

        assert not first & again


KEYS = [ZONE, HOSTNAME, "rack", "zone"]
NOT_ITS_OWN: Json = {
    "labelSelector": {"matchLabels": {"run": "web"}}, "matchLabelKeys": ["app"]
}  # fmt: skip
CLAIMS = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
GANG = {"schedulingGroup": {"podGroupName": "web"}}


@st.composite
def pairs_of_constraints(draw: st.DrawFn) -> list[Json]:
    """Draw constraints that the API takes, often a hard and a soft one over the same key."""
    made: list[Json] = []
    for key, action in product(KEYS, UNSATISFIABLE_ACTIONS):
        if draw(st.booleans()):
            one = spread(topologyKey=key, whenUnsatisfiable=action)
            one["maxSkew"] = draw(st.sampled_from([1, 1, 2, 9]))
            if action == DO_NOT_SCHEDULE and draw(st.booleans()):
                one["minDomains"] = draw(st.integers(1, 4))
            one |= draw(st.sampled_from([{}, {}, {}, NOT_ITS_OWN]))
            made.append(one)
    return draw(st.permutations(made))


@st.composite
def advised(draw: st.DrawFn) -> tuple[Subject, AdviceContext]:
    """Draw a workload, some of whose replicas run, and an audit of its cluster."""
    zones = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=5))
    nodes = [
        node(f"{zone}{i}", zone, rack=draw(st.sampled_from("rs"))) for i, zone in enumerate(zones)
    ]
    constraints = draw(pairs_of_constraints())
    kind = draw(st.sampled_from([DEPLOYMENT, STATEFUL_SET]))
    judged = deployed(
        *constraints,
        kind=kind,
        replicas=draw(st.integers(1, 7)),
        template_spec=draw(st.sampled_from([{}, {}, GANG])),
        **draw(st.sampled_from([{}, CLAIMS] if kind == STATEFUL_SET else [{}])),
    )
    placed = draw(st.lists(st.sampled_from(nodes), max_size=4))
    pods = (
        [running(*(one.name for one in placed), constraints=tuple(constraints))] if placed else []
    )
    return replace(judged, running=tuple(pods)), audit(nodes, pods)


def broken_rules(judged: Subject) -> set[str]:
    """The rules of the API that the constraints of a subject break."""
    options = ValidationOptions(merged=True)
    return {found.rule for found in check(judged.pod.constraints, judged.list_path, options)}


@given(advised())
def test_a_suggested_value_breaks_no_rule_of_the_api(
    drawn: tuple[Subject, AdviceContext],
) -> None:
    judged, known = drawn

    assert not broken_rules(judged)
    for row in POLICY_RULES:
        for violation in row.check(judged, known):
            if not violation.instead.startswith("# "):
                assert not broken_rules(obeying(judged, [violation])), violation
