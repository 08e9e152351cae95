"""The patch: what it adds and takes back, and what must hold for every pod."""

import copy
import json
from typing import Any, TypeAlias

import msgspec
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    custom,
    deployment,
    facts,
    owned_by,
    pod,
    policy,
    profile,
    request,
    spread,
    template,
)
from tests.policy.mutated import applied, listed, mutate
from tests.policy.situations import ADDING, DEFAULTS, WEB
from webhook.policy import render
from webhook.policy.api import predict, rules
from webhook.policy.api.rules import ValidationOptions
from webhook.policy.defaulting import provenance
from webhook.policy.defaulting.profiles import FieldDefaults, Mode, Policy, ScaleDown
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.escape import WARNING_CHARACTERS
from webhook.policy.facts import NoFacts
from webhook.policy.kinds import POD
from webhook.policy.model import HOSTNAME, ZONE, Constraint, PodTemplate
from webhook.policy.request import Hook
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL
from webhook.policy.verdict import UNTOUCHED, judge


def defaults_annotation(obj: Json) -> str | None:
    found: str | None = obj["metadata"]["annotations"].get(DEFAULTS_ANNOTATION)
    return found


def test_a_pod_is_given_its_defaults_and_a_warning() -> None:
    patched = applied(pod(), mutate(pod()))

    selected = {"matchLabels": {"app": "web"}}
    one = spread(whenUnsatisfiable="ScheduleAnyway", labelSelector=selected)
    assert listed(patched) == [one, {**one, "maxSkew": 2, "topologyKey": HOSTNAME}]
    annotation = json.loads(defaults_annotation(patched) or "")
    assert annotation.pop("hash").count(",") == 1
    assert annotation == {
        "profile": "cluster",
        "selectorFrom": ["Service/web"],
        "keys": [ZONE, HOSTNAME],
    }


def injected_pod() -> Json:
    return applied(pod(), mutate(pod()))


OTHERS = spread(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway")


def after(obj: Json, in_force: Policy = DEFAULTS, known: Any = WEB) -> Json:
    return applied(obj, mutate(obj, in_force, known))


def test_an_annotation_of_others_stays() -> None:
    patched = after(pod(annotations={"a": "b"}))

    assert patched["metadata"]["annotations"].keys() == {"a", DEFAULTS_ANNOTATION}


def test_defaults_that_no_longer_apply_are_taken_back() -> None:
    patched = after(injected_pod(), known=FakeFacts())

    assert patched == {**pod(), "metadata": {**pod()["metadata"], "annotations": {}}}


def test_defaults_that_no_longer_apply_are_taken_back_from_among_others() -> None:
    mixed = injected_pod()
    mixed["spec"]["topologySpreadConstraints"].insert(1, OTHERS)

    assert listed(after(mixed)) == [OTHERS]
    assert defaults_annotation(after(mixed)) is None


def test_defaults_are_computed_anew_after_the_labels_changed() -> None:
    known = replace_services({"app": "web"}, {"tier": "a"})
    mixed = injected_pod()
    mixed["spec"]["topologySpreadConstraints"].insert(1, OTHERS)
    mixed["metadata"]["labels"]["tier"] = "a"

    patched = after(mixed, ADDING, known)

    selected = {"matchLabels": {"app": "web", "tier": "a"}}
    assert [entry["topologyKey"] for entry in listed(patched)] == ["rack", ZONE, HOSTNAME]
    assert [entry["labelSelector"] for entry in listed(patched)[1:]] == [selected] * 2
    assert listed(patched)[0] == OTHERS


def replace_services(*pairs: dict[str, str]) -> FakeFacts:
    """A cluster with these Services."""
    return FakeFacts(
        services_of={
            NAMESPACE: [facts(**pair).services_of[NAMESPACE][0] for pair in pairs],
        }
    )


# What must hold for every pod.


Situation: TypeAlias = tuple[Json, Policy, FakeFacts]


KEEPING = policy(profile(scale_down=ScaleDown.KEEP_SPREAD))


def without_ours(obj: Json) -> Json:
    """The object without constraints, our annotation and our label; empty parents are nothing."""
    rest: Json = copy.deepcopy(obj)
    (rest.get("spec") or {}).pop("topologySpreadConstraints", None)
    metadata = rest.get("metadata") or {}
    ours = {"annotations": DEFAULTS_ANNOTATION, "labels": SCALE_DOWN_LABEL}
    for parent, key in ours.items():
        (metadata.get(parent) or {}).pop(key, None)
        if not metadata.get(parent):
            metadata.pop(parent, None)
    return rest


@given(strategies.situations)
@example((pod(spread(), annotations={DEFAULTS_ANNOTATION: "x"}), DEFAULTS, WEB))
@example((pod(spread(), owner=owned_by(), labels={"app": "web"}), KEEPING, WEB))
@example((pod(owner=owned_by(), labels={}), KEEPING, WEB))
@example((pod(owner=owned_by(), labels={SCALE_DOWN_LABEL: "none"}), KEEPING, WEB))
def test_the_patch_applies_and_touches_nothing_else(situation: Situation) -> None:
    obj, in_force, known = situation
    verdict = mutate(obj, in_force, known)
    patched = applied(obj, verdict)

    assert without_ours(patched) == without_ours(obj)
    before, after = (label_of(one) for one in (obj, patched))
    assert after == (KEEP_SPREAD if verdict.labelled else before)
    assert before is None or not verdict.labelled


def label_of(obj: Json) -> Any:
    return ((obj.get("metadata") or {}).get("labels") or {}).get(SCALE_DOWN_LABEL)


def admitted(situation: Situation) -> Json:
    """The object with our patch; a situation in which it is denied does not count."""
    obj, in_force, known = situation
    verdict = mutate(obj, in_force, known)
    assume(verdict.allowed)
    return applied(obj, verdict)


@given(strategies.situations)
def test_a_second_pass_changes_nothing(situation: Situation) -> None:
    _, in_force, known = situation
    patched = admitted(situation)

    assert mutate(patched, in_force, known).patch == ()


@given(strategies.situations)
def test_a_second_pass_changes_nothing_in_what_the_api_server_wrote_again(
    situation: Situation,
) -> None:
    _, in_force, known = situation
    patched = admitted(situation)
    if patched["spec"] is not None and listed(patched):
        written = [render.constraint(constraint) for constraint in template(patched).constraints]
        patched["spec"]["topologySpreadConstraints"] = written
    again = json.loads(json.dumps(patched, sort_keys=True))

    assert mutate(again, in_force, known).patch == ()


@given(strategies.situations)
def test_what_the_first_hook_lets_through_the_api_server_and_the_second_do_too(
    situation: Situation,
) -> None:
    _, in_force, known = situation
    patched = admitted(situation)
    created = predict.Request(kind=POD, path=(), template=template(patched))
    given = predict.predict_response(created, in_force.gates)
    stored = copy.deepcopy(patched)
    if stored["spec"] is not None:
        stored["spec"]["topologySpreadConstraints"] = list(map(render.constraint, given.stored))

    assert given.findings == []
    assert given.drops == ()
    assert judge(request(stored), Hook.VALIDATE, in_force, known) is UNTOUCHED


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(strategies.situations)
def test_what_is_injected_passes_the_rules_in_both_forms(situation: Situation) -> None:
    obj, in_force, known = situation
    verdict = mutate(obj, in_force, known)
    entries = verdict.injection.entries if verdict.injection else ()
    assume(entries)

    injected = tuple(msgspec.json.decode(entry.written, type=Constraint) for entry in entries)
    assert rules.check(injected, "", ValidationOptions(merged=True)) == []
    assert rules.check(injected, "", ValidationOptions(merged=False)) == []


@given(strategies.situations, strategies.labels)
def test_after_the_labels_changed_only_ours_change(
    situation: Situation, labels: dict[str, str]
) -> None:
    obj, in_force, known = situation
    verdict = mutate(obj, in_force, known)
    assume(verdict.allowed and obj["metadata"] is not None and obj["spec"] is not None)
    patched = applied(obj, verdict)
    patched["metadata"]["labels"] = labels
    annotations = patched["metadata"].get("annotations") or {}
    ours = provenance.recognize_constraints(
        annotations.get(DEFAULTS_ANNOTATION), template(patched).constraints
    )
    others = [entry for i, entry in enumerate(listed(patched)) if i not in ours]

    again = mutate(patched, in_force, known)
    assume(again.allowed and not again.drops)

    assert listed(applied(patched, again))[: len(others)] == others


@given(strategies.json_lists, st.integers(0, 3), strategies.labels)
def test_what_another_webhook_adds_is_never_taken_for_ours(
    added: list[Any], place: int, labels: dict[str, str]
) -> None:
    mixed = injected_pod()
    mixed["spec"]["topologySpreadConstraints"][place:place] = added
    mixed["metadata"]["labels"] = labels

    verdict = mutate(mixed, policy(profile(), field_defaults=FieldDefaults.NONE))

    if verdict.allowed:
        kept = listed(applied(mixed, verdict))
        assert [entry for entry in kept if entry not in listed(injected_pod())] == added


@given(strategies.pods, strategies.pods, strategies.policies, st.booleans(), st.booleans())
@example(pod(None), pod(), DEFAULTS, True, False)
def test_the_patch_of_any_workload_applies(
    obj: Json, other: Json, in_force: Policy, same: bool, built_in: bool
) -> None:
    def held(inner: Json) -> Json:
        template = {"metadata": inner["metadata"], "spec": inner["spec"]}
        return {**deployment(), "spec": {"template": template}}

    made = held(obj)
    make = request if built_in else custom
    verdict = judge(make(made, old=made if same else held(other)), Hook.MUTATE, in_force, NoFacts())

    patched = applied(made, verdict)

    before, after = template(made), template(patched)
    assert replace(after, spec=None) == replace(before, spec=None)
    assert len(after.constraints) in {0, len(before.constraints)}
    assert verdict.allowed or not same


@given(strategies.situations, st.sampled_from(Hook))
def test_recommend_mode_changes_nothing_and_reports_what_would_be(
    situation: Situation, hook: Hook
) -> None:
    obj, in_force, known = situation
    done = judge(request(obj), hook, in_force, known)

    recommended = judge(request(obj), hook, replace(in_force, mode=Mode.RECOMMEND), known)

    assert recommended.allowed
    assert recommended.patch == ()
    assert recommended.held == {"deny": "deny", "patch": "patch", "allow": ""}[done.outcome]
    for warning in recommended.warnings:
        assert len(warning) <= WARNING_CHARACTERS
        assert warning.isprintable()


@given(strategies.any_lists, st.none() | strategies.any_lists, strategies.policies)
def test_any_list_gets_a_verdict_from_both_hooks(
    constraints: tuple[Constraint, ...], old: tuple[Constraint, ...] | None, in_force: Policy
) -> None:
    def holding(wanted: tuple[Constraint, ...]) -> PodTemplate:
        made = template(pod())
        assert made.spec is not None
        return replace(made, spec=replace(made.spec, topology_spread_constraints=wanted))

    decoded = replace(
        request(pod()),
        template=holding(constraints),
        old=None if old is None else holding(old),
        operation="CREATE" if old is None else "UPDATE",
    )

    for hook in Hook:
        verdict = judge(decoded, hook, in_force, WEB)
        assert verdict.allowed or verdict.findings
        assert verdict.allowed or not verdict.patch
