import re

import msgspec
import pytest
from hypothesis import given

from tests import build
from tests.build import Json
from tests.policy.advice import realistic
from webhook.admission import decode
from webhook.policy.advice.admission import advise_request, effective_action
from webhook.policy.advice.advise import NO_ADVICE
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import ZONE, Node
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.rule_entry import Action
from webhook.policy.verdict import judge

ELSEWHERE = build.spread(labelSelector={"matchLabels": {"app": "shop"}})
"""Selects pods that are not those of ``build.pod`` and ``build.deployment``: TSC101."""

HERE = build.spread(
    labelSelector={"matchLabels": {"app": "web"}}, matchLabelKeys=["pod-template-hash"]
)

DENYING = build.policy(actions={**DEFAULT_ACTIONS, "TSC101": Action.DENY})


def submit(obj: Json, old: Json | None = None) -> AdmissionRequest:
    return decode(build.review_body(obj, old=old, name="web"))


def rules(request: AdmissionRequest, policy: Policy | None = None) -> tuple[str, ...]:
    advice = advise_request(request, policy or build.policy(), build.facts())
    return tuple(finding.rule for finding in (*advice.warned, *advice.denied))


def test_a_workload_is_advised_on() -> None:
    assert "TSC101" in rules(submit(build.deployment(ELSEWHERE)))


def test_an_object_without_violations_gets_no_advice() -> None:
    request = submit(build.deployment(HERE))
    facts = build.FakeFacts(nodes=[Node("n", {ZONE: "a"})])

    assert advise_request(request, build.policy(), facts) is NO_ADVICE


PASSED_OVER = {
    "a pod of a controller": submit(build.pod(ELSEWHERE, owner=build.owned_by())),
    "a request without its body": msgspec.structs.replace(
        submit(build.deployment(ELSEWHERE)), body=b""
    ),
    "a workload without a template": submit(build.deployment() | {"spec": {}}),
    "an affinity that is no object": submit(build.pod(ELSEWHERE, affinity=["x"])),
}


@pytest.mark.parametrize("request_", PASSED_OVER.values(), ids=PASSED_OVER.keys())
def test_no_advice_is_given_on(request_: AdmissionRequest) -> None:
    assert advise_request(request_, build.policy(), build.facts()) is NO_ADVICE


EXEMPT = {"evenspread.io/exempt": "TSC101=counted elsewhere"}

# object, policy, what is done about TSC101
DONE: dict[str, tuple[Json, Policy, Action]] = {
    "the default": (build.pod(), build.policy(), Action.WARN),
    "what is configured": (build.pod(), DENYING, Action.DENY),
    "an exemption": (build.pod(annotations=EXEMPT), DENYING, Action.AUDIT),
    "an exemption from what is off": (
        build.pod(annotations=EXEMPT),
        build.policy(actions={**DEFAULT_ACTIONS, "TSC101": Action.OFF}),
        Action.OFF,
    ),
    "an exemption that is forbidden": (
        build.pod(annotations=EXEMPT),
        msgspec.structs.replace(DENYING, not_exemptible=frozenset({"TSC101"})),
        Action.DENY,
    ),
    "a profile that denies": (
        build.pod(),
        build.policy(build.profile(actions={"TSC101": Action.DENY})),
        Action.DENY,
    ),
    "a profile that would deny": (
        build.pod(),
        build.policy(build.profile(actions={"TSC101": Action.DENY}, mode=Mode.RECOMMEND)),
        Action.WARN,
    ),
    "an exemption that the profile forbids": (
        build.pod(annotations=EXEMPT),
        build.policy(build.profile(exemptible={"TSC101": False})),
        Action.WARN,
    ),
    "no metadata": ({**build.pod(), "metadata": None}, build.policy(), Action.WARN),
}


@pytest.mark.parametrize(("obj", "config", "action"), DONE.values(), ids=DONE.keys())
def test_the_action_on_a_violation_found_outside_of_advice(
    obj: Json, config: Policy, action: Action
) -> None:
    assert effective_action("TSC101", submit(obj), config, build.facts()) is action


def test_advice_is_about_the_constraints_that_will_be_stored() -> None:
    request, constraints = submit(build.pod(ELSEWHERE)), build.template(build.pod(HERE)).constraints

    assert "TSC101" in rules(request)
    stored = advise_request(request, build.policy(), build.facts(), constraints)
    assert "TSC101" not in [finding.rule for finding in stored.warned]


def test_no_advice_is_given_while_its_gate_is_off() -> None:
    off = build.policy(gates=build.gates(EvenspreadAdvice=False))

    assert advise_request(submit(build.deployment(ELSEWHERE)), off, build.facts()) is NO_ADVICE


def test_the_configured_action_decides_what_is_denied() -> None:
    advice = advise_request(submit(build.deployment(ELSEWHERE)), DENYING, build.facts())

    assert [finding.rule for finding in advice.denied] == ["TSC101"]


def test_an_update_that_changes_no_template_is_not_denied() -> None:
    before = build.deployment(ELSEWHERE)
    scaled = {**before, "spec": {**before["spec"], "replicas": 7}}

    advice = advise_request(submit(scaled, old=before), DENYING, build.facts())

    assert advice.denied == ()
    assert "TSC101" in [finding.rule for finding in advice.audited]


def test_an_update_that_changes_the_template_is_denied() -> None:
    advice = advise_request(
        submit(build.deployment(ELSEWHERE), old=build.deployment(HERE)), DENYING, build.facts()
    )

    assert [finding.rule for finding in advice.denied] == ["TSC101"]


def test_an_update_of_an_undecodable_object_is_advised_on_as_new() -> None:
    old = build.deployment()
    old["spec"]["template"] = None

    assert "TSC101" in rules(submit(build.deployment(ELSEWHERE), old=old))


ALL_WARN = build.policy(actions=dict.fromkeys(DEFAULT_ACTIONS, Action.WARN))
ENTRY = re.compile(r"TSC1[01][0-9] topologySpreadConstraints(?:\[(\d+)\])?: .")
OTHER = re.compile(r"(exempt|TSC1[01][0-9]) metadata\.annotations\[evenspread\.io/exempt\]: .")
REST = re.compile(r"and [1-9]\d* more findings \((TSC1[01][0-9], |exempt, )*.*: evenspread audit")


@given(realistic.objects(), realistic.node_lists())
def test_warnings_of_an_admission_fit_kubectl(obj: Json, nodes: list[Node]) -> None:
    request = decode(build.review_body(obj), {**BUILT_IN_TEMPLATES, **realistic.KINDS})
    facts = build.FakeFacts(nodes=nodes)

    verdict = judge(request, Hook.VALIDATE, ALL_WARN, facts)

    listed = request.template.constraints if request.template else ()
    assert verdict.allowed
    assert len(verdict.warnings) <= 3
    for line in verdict.warnings:
        assert len(line) <= 120
        assert line.isascii()
        assert line.isprintable()
        entry = ENTRY.match(line)
        assert entry or OTHER.match(line) or REST.fullmatch(line)
        assert entry is None or entry[1] is None or int(entry[1]) < len(listed)
