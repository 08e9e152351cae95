import copy
import json
from typing import Any, TypeAlias

import jsonpatch
import msgspec
import pytest
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
    gates,
    owned_by,
    pod,
    policy,
    profile,
    request,
    review_body,
    spread,
    template,
)
from tests.policy.advice import realistic
from webhook.admission import decode
from webhook.policy import render
from webhook.policy.api import predict, rules
from webhook.policy.api.rules import ValidationOptions
from webhook.policy.catalogue import DEFAULT_ACTIONS, Action
from webhook.policy.defaulting import provenance
from webhook.policy.defaulting.profiles import HOSTNAME, ZONE, FieldDefaults, Merge, Mode, Policy
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.facts import NoFacts
from webhook.policy.kinds import POD
from webhook.policy.model import MAX_CONSTRAINTS, Constraint, Node, PodTemplate
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.selectors import merge_match_label_keys
from webhook.policy.verdict import UNTOUCHED, WARNING_CHARACTERS, Verdict, judge

BAD = spread(maxSkew=0)
DEFAULTS = policy(profile())
ADDING = policy(profile(merge=Merge.PER_TOPOLOGY_KEY))
WEB = facts(app="web")


def mutate(obj: Json, in_force: Policy = DEFAULTS, known: Any = WEB, **changes: Any) -> Verdict:
    return judge(request(obj, **changes), Hook.MUTATE, in_force, known)


def applied(obj: Json, verdict: Verdict) -> Json:
    """The object after the patch, as an independent library applies it."""
    steps = json.loads(msgspec.json.encode(verdict.patch))
    patched: Json = jsonpatch.JsonPatch(steps).apply(obj)
    return patched


def listed(obj: Json) -> list[Any]:
    return (obj.get("spec") or {}).get("topologySpreadConstraints") or []


def defaults_annotation(obj: Json) -> str | None:
    found: str | None = obj["metadata"]["annotations"].get(DEFAULTS_ANNOTATION)
    return found


ROLLOUT_BAD = custom(deployment(BAD))

OUTCOMES: dict[str, tuple[AdmissionRequest, Hook, Policy, str]] = {
    "a pod gets defaults": (request(pod()), Hook.MUTATE, DEFAULTS, "patch"),
    "the validating hook adds nothing": (request(pod()), Hook.VALIDATE, DEFAULTS, "allow"),
    "a pod that nothing selects stays as it is": (
        request(pod(labels={})),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "a bad pod is denied": (request(pod(BAD)), Hook.MUTATE, DEFAULTS, "deny"),
    "a bad pod is denied by the validating hook": (
        request(pod(BAD)),
        Hook.VALIDATE,
        DEFAULTS,
        "deny",
    ),
    "a workload gets no defaults": (request(deployment()), Hook.MUTATE, DEFAULTS, "allow"),
    "a bad workload is denied": (request(deployment(BAD)), Hook.MUTATE, DEFAULTS, "deny"),
    "a bad custom workload is denied": (ROLLOUT_BAD, Hook.VALIDATE, DEFAULTS, "deny"),
    "a subresource is untouched": (
        request(pod(BAD), sub_resource="resize"),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "a deletion is untouched": (
        request(pod(BAD), operation="DELETE"),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "an object without a template is untouched": (
        request(pod(), template=None),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "an update of a pod gets no defaults": (
        request(pod(), old=pod()),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "an update that leaves a bad list is allowed": (
        request(deployment(BAD), old=deployment(BAD)),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "an update to a bad list is denied": (
        request(deployment(BAD), old=deployment()),
        Hook.MUTATE,
        DEFAULTS,
        "deny",
    ),
    "an update of a custom kind that leaves a bad list is allowed": (
        custom(deployment(BAD), old=deployment(BAD)),
        Hook.VALIDATE,
        DEFAULTS,
        "allow",
    ),
    "recommend mode would deny": (
        request(pod(BAD)),
        Hook.MUTATE,
        policy(mode=Mode.RECOMMEND),
        "would_deny",
    ),
    "recommend mode would patch": (
        request(pod()),
        Hook.MUTATE,
        policy(profile(), mode=Mode.RECOMMEND),
        "would_patch",
    ),
    "recommend mode has nothing to recommend": (
        request(pod(spread())),
        Hook.MUTATE,
        policy(profile(), mode=Mode.RECOMMEND),
        "allow",
    ),
    "a key that the pod carries is judged as merged": (
        request(pod(spread(matchLabelKeys=["app"]))),
        Hook.MUTATE,
        DEFAULTS,
        "deny",
    ),
    "merged keys pass the validating hook": (
        request(
            pod(
                spread(
                    matchLabelKeys=["app"],
                    labelSelector={
                        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]
                    },
                )
            )
        ),
        Hook.VALIDATE,
        DEFAULTS,
        "allow",
    ),
}


@pytest.mark.parametrize(
    ("decoded", "hook", "in_force", "outcome"), OUTCOMES.values(), ids=OUTCOMES.keys()
)
def test_the_outcome_is(
    decoded: AdmissionRequest, hook: Hook, in_force: Policy, outcome: str
) -> None:
    verdict = judge(decoded, hook, in_force, WEB)

    assert verdict.outcome == outcome
    assert verdict.allowed == (outcome != "deny")
    assert bool(verdict.patch) == (outcome == "patch")
    assert bool(verdict.message) == (outcome == "deny")


def test_what_does_not_concern_us_is_one_verdict() -> None:
    assert judge(request(pod(), sub_resource="x"), Hook.MUTATE, DEFAULTS, WEB) is UNTOUCHED
    assert judge(request(pod(spread())), Hook.VALIDATE, DEFAULTS, WEB) is UNTOUCHED


def test_a_denial_is_worded_as_by_kube_apiserver_and_names_its_rules() -> None:
    verdict = mutate(deployment(BAD, BAD))

    at = "spec.template.spec.topologySpreadConstraints"
    assert verdict.code == 422
    assert verdict.message == (
        f'Deployment.apps "web" is invalid: [{at}[0].maxSkew: Invalid value: 0: must be greater '
        f"than zero, {at}[0].{{topologyKey, whenUnsatisfiable}}: Duplicate value: "
        f'"{{{ZONE}, DoNotSchedule}}", {at}[1].maxSkew: Invalid value: 0: must be greater than '
        "zero] (TSC001,TSC004; to read more: evenspread validate --explain TSC001,TSC004)"
    )


def test_a_list_that_is_too_long_is_denied_before_it_is_judged() -> None:
    long = [spread(topologyKey=f"k{n}") for n in range(MAX_CONSTRAINTS + 1)]

    verdict = mutate(pod(*long))

    assert [violation.rule for violation in verdict.findings] == ["TSC010"]
    assert mutate(pod(*long[1:])).allowed
    assert mutate(pod(*long), old=pod(*long)).allowed


UNREADABLE: dict[str, tuple[dict[str, Any], bool]] = {
    "a create is denied": ({}, False),
    "an update from a readable object is denied": ({"operation": "UPDATE"}, False),
    "an update from an unreadable object is allowed": (
        {"operation": "UPDATE", "old_unreadable": True},
        True,
    ),
}


@pytest.mark.parametrize(("changes", "allowed"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_of_what_cannot_be_read(changes: dict[str, Any], allowed: bool) -> None:
    decoded = custom(deployment(), template=None, unreadable="Expected int", **changes)

    verdict = judge(decoded, Hook.MUTATE, DEFAULTS, WEB)

    assert verdict.allowed is allowed
    if allowed:
        assert verdict.warnings == ("Expected int",)
    else:
        assert verdict.code == 400
        assert verdict.message == 'Rollout.argoproj.io "web" cannot be read: Expected int'


def test_a_finding_that_does_not_deny_is_a_warning_and_stops_the_patch() -> None:
    """What is bad already is not made half good: the patch makes an object valid, or is none."""
    stored = deployment(spread(maxSkew=0, whenUnsatisfiable=""))

    verdict = judge(custom(stored, old=stored), Hook.MUTATE, DEFAULTS, WEB)

    at = "spec.template.spec.topologySpreadConstraints[0]"
    assert verdict.warnings == (
        f"{at}.maxSkew: Invalid value: 0: must be greater than zero [TSC001]",
    )
    assert verdict.patch == ()


RECOMMENDING = policy(
    profile(),
    mode=Mode.RECOMMEND,
    gates=gates(MinDomainsInPodTopologySpread=False),
)

RECOMMENDED: dict[str, tuple[Json, list[str]]] = {
    "a denial": (
        pod(BAD),
        [
            (
                'evenspread would deny this: Pod "web-1" is invalid: '
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater "
                "than zero (TSC001; to read more: evenspread validate --explain TSC001)"
            )
        ],
    ),
    "defaults": (
        pod(),
        [f"evenspread would add the defaults of profile cluster: {ZONE}, {HOSTNAME}"],
    ),
    "what would be dropped": (
        pod(spread(minDomains=1)),
        [
            (
                "TSC111 topologySpreadConstraints[0].minDomains: would go, "
                "MinDomainsInPodTopologySpread is off"
            )
        ],
    ),
    "what the pods of a workload would get": (
        deployment(),
        [
            (
                "evenspread would give its pods the defaults of profile cluster: "
                f"{ZONE} (maxSkew 1, ScheduleAnyway), {HOSTNAME} (maxSkew 2, ScheduleAnyway)"
            )
        ],
    ),
}


@pytest.mark.parametrize(("obj", "warnings"), RECOMMENDED.values(), ids=RECOMMENDED.keys())
def test_recommend_mode_warns(obj: Json, warnings: list[str]) -> None:
    verdict = mutate(obj, RECOMMENDING)

    assert verdict.allowed
    assert verdict.patch == ()
    assert list(verdict.warnings) == warnings


def test_recommend_mode_reports_the_pods_of_a_workload_that_it_would_patch() -> None:
    adding = policy(profile(merge=Merge.PER_TOPOLOGY_KEY), mode=Mode.RECOMMEND)

    verdict = mutate(deployment(spread(whenUnsatisfiable="")), adding)

    path = "/spec/template/spec/topologySpreadConstraints/0/whenUnsatisfiable"
    assert verdict.warnings == (
        f"evenspread would fill in {path}",
        (
            "evenspread would give its pods the defaults of profile cluster: "
            f"{HOSTNAME} (maxSkew 2, ScheduleAnyway)"
        ),
    )


def test_recommend_mode_does_not_recommend_what_is_there_already() -> None:
    stored = applied(pod(), mutate(pod()))

    verdict = mutate(stored, policy(profile(), mode=Mode.RECOMMEND))

    assert verdict.outcome == "allow"
    assert verdict.warnings == ()


def test_long_and_unprintable_warnings_are_made_to_fit() -> None:
    name = "größe\n" * 60
    verdict = mutate(pod(), policy(profile(name=name), mode=Mode.RECOMMEND))

    (warning,) = verdict.warnings
    assert len(warning) == 256
    assert warning.endswith("...")
    assert r"größe\ngröße" in warning


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


def without_ours(obj: Json) -> Json:
    """The object without constraints and our annotation; empty parents are nothing."""
    rest: Json = copy.deepcopy(obj)
    (rest.get("spec") or {}).pop("topologySpreadConstraints", None)
    metadata = rest.get("metadata") or {}
    (metadata.get("annotations") or {}).pop(DEFAULTS_ANNOTATION, None)
    if not metadata.get("annotations"):
        metadata.pop("annotations", None)
    return rest


@given(strategies.situations)
@example((pod(spread(), annotations={DEFAULTS_ANNOTATION: "x"}), DEFAULTS, WEB))
def test_the_patch_applies_and_touches_nothing_else(situation: Situation) -> None:
    obj, in_force, known = situation
    patched = applied(obj, mutate(obj, in_force, known))

    assert without_ours(patched) == without_ours(obj)


@given(strategies.situations)
def test_a_second_pass_changes_nothing(situation: Situation) -> None:
    obj, in_force, known = situation
    verdict = mutate(obj, in_force, known)
    assume(verdict.allowed)

    patched = applied(obj, verdict)

    assert mutate(patched, in_force, known).patch == ()


@given(strategies.situations)
def test_a_second_pass_changes_nothing_in_what_the_api_server_wrote_again(
    situation: Situation,
) -> None:
    obj, in_force, known = situation
    verdict = mutate(obj, in_force, known)
    assume(verdict.allowed)

    patched = applied(obj, verdict)
    if patched["spec"] is not None and listed(patched):
        written = [render.constraint(constraint) for constraint in template(patched).constraints]
        patched["spec"]["topologySpreadConstraints"] = written
    again = json.loads(json.dumps(patched, sort_keys=True))

    assert mutate(again, in_force, known).patch == ()


@given(strategies.situations)
def test_what_the_first_hook_lets_through_the_api_server_and_the_second_do_too(
    situation: Situation,
) -> None:
    obj, in_force, known = situation
    verdict = mutate(obj, in_force, known)
    assume(verdict.allowed)

    patched = applied(obj, verdict)
    created = predict.Request(kind=POD, path=(), template=template(patched))
    given = predict.predict_response(created, in_force.gates)
    stored = copy.deepcopy(patched)
    if stored["spec"] is not None:
        stored["spec"]["topologySpreadConstraints"] = list(map(render.constraint, given.stored))

    assert given.findings == []
    assert given.drops == ()
    assert judge(request(stored), Hook.VALIDATE, in_force, known) is UNTOUCHED


@settings(suppress_health_check=[HealthCheck.filter_too_much])
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


ELSEWHERE = deployment(spread(labelSelector={"matchLabels": {"app": "shop"}}))
"""Its constraint counts other pods than its own: TSC101."""


def advised(hook: Hook, **changes: Any) -> Verdict:
    decoded = decode(review_body(ELSEWHERE, name="web"))
    return judge(decoded, hook, policy(**changes), facts())


def test_advice_warns_in_the_validating_hook() -> None:
    verdict = advised(Hook.VALIDATE)

    assert verdict.allowed
    assert any("TSC101" in line for line in verdict.warnings)
    assert verdict.advice is not None
    assert advised(Hook.MUTATE).advice is None


def test_advice_denies_where_configured() -> None:
    verdict = advised(Hook.VALIDATE, actions={**DEFAULT_ACTIONS, "TSC101": Action.DENY})

    assert not verdict.allowed
    assert [finding.rule for finding in verdict.findings] == ["TSC101"]
    assert "TSC101" in verdict.message


MISSING_ITSELF = pod(spread(labelSelector={"matchLabels": {"app": "shop"}}))
NULL_SELECTOR = pod(spread(labelSelector=None))
TSC101_DENIES = {**DEFAULT_ACTIONS, "TSC101": Action.DENY}


def created(obj: Json, hook: Hook, **changes: Any) -> Verdict:
    """The verdict on the creation of a pod, whose body can be read again."""
    in_force = replace(DEFAULTS, **changes)
    return judge(decode(review_body(obj)), hook, in_force, with_a_node(WEB))


def with_a_node(known: FakeFacts) -> FakeFacts:
    """The same cluster with one node that has a zone, so that no topology key is unknown."""
    return FakeFacts(services_of=known.services_of, nodes=[Node("n", {ZONE: "a", HOSTNAME: "n"})])


def rules_warned_of(verdict: Verdict) -> list[str]:
    return [finding.rule for finding in verdict.advice.warned] if verdict.advice else []


@pytest.mark.parametrize("validates_pods", [False, True])
@pytest.mark.parametrize("mode", Mode)
def test_one_hook_alone_advises_on_a_pod(mode: Mode, validates_pods: bool) -> None:
    verdicts = {
        hook: created(MISSING_ITSELF, hook, mode=mode, validates_pods=validates_pods)
        for hook in Hook
    }

    advising, silent = (
        (Hook.VALIDATE, Hook.MUTATE) if validates_pods else (Hook.MUTATE, Hook.VALIDATE)
    )
    assert rules_warned_of(verdicts[advising]) == ["TSC101"]
    assert len(verdicts[advising].warnings) == 1
    assert verdicts[silent].advice is None
    assert verdicts[silent].warnings == ()


def test_the_mutating_hook_denies_nothing_by_advice() -> None:
    verdict = created(MISSING_ITSELF, Hook.MUTATE, actions=TSC101_DENIES)

    assert verdict.allowed
    assert rules_warned_of(verdict) == ["TSC101"]


def test_the_validating_hook_denies_by_advice_where_it_is_sent_pods() -> None:
    changes = {"actions": TSC101_DENIES, "validates_pods": True}

    assert not created(MISSING_ITSELF, Hook.VALIDATE, **changes).allowed
    assert created(MISSING_ITSELF, Hook.MUTATE, **changes).warnings == ()


def test_a_pod_of_a_controller_is_not_advised_on_by_the_mutating_hook() -> None:
    owned = pod(*listed(MISSING_ITSELF), owner=owned_by())

    assert created(owned, Hook.MUTATE).warnings == ()


COMPLETING = (profile(complete_selectors=True),)


def test_a_selector_that_is_completed_is_not_warned_of() -> None:
    assert rules_warned_of(created(NULL_SELECTOR, Hook.MUTATE)) == ["TSC102"]
    completed = created(NULL_SELECTOR, Hook.MUTATE, profiles=COMPLETING)
    assert completed.patch
    assert completed.warnings == ()


def test_in_recommend_mode_a_selector_that_stays_null_is_warned_of() -> None:
    changes = {"profiles": COMPLETING, "mode": Mode.RECOMMEND}

    assert "TSC102" in rules_warned_of(created(NULL_SELECTOR, Hook.MUTATE, **changes))


def test_a_field_that_is_dropped_is_advised_on_no_more() -> None:
    off = gates(MinDomainsInPodTopologySpread=False)
    manifest = pod(spread(minDomains=7))

    assert "TSC104" in rules_warned_of(created(manifest, Hook.MUTATE))
    dropped = created(manifest, Hook.MUTATE, gates=off)
    assert [drop.field for drop in dropped.drops] == ["minDomains"]
    assert rules_warned_of(dropped) == []


def test_injected_defaults_are_advised_on_as_they_will_be_stored() -> None:
    zoneless = FakeFacts(services_of=WEB.services_of, nodes=[Node("n", {HOSTNAME: "n"})])
    decoded = decode(review_body(pod()))

    first = judge(decoded, Hook.MUTATE, DEFAULTS, zoneless)
    assert rules_warned_of(first) == ["TSC103"]
    again = judge(decode(review_body(applied(pod(), first))), Hook.MUTATE, DEFAULTS, zoneless)
    assert (again.patch, again.warnings) == ((), first.warnings)


def as_stored(obj: Json) -> Json:
    """A pod as kube-apiserver stores it: matchLabelKeys are merged into the selectors."""
    made = template(obj)
    merged = merge_match_label_keys(made.constraints, made.labels)
    constraints = [render.constraint(entry) for entry in merged]
    return {**obj, "spec": {**obj["spec"], "topologySpreadConstraints": constraints}}


@given(realistic.objects(pods=True), realistic.node_lists(), st.sampled_from(FieldDefaults))
def test_the_mutating_hook_reports_what_the_validating_one_would(
    obj: Json, nodes: list[Node], field_defaults: FieldDefaults
) -> None:
    known = FakeFacts(services_of=WEB.services_of, nodes=nodes)
    in_force = replace(
        ADDING,
        profiles=(profile(merge=Merge.PER_TOPOLOGY_KEY, complete_selectors=True),),
        actions=dict.fromkeys(DEFAULT_ACTIONS, Action.WARN),
        field_defaults=field_defaults,
    )

    obj = json.loads(json.dumps(obj, sort_keys=True))  # as Go writes maps
    mutated = judge(decode(review_body(obj)), Hook.MUTATE, in_force, known)
    assume(mutated.allowed)
    stored = decode(review_body(as_stored(applied(obj, mutated))))
    validated = judge(stored, Hook.VALIDATE, replace(in_force, validates_pods=True), known)

    assert mutated.warnings == validated.warnings
    assert mutated.advice == validated.advice


MIRROR = pod(BAD, annotations={"kubernetes.io/config.mirror": "x"}, nodeName="n")


@pytest.mark.parametrize("validates_pods", [False, True])
@pytest.mark.parametrize("hook", Hook)
def test_a_mirror_pod_is_left_alone(hook: Hook, validates_pods: bool) -> None:
    verdict = created(MIRROR, hook, validates_pods=validates_pods, actions=TSC101_DENIES)

    assert verdict.allowed
    assert (verdict.patch, verdict.warnings, verdict.findings) == ((), (), ())


def test_the_annotation_of_mirror_pods_means_nothing_on_a_workload() -> None:
    marked = deployment(BAD)
    marked["metadata"]["annotations"] = MIRROR["metadata"]["annotations"]
    marked["spec"]["template"]["metadata"]["annotations"] = MIRROR["metadata"]["annotations"]

    assert not mutate(marked).allowed


SPREAD_BY_NOTHING = {**deployment(), "spec": {**deployment()["spec"], "replicas": 3}}
ABOUT_NOTHING = {
    Action.DENY: (False, 0, []),
    Action.WARN: (True, 1, []),
    Action.AUDIT: (True, 0, ["TSC110"]),
}


@pytest.mark.parametrize(("action", "outcome"), ABOUT_NOTHING.items())
def test_a_workload_without_constraints_is_advised_on(
    action: Action, outcome: tuple[bool, int, list[str]]
) -> None:
    decoded = decode(review_body(SPREAD_BY_NOTHING, name="web"))
    in_force = policy(actions={**DEFAULT_ACTIONS, "TSC110": action})

    verdict = judge(decoded, Hook.VALIDATE, in_force, facts())

    assert verdict.advice is not None
    recorded = [finding.rule for finding in verdict.advice.audited]
    assert (verdict.allowed, len(verdict.warnings), recorded) == outcome


def test_a_pod_of_a_controller_without_constraints_is_left_alone() -> None:
    decoded = decode(review_body(pod(owner=owned_by())))

    assert judge(decoded, Hook.VALIDATE, policy(), facts()) is UNTOUCHED


HELD_BACK = pod(spread(minDomains=2))
DENYING_DROPS = policy(
    gates=gates(MinDomainsInPodTopologySpread=False),
    actions={**DEFAULT_ACTIONS, "TSC111": Action.DENY},
)


def test_a_field_that_a_gate_holds_back_is_denied_where_configured() -> None:
    verdict = mutate(HELD_BACK, DENYING_DROPS)

    assert not verdict.allowed
    assert not verdict.patch
    assert [violation.error.field for violation in verdict.findings] == [
        "spec.topologySpreadConstraints[0].minDomains"
    ]
    assert "TSC111" in verdict.message


def test_what_a_gate_holds_back_is_not_denied_in_recommend_mode() -> None:
    verdict = mutate(HELD_BACK, replace(DENYING_DROPS, mode=Mode.RECOMMEND))

    assert verdict.allowed
    assert verdict.outcome == "would_deny"


def test_advice_does_not_deny_in_recommend_mode() -> None:
    actions = {**DEFAULT_ACTIONS, "TSC101": Action.DENY}
    verdict = advised(Hook.VALIDATE, actions=actions, mode=Mode.RECOMMEND)

    assert verdict.allowed
    assert verdict.outcome == "would_deny"
