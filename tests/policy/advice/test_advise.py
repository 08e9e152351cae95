import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    gates,
    kind_of,
    owned_by,
    pod,
    policy,
    profile,
    spread,
)
from tests.policy.advice import realistic
from tests.policy.advice.subjects import admission, audit, deployed, node, subject
from tests.policy.placement.clusters import node_lists
from tests.strategies import any_lists, clusters, labels, policies
from webhook.policy.advice.advise import NO_ADVICE, Advice, advise
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.exemptions import EXEMPT_ANNOTATION
from webhook.policy.advice.findings import LINE_CHARACTERS, LINES, RuleViolation
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.subject import RunningPods, Subject, SubjectPod, SubjectSpec
from webhook.policy.api.fielderrors import FORBIDDEN
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.facts import ServiceSelector
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import Constraint, GroupKind, Node, ObjectMeta, PodSpec, PodTemplate
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Toleration

WRONG = spread(labelSelector={"matchLabels": {"app": "shop"}})
DENYING = {**DEFAULT_ACTIONS, "TSC101": Action.DENY}
OFF = dict.fromkeys(DEFAULT_ACTIONS, Action.OFF)
JUST_101 = {**OFF, "TSC101": Action.WARN}


def rules(advice: Advice) -> dict[str, list[str]]:
    """Name the rules of each kind of findings that there are."""
    sorted_by = {
        "denied": [violation.rule for violation in advice.denied],
        "warned": [violation.rule for violation in advice.warned],
        "audited": [violation.rule for violation in advice.audited],
        "exempted": [exemption.finding.rule for exemption in advice.exempted],
        "refused": [violation.rule for violation in advice.refused],
    }
    return {kind: found for kind, found in sorted_by.items() if found}


def exempt(text: str) -> Subject:
    return replace(
        deployed(WRONG), metadata=ObjectMeta(name="web", annotations={EXEMPT_ANNOTATION: text})
    )


CONTROLLED = subject(pod(WRONG, owner=owned_by()))
SETTLED = replace(deployed(WRONG), settled=True)

# subject, actions, rules by what is done about them
CONSEQUENCES: dict[str, tuple[Subject, Mapping[str, Action], dict[str, list[str]]]] = {
    "warn": (deployed(WRONG), JUST_101, {"warned": ["TSC101"]}),
    "deny": (deployed(WRONG), {**OFF, "TSC101": Action.DENY}, {"denied": ["TSC101"]}),
    "audit": (deployed(WRONG), {**OFF, "TSC101": Action.AUDIT}, {"audited": ["TSC101"]}),
    "off": (deployed(WRONG), OFF, {}),
    "nothing is wrong": (deployed(spread(), replicas=1), DENYING, {}),
    "the defaults": (
        deployed(WRONG), DEFAULT_ACTIONS, {"warned": ["TSC101"]}
    ),
    "deny what a controller made": (CONTROLLED, DENYING, {"audited": ["TSC101"]}),
    "warn of what a controller made": (CONTROLLED, JUST_101, {"audited": ["TSC101"]}),
    "deny what is as it was": (SETTLED, {**OFF, "TSC101": Action.DENY}, {"audited": ["TSC101"]}),
    "an exemption": (exempt("TSC101=why"), JUST_101, {"exempted": ["TSC101"]}),
    "an exemption from a denial": (exempt("TSC101=why"), DENYING, {"exempted": ["TSC101"]}),
    "an exemption from another rule": (exempt("TSC110=why"), JUST_101, {"warned": ["TSC101"]}),
    "an exemption without a reason": (
        exempt("TSC101"), JUST_101, {"warned": ["TSC101"], "refused": ["TSC101"]}
    ),
    "an exemption that is refused where nothing is wrong": (
        exempt("TSC999=x"), OFF, {"refused": ["exempt"]}
    ),
    "an exemption that is refused, of what is as it was": (
        replace(exempt("TSC101"), settled=True), JUST_101, {"audited": ["TSC101"]}
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "actions", "expected"), CONSEQUENCES.values(), ids=CONSEQUENCES.keys()
)
def test_consequences(
    judged: Subject, actions: Mapping[str, Action], expected: dict[str, list[str]]
) -> None:
    assert rules(advise(judged, admission(config=policy(actions=actions)))) == expected


def test_a_rule_may_allow_no_exemption() -> None:
    config = policy(actions=JUST_101, not_exemptible=frozenset({"TSC101"}))
    found = advise(exempt("TSC101=why"), admission(config=config))

    assert rules(found) == {"warned": ["TSC101"], "refused": ["TSC101"]}


def test_an_exemption_is_listed_with_its_reason() -> None:
    (exempted,) = advise(
        exempt("TSC101=counted elsewhere"), admission(config=policy(actions=JUST_101))
    ).exempted

    assert exempted.reason == "counted elsewhere"


def test_an_admission_makes_no_query_that_grows_with_the_cluster() -> None:
    judged = deployed(spread(), spread(topologyKey="kubernetes.io/hostname"))
    uneven = [node("a1", "zone-a"), *(node(f"b{i}", "zone-b") for i in range(5))]

    assert rules(advise(judged, admission(uneven))) == {"audited": ["TSC107", "TSC107"]}
    assert "TSC109" in rules(advise(judged, audit(uneven)))["audited"]


def test_without_its_gate_there_is_no_advice_at_admission() -> None:
    off = policy(gates=gates(EvenspreadAdvice=False))

    assert advise(deployed(WRONG), admission(config=off)) is NO_ADVICE
    assert rules(advise(deployed(WRONG), audit(config=off)))["warned"] == ["TSC101"]


def test_a_disabled_field_is_reported_and_hidden_from_other_rules() -> None:
    off = policy(gates=gates(MinDomainsInPodTopologySpread=False))
    judged = deployed(spread(minDomains=9, matchLabelKeys=["pod-template-hash"]))

    assert rules(advise(judged, audit(config=off))) == {"warned": ["TSC111"]}


def test_a_denial_has_the_format_of_the_api_rules() -> None:
    advice = advise(deployed(WRONG), admission(config=policy(actions=DENYING)))

    (violation,) = advice.violations
    assert (violation.rule, violation.error.reason) == ("TSC101", FORBIDDEN)
    assert violation.error.field == "spec.template.spec.topologySpreadConstraints[0].labelSelector"
    assert violation.error.message.endswith(
        "write instead: labelSelector: {matchLabels: {app: web}}"
    )


def test_a_denial_can_be_a_warning_instead() -> None:
    denying = advise(deployed(WRONG), admission(config=policy(actions=DENYING)))
    warning = advise(deployed(WRONG), admission(config=policy(actions=JUST_101)))

    assert denying.without_denial().lines() == warning.lines()
    assert denying.without_denial().denied == ()
    assert warning.without_denial() is warning


def test_refused_exemptions_come_before_warnings() -> None:
    lines = advise(exempt("TSC101"), admission(config=policy(actions=JUST_101))).lines()

    assert [line[:40] for line in lines] == [
        "TSC101 metadata.annotations[evenspread.i",
        "TSC101 topologySpreadConstraints[0]: lab",
    ]


def test_an_object_has_three_lines_at_most() -> None:
    lines = advise(deployed(*[WRONG] * 9), admission()).lines()

    assert len(lines) == LINES
    assert lines[-1] == "and 7 more findings (TSC101): evenspread audit"


actions = st.sampled_from(Action)
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


def names_what_there_is(field: str, judged: Subject) -> bool:
    """Whether a path is that of the list, of an entry that it has, or of a member of one."""
    if not field.startswith(judged.list_path):
        return False
    rest = re.fullmatch(r"(?:\[(\d+)\](?:\.(\w+))?)?", field.removeprefix(judged.list_path))
    return rest is not None and (
        rest[1] is None
        or (int(rest[1]) < len(judged.pod.constraints) and rest[2] in {None, *MEMBERS})
    )


@given(subjects(), context())
def test_every_rule_has_something_sensible_to_say_about_anything(
    judged: Subject, known: AdviceContext
) -> None:
    for row in POLICY_RULES:
        for violation in row.check(judged, known):
            assert names_what_there_is(violation.field, judged)
            assert violation.problem


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


def obeying(judged: Subject, violations: Sequence[RuleViolation]) -> Subject:
    """The subject with what violations say to write in the place of what they say it about."""
    constraints = [msgspec.to_builtins(constraint) for constraint in judged.constraints]
    for violation in violations:
        for key, value in yaml.safe_load(violation.instead).items():
            entry = re.search(r"\[(\d+)\](?:\.(\w+))?$", violation.field)
            if entry is None:
                assert key == "topologySpreadConstraints"
                constraints += value
            else:
                assert key == (entry[2] or "maxSkew")
                constraints[int(entry[1])][key] = value
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


class CountingFacts:
    """Facts that count their calls, and how many label keys are looked at."""

    def __init__(self, facts: FakeFacts) -> None:
        self.facts = facts
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        self.calls[name] += 1
        question: Callable[..., Any] = getattr(self.facts, name)
        return question


def count_calls(nodes: int, services: int) -> Counter[str]:
    """Count the calls of the cluster that an admission makes."""
    made = [node(f"n{i}", f"zone-{i % 3}") for i in range(nodes)]
    facts = FakeFacts(
        nodes=made,
        services_of={
            NAMESPACE: [ServiceSelector(f"s{i}", {"app": f"x{i}"}) for i in range(services)]
        },
    )
    counting = CountingFacts(facts)
    judged = deployed(
        spread(minDomains=9),
        spread(topologyKey="zone", labelSelector=None),
        spread(topologyKey="kubernetes.io/hostname"),
    )
    config = policy(profile(), actions=DENYING)
    advise(judged, AdviceContext(config, counting))
    advise(deployed(), AdviceContext(config, counting))
    return counting.calls


def test_an_admission_makes_as_many_queries_in_a_large_cluster_as_in_a_small_one() -> None:
    assert count_calls(6, 1) == count_calls(600, 100)
    assert sum(count_calls(6, 1).values()) < 50
