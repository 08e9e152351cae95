from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import (
    NAMESPACE,
    FakeFacts,
    default,
    gates,
    owned_by,
    pod,
    policy,
    profile,
    spread,
)
from tests.policy.advice.subjects import (
    GPU,
    admission,
    audit,
    deployed,
    node,
    running,
    subject,
    zones,
)
from webhook.policy.advice.advise import NO_ADVICE, Advice, advise, join_advice
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.exemptions import EXEMPT_ANNOTATION
from webhook.policy.advice.findings import LINES
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.subject import Subject
from webhook.policy.api.fielderrors import FORBIDDEN
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.facts import ServiceSelector
from webhook.policy.model import HOSTNAME, ObjectMeta
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.rule_entry import Action

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


TOGETHER = deployed(
    spread(),
    spread(topologyKey=HOSTNAME),
    replicas=3,
    strategy={"rollingUpdate": {"maxUnavailable": 0}},
)
UNEVEN = zones("a1", "a2", "a3", "b1")


def test_the_causes_of_a_rollout_that_cannot_finish_are_one_finding() -> None:
    pods = running("a1", "a2", "b1")

    begun = advise(TOGETHER, audit(UNEVEN))
    complete = advise(replace(TOGETHER, running=(pods,)), audit(UNEVEN, [pods]))

    assert [rules(one)["warned"] for one in (begun, complete)] == [["TSC119"]] * 2
    assert ["TSC106" in rules(one)["audited"] for one in (begun, complete)] == [False] * 2
    assert ["; now none of the" in one.warned[0].problem for one in (begun, complete)] == [
        False, True
    ]  # fmt: skip


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
        exempt("TSC101"), JUST_101, {"warned": ["TSC101"], "refused": ["exempt"]}
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

    assert rules(found) == {"warned": ["TSC101"], "refused": ["exempt"]}


def test_an_exemption_is_listed_with_its_reason() -> None:
    (exempted,) = advise(
        exempt("TSC101=counted elsewhere"), admission(config=policy(actions=JUST_101))
    ).exempted

    assert exempted.reason == "counted elsewhere"


DENIED = advise(deployed(WRONG), admission(config=policy(actions=DENYING)))
REFUSED = advise(exempt("TSC101"), admission(config=policy(actions=JUST_101)))
EXEMPTED = advise(exempt("TSC101=why"), admission(config=policy(actions=JUST_101)))
AUDITED = advise(CONTROLLED, admission(config=policy(actions=JUST_101)))

# advice on each template, rules by what is done about them; None if there is no advice
JOINED: dict[str, tuple[list[Advice | None], dict[str, list[str]] | None]] = {
    "no templates": ([], None),
    "templates without advice": ([None, None], None),
    "templates without findings": ([NO_ADVICE, NO_ADVICE], {}),
    "one template with advice": ([None, DENIED], {"denied": ["TSC101"]}),
    "findings of each kind": (
        [DENIED, REFUSED, EXEMPTED, AUDITED],
        {
            "refused": ["exempt"],
            **{kind: ["TSC101"] for kind in ("denied", "warned", "audited", "exempted")},
        },
    ),
    "findings on two templates, and one refused exemption": (
        [REFUSED, REFUSED], {"warned": ["TSC101", "TSC101"], "refused": ["exempt"]}
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "expected"), JOINED.values(), ids=JOINED.keys())
def test_the_advice_on_several_templates_is_joined(
    parts: list[Advice | None], expected: dict[str, list[str]] | None
) -> None:
    joined = join_advice(parts)

    assert (None if joined is None else rules(joined)) == expected


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
        "exempt metadata.annotations[evenspread.i",
        "TSC101 topologySpreadConstraints[0]: lab",
    ]


def test_an_object_has_three_lines_at_most() -> None:
    lines = advise(deployed(*[WRONG] * 9), admission()).lines()

    assert len(lines) == LINES
    assert lines[-1] == "and 7 more findings (TSC101): evenspread audit"


def test_a_pending_pod_is_part_of_the_finding_that_names_its_cause() -> None:
    nodes = [node("a1", "zone-a"), node("c1", "zone-c", GPU)]
    pods = running("a1")
    judged = replace(deployed(spread()), running=(pods,))

    advice = advise(judged, audit(nodes, [pods]))
    rows = [row for row in POLICY_RULES if row.id == "TSC106"]
    alone = advise(judged, audit(nodes, [pods]), rows)

    (finding,) = advice.warned
    assert (finding.rule, finding.instead) == ("TSC105", "nodeTaintsPolicy: Honor")
    assert "; now the one node that its pods can go to rejects the next pod" in finding.problem
    assert rules(advice)["audited"] == ["TSC107"]
    assert rules(alone) == {"audited": ["TSC106"]}


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
    assert sum(count_calls(6, 1).values()) < 64


def test_a_default_of_a_profile_never_denies() -> None:
    rack = default(topology_key="rack", when_unsatisfiable="DoNotSchedule")
    giving = policy(profile(constraints=(rack,)), actions={**OFF, "TSC103": Action.DENY})

    advice = advise(deployed(), admission(config=giving, services={"app": "web"}))

    assert rules(advice) == {"warned": ["TSC103"]}


def test_a_key_of_a_profile_that_pods_lack_is_only_recorded() -> None:
    revision = default(match_label_keys=("controller-revision-hash",))
    giving = policy(profile(constraints=(revision,)), actions={**OFF, "TSC117": Action.DENY})

    advice = advise(deployed(), admission(config=giving, services={"app": "web"}))

    assert rules(advice) == {"audited": ["TSC117"]}


def test_an_annotation_goes_before_an_exception() -> None:
    excepted = PolicyException(namespace=NAMESPACE, name="a", reason="b", rules=("TSC101",))
    context = admission(config=policy(actions=JUST_101), excepted=[excepted])

    written, without = (advise(one, context) for one in (exempt("TSC101=why"), deployed(WRONG)))

    assert [(one.reason, one.exception) for one in written.exempted] == [("why", "")]
    assert [(one.reason, one.exception) for one in without.exempted] == [("b", "a")]
    assert (written.warned, without.warned) == ((), ())
