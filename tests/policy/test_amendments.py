import json
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from tests import strategies
from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    deployment,
    facts,
    gates,
    owned_by,
    pod,
    policy,
    profile,
    request,
    spread,
    template,
    workload,
)
from webhook.policy.amendments import Amendment, amend_constraints, with_constraints
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.api.versions import Version
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import FieldDefaults, Mode, Policy
from webhook.policy.model import GroupKind, PodTemplate
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.rule_entry import Action

OMITTED = spread(maxSkew=0, whenUnsatisfiable="")
NULL_SELECTOR = spread(labelSelector=None)
DERIVED = {"matchLabels": {"app": "web"}}

PLAIN = policy()
NOTHING_FILLED = policy(field_defaults=FieldDefaults.NONE)
ALL_FILLED = policy(field_defaults=FieldDefaults.ALL)
COMPLETING = policy(profile(complete_selectors=True))
MIN_DOMAINS_OFF = policy(gates=gates(MinDomainsInPodTopologySpread=False))
LIST_OFF = policy(gates=gates(EvenPodsSpread=False))

SELECTING = facts(app="web")
LIST = "/spec/topologySpreadConstraints"

Steps = list[tuple[str, str, Any]]

STEPS: dict[str, tuple[Json, Policy, Steps]] = {
    "nothing in a pod without constraints": (pod(), ALL_FILLED, []),
    "nothing in a complete constraint": (pod(spread()), ALL_FILLED, []),
    "an omitted whenUnsatisfiable": (
        pod(spread(), OMITTED),
        PLAIN,
        [("add", f"{LIST}/1/whenUnsatisfiable", "DoNotSchedule")],
    ),
    "an omitted maxSkew as well, if that is configured": (
        pod(OMITTED, spread()),
        ALL_FILLED,
        [("add", f"{LIST}/0/whenUnsatisfiable", "DoNotSchedule"), ("add", f"{LIST}/0/maxSkew", 1)],
    ),
    "an omitted maxSkew alone": (
        pod(spread(maxSkew=0)),
        ALL_FILLED,
        [("add", f"{LIST}/0/maxSkew", 1)],
    ),
    "no omitted field, if that is configured": (pod(OMITTED), NOTHING_FILLED, []),
    "a gated field": (
        pod(spread(minDomains=2)),
        MIN_DOMAINS_OFF,
        [("remove", f"{LIST}/0/minDomains", None)],
    ),
    "the whole list behind its gate": (pod(spread()), LIST_OFF, [("remove", LIST, None)]),
    "a null selector, if the profile requests it": (
        pod(spread(), NULL_SELECTOR),
        COMPLETING,
        [("add", f"{LIST}/1/labelSelector", DERIVED)],
    ),
    "no null selector, if the profile does not": (pod(NULL_SELECTOR), policy(profile()), []),
    "no null selector without a profile": (pod(NULL_SELECTOR), PLAIN, []),
    "no null selector of a pod that is left alone": (
        pod(NULL_SELECTOR, nodeName="node-1"),
        COMPLETING,
        [],
    ),
    "no null selector of a template": (deployment(NULL_SELECTOR), COMPLETING, []),
    "no empty selector": (pod(spread(labelSelector={})), COMPLETING, []),
    "an omitted field of a template": (
        deployment(OMITTED),
        PLAIN,
        [("add", f"/spec/template{LIST}/0/whenUnsatisfiable", "DoNotSchedule")],
    ),
    "nothing that a controller made": (
        workload(GroupKind("apps", "ReplicaSet"), OMITTED, owner=owned_by("Deployment")),
        MIN_DOMAINS_OFF,
        [],
    ),
}


def written(amended: Amendment) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads(msgspec.json.encode(amended.operations))
    return steps


@pytest.mark.parametrize(("obj", "config", "steps"), STEPS.values(), ids=STEPS.keys())
def test_an_object_is_changed_in(obj: Json, config: Policy, steps: Steps) -> None:
    amended = amend_constraints(request(obj), config, SELECTING)

    warned = [(step["op"], step["path"], step.get("value")) for step in written(amended)]
    assert warned == steps


def test_an_object_without_a_template_is_not_changed() -> None:
    nothing = msgspec.structs.replace(request(pod(spread())), template=None)

    assert amend_constraints(nothing, ALL_FILLED, SELECTING) == Amendment(())


def test_what_a_controller_made_is_judged_without_what_a_gate_holds_back() -> None:
    made = workload(
        GroupKind("apps", "ReplicaSet"), spread(minDomains=-1), owner=owned_by("Deployment")
    )

    amended = amend_constraints(request(made), MIN_DOMAINS_OFF, SELECTING)

    assert amended == Amendment(template(pod(spread())).constraints)


HELD_BACK = "MinDomainsInPodTopologySpread is off"
LINE = "TSC111 topologySpreadConstraints"
ENTRIES = "spec.topologySpreadConstraints"

WARNINGS: dict[str, tuple[Json, Policy, list[str]]] = {
    "one entry": (
        pod(spread(minDomains=1)),
        MIN_DOMAINS_OFF,
        [f"{LINE}[0].minDomains: dropped, {HELD_BACK}"],
    ),
    "five entries": (
        pod(*[spread(minDomains=1)] * 5),
        MIN_DOMAINS_OFF,
        [f"{LINE}[0,1,2,3,4].minDomains: dropped, {HELD_BACK}"],
    ),
    "more entries than a line holds": (
        pod(*[spread(minDomains=1)] * 6),
        MIN_DOMAINS_OFF,
        [f"{LINE}[0,...].minDomains: dropped, {HELD_BACK}"],
    ),
    "a line a field": (
        deployment(spread(nodeAffinityPolicy="Honor", nodeTaintsPolicy="Honor")),
        policy(gates=gates(NodeInclusionPolicyInPodTopologySpread=False)),
        [
            f"{LINE}[0].{field}: dropped, NodeInclusionPolicyInPodTopologySpread is off"
            for field in ("nodeAffinityPolicy", "nodeTaintsPolicy")
        ],
    ),
    "a field of a later version": (
        pod(spread(minDomains=1)),
        policy(gates=gates(Version(1, 23))),
        [
            f"{LINE}[0].minDomains: dropped, Kubernetes 1.23 does not know it",
        ],
    ),
    "more fields than there are lines": (
        pod(
            spread(
                minDomains=1,
                nodeAffinityPolicy="Honor",
                nodeTaintsPolicy="Honor",
                matchLabelKeys=["a"],
            )
        ),
        policy(gates=gates(Version(1, 23))),
        [
            f"{LINE}[0].minDomains: dropped, Kubernetes 1.23 does not know it",
            f"{LINE}[0].nodeAffinityPolicy: dropped, Kubernetes 1.23 does not know it",
            "TSC111 2 more fields: dropped, as their gates are off",
        ],
    ),
    "the whole list": (
        pod(spread()),
        LIST_OFF,
        [f"{LINE}: dropped, EvenPodsSpread is off"],
    ),
    "what is filled in, not": (pod(OMITTED), ALL_FILLED, []),
    "what would be done, if nothing is": (
        pod(spread(minDomains=1), *[OMITTED] * 2),
        policy(
            gates=gates(MinDomainsInPodTopologySpread=False),
            mode=Mode.RECOMMEND,
            field_defaults=FieldDefaults.ALL,
        ),
        [
            f"{LINE}[0].minDomains: would go, {HELD_BACK}",
            (
                f"evenspread would fill in {LIST}/1/whenUnsatisfiable, {LIST}/1/maxSkew, "
                f"{LIST}/2/whenUnsatisfiable, {LIST}/2/maxSkew"
            ),
        ],
    ),
}


FIELDS: dict[str, Any] = {
    "minDomains": 1,
    "nodeAffinityPolicy": "Honor",
    "nodeTaintsPolicy": "Honor",
    "matchLabelKeys": ["a"],
}


HELD: dict[str, Gates] = {
    "gates that are off": gates(
        MinDomainsInPodTopologySpread=False,
        NodeInclusionPolicyInPodTopologySpread=False,
        MatchLabelKeysInPodTopologySpread=False,
        MatchLabelKeysInPodTopologySpreadSelectorMerge=False,
    ),
    "fields of later versions": gates(Version(1, 19)),
}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("count", [1, 9, 11, 1_000])
@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_lines_fit_kubectl(mode: Mode, count: int, held: Gates) -> None:
    every, last = [spread(**FIELDS)] * count, [spread()] * (count - 1) + [spread(**FIELDS)]
    for constraints in (every, last):
        warned = amend_constraints(
            request(pod(*constraints)), policy(gates=held, mode=mode), FakeFacts()
        ).warnings

        assert len(warned) == 3
        assert all(len(line) <= 120 and line.isascii() for line in warned)


@pytest.mark.parametrize(("obj", "config", "warnings"), WARNINGS.values(), ids=WARNINGS.keys())
def test_a_warning_names(obj: Json, config: Policy, warnings: list[str]) -> None:
    assert list(amend_constraints(request(obj), config, FakeFacts()).warnings) == warnings


EXEMPT = {"evenspread.io/exempt": "TSC111=for the next version"}
LIVING = pod(spread(minDomains=1))

# object, action of TSC111, lines, fields that are refused
ACTIONS: dict[str, tuple[Json, Action, int, list[str]]] = {
    "warn": (LIVING, Action.WARN, 1, []),
    "deny": (LIVING, Action.DENY, 1, [f"{ENTRIES}[0].minDomains"]),
    "audit": (LIVING, Action.AUDIT, 0, []),
    "off": (LIVING, Action.OFF, 0, []),
    "an exemption from a warning": (
        pod(spread(minDomains=1), annotations=EXEMPT), Action.WARN, 0, []
    ),
    "an exemption from a denial": (
        pod(spread(minDomains=1), annotations=EXEMPT), Action.DENY, 0, []
    ),
    "nothing is dropped": (pod(OMITTED), Action.DENY, 0, []),
}  # fmt: skip


@pytest.mark.parametrize(
    ("obj", "action", "lines", "refused"), ACTIONS.values(), ids=ACTIONS.keys()
)
def test_the_configuration_decides_what_is_done_about_drops(
    obj: Json, action: Action, lines: int, refused: list[str]
) -> None:
    config = replace(MIN_DOMAINS_OFF, actions={**DEFAULT_ACTIONS, "TSC111": action})

    amended = amend_constraints(request(obj), config, FakeFacts())

    assert len(amended.warnings) == lines
    assert [violation.error.field for violation in amended.refused] == refused
    assert all(violation.rule == "TSC111" for violation in amended.refused)


def test_the_whole_list_is_refused_at_its_place() -> None:
    config = replace(LIST_OFF, actions={**DEFAULT_ACTIONS, "TSC111": Action.DENY})

    (finding,) = amend_constraints(request(deployment(spread())), config, FakeFacts()).refused

    assert finding.error.field == "spec.template.spec.topologySpreadConstraints"
    assert finding.error.message == "Forbidden: feature gate EvenPodsSpread is off"


def test_drops_are_counted_by_gate() -> None:
    (drop,) = amend_constraints(
        request(pod(spread(minDomains=1))), MIN_DOMAINS_OFF, FakeFacts()
    ).drops

    assert drop.gate is Gate.MIN_DOMAINS


@given(strategies.situations)
def test_a_list_that_was_changed_is_changed_no_further(
    situation: tuple[Json, Policy, FakeFacts],
) -> None:
    obj, config, known = situation
    amended = amend_constraints(request(obj), config, known)
    changed = request(obj, template=with_constraints(template(obj), amended.constraints))

    assert amend_constraints(changed, config, known) == Amendment(amended.constraints)


@given(strategies.situations)
def test_the_operations_make_the_list_that_is_judged(
    situation: tuple[Json, Policy, FakeFacts],
) -> None:
    obj, config, known = situation
    listed = (obj["spec"] or {}).get("topologySpreadConstraints") or []
    amended = amend_constraints(request(obj), config, known)
    if None in listed:
        return  # is denied, since nothing can be filled in there

    apply_patch = jsonpatch.JsonPatch(written(amended)).apply(obj)

    assert template(apply_patch).constraints == amended.constraints


def test_a_template_without_a_spec_has_no_list_to_replace() -> None:
    assert with_constraints(PodTemplate(), ()) == PodTemplate()


def test_a_template_is_changed_in_its_list_alone() -> None:
    before, after = template(pod(spread(), nodeName="n")), template(pod(nodeName="n"))

    assert with_constraints(before, ()) == after
    assert with_constraints(before, before.constraints) is before


@pytest.mark.parametrize("mode", Mode)
def test_a_selector_that_a_profile_only_recommends_is_left_out(mode: Mode) -> None:
    (completing,) = COMPLETING.profiles
    in_force = policy(replace(completing, mode=mode))
    written = pod(spread(labelSelector=None, whenUnsatisfiable=""))

    amendment = amend_constraints(request(written), in_force, SELECTING)

    added = [step.path for step in amendment.operations]
    (constraint,) = amendment.constraints
    assert amendment.held is (mode is Mode.RECOMMEND)
    assert (f"{LIST}/0/labelSelector" in added) is not amendment.held
    assert f"{LIST}/0/whenUnsatisfiable" in added
    assert (constraint.label_selector is None) is amendment.held
    recommended = (f"evenspread would fill in {LIST}/0/labelSelector",)
    assert amendment.warnings == (recommended if amendment.held else ())


def test_a_selector_of_an_exempt_pod_stays_null() -> None:
    exempt = PolicyException(namespace=NAMESPACE, name="a", reason="b", defaults=True)
    known = FakeFacts(services_of=SELECTING.services_of, excepted={NAMESPACE: [exempt]})
    null = request(pod(NULL_SELECTOR))

    assert amend_constraints(null, COMPLETING, SELECTING).operations
    assert not amend_constraints(null, COMPLETING, known).operations
