"""The label of new pods whose spread a scale-down keeps."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from tests import strategies
from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    deployment,
    gates,
    owned_by,
    pod,
    policy,
    profile,
    request,
    selector,
    spread,
)
from tests.policy.mutated import BAD, applied, listed, mutate
from tests.policy.situations import WEB
from webhook.admission import audit_annotations, encode
from webhook.policy.defaulting.inject import MIRROR_ANNOTATION, SKIP_LABEL
from webhook.policy.defaulting.profiles import Merge, Mode, Policy, ScaleDown
from webhook.policy.model import LabelSelector
from webhook.policy.request import Hook
from webhook.policy.scaledown.ranks import DELETION_COST, KEEP_SPREAD, SCALE_DOWN_LABEL
from webhook.policy.verdict import UNTOUCHED, judge

OWNER = owned_by("ReplicaSet")
OWN = spread(labelSelector={"matchLabels": {"app": "web"}})
KEEPING_PROFILE = profile(name="keeping", scale_down=ScaleDown.KEEP_SPREAD)
KEEPING = policy(KEEPING_PROFILE)
BARE_PROFILE = policy(replace(KEEPING_PROFILE, constraints=()))
ZONED = policy(replace(KEEPING_PROFILE, namespace_selector=selector(tier="prod")), profile())
PROD = FakeFacts(services_of=WEB.services_of, namespaces={NAMESPACE: {"tier": "prod"}})

PODS: dict[str, tuple[Json, Policy, Any, bool]] = {
    "it gets defaults": (pod(owner=OWNER), KEEPING, WEB, True),
    "it has constraints of its own": (pod(OWN, owner=OWNER), KEEPING, WEB, True),
    "its profile completes them": (
        pod(spread(labelSelector=None), owner=OWNER),
        policy(replace(KEEPING_PROFILE, complete_selectors=True)),
        WEB,
        True,
    ),
    "it has both": (
        pod(spread(topologyKey="rack"), owner=OWNER),
        policy(replace(KEEPING_PROFILE, merge=Merge.PER_TOPOLOGY_KEY)),
        WEB,
        True,
    ),
    "its own cannot be joined, as nothing selects it": (
        pod(spread(topologyKey="rack"), owner=OWNER),
        policy(replace(KEEPING_PROFILE, merge=Merge.PER_TOPOLOGY_KEY)),
        FakeFacts(),
        True,
    ),
    "its profile has no defaults, it has constraints": (
        pod(OWN, owner=OWNER),
        BARE_PROFILE,
        WEB,
        True,
    ),
    "it has no constraint after all": (pod(owner=OWNER), BARE_PROFILE, WEB, False),
    "nothing selects it": (pod(owner=OWNER), KEEPING, FakeFacts(), False),
    "it has no labels": (pod(OWN, labels={}, owner=OWNER), KEEPING, WEB, True),
    "its profile keeps nothing": (pod(OWN, owner=OWNER), policy(profile()), WEB, False),
    "an earlier profile fits": (
        pod(OWN, owner=OWNER),
        policy(profile(), KEEPING_PROFILE),
        WEB,
        False,
    ),
    "its namespace is of the profile": (pod(OWN, owner=OWNER), ZONED, PROD, True),
    "its namespace is of another profile": (pod(OWN, owner=OWNER), ZONED, WEB, False),
    "no profile fits": (pod(OWN, owner=OWNER, schedulerName="other"), KEEPING, WEB, False),
    "a StatefulSet controls it": (pod(OWN, owner=owned_by("StatefulSet")), KEEPING, WEB, False),
    "nothing controls it": (pod(OWN), KEEPING, WEB, False),
    "it has a cost": (
        pod(OWN, owner=OWNER, annotations={DELETION_COST: "0"}),
        KEEPING,
        WEB,
        False,
    ),
    "its author opted out": (
        pod(OWN, owner=OWNER, labels={SCALE_DOWN_LABEL: "none"}),
        KEEPING,
        WEB,
        False,
    ),
    "it skips evenspread": (
        pod(OWN, owner=OWNER, labels={SKIP_LABEL: "true"}),
        KEEPING,
        WEB,
        False,
    ),
    "its namespace is exempt": (
        pod(OWN, owner=OWNER),
        replace(KEEPING, exempt_namespaces=frozenset({NAMESPACE})),
        WEB,
        False,
    ),
    "it is a mirror pod": (
        pod(OWN, owner=OWNER, annotations={MIRROR_ANNOTATION: "x"}),
        KEEPING,
        WEB,
        False,
    ),
    "it is bound": (pod(OWN, owner=OWNER, nodeName="node-1"), KEEPING, WEB, False),
    "the gate is off": (
        pod(OWN, owner=OWNER),
        replace(KEEPING, gates=gates(EvenspreadDefaults=False)),
        WEB,
        False,
    ),
}


def label_of(obj: Json) -> str | None:
    labels: Json = obj["metadata"].get("labels") or {}
    return labels.get(SCALE_DOWN_LABEL)


@pytest.mark.parametrize(("obj", "in_force", "known", "expected"), PODS.values(), ids=PODS.keys())
def test_a_new_pod_is_labelled_if(obj: Json, in_force: Policy, known: Any, expected: bool) -> None:
    before = label_of(obj)

    verdict = mutate(obj, in_force, known)

    assert verdict.labelled is expected
    assert label_of(applied(obj, verdict)) == (KEEP_SPREAD if expected else before)


@pytest.mark.parametrize("labels", [None, {}, {"app": "web"}])
def test_labels_are_added_whole_if_there_are_none(labels: Json | None) -> None:
    obj = pod(OWN, owner=OWNER, labels={})
    obj["metadata"]["labels"] = labels

    patched = applied(obj, mutate(obj, KEEPING))

    assert patched["metadata"]["labels"] == {**(labels or {}), SCALE_DOWN_LABEL: KEEP_SPREAD}
    del obj["metadata"]["labels"]
    assert label_of(applied(obj, mutate(obj, KEEPING))) == KEEP_SPREAD


@pytest.mark.parametrize("own", [(), (OWN,)])
def test_a_second_call_changes_nothing(own: tuple[Json, ...]) -> None:
    once = applied(pod(*own, owner=OWNER), mutate(pod(*own, owner=OWNER), KEEPING))

    again = mutate(once, KEEPING)

    assert (again.patch, again.labelled) == ((), False)


def test_a_second_call_labels_what_became_a_pod_of_the_profile() -> None:
    once = applied(pod(owner=OWNER), mutate(pod(owner=OWNER), policy(profile(name="keeping"))))

    patched = applied(once, mutate(once, KEEPING))

    assert label_of(patched) == KEEP_SPREAD
    assert listed(patched) == listed(once)


def test_a_pod_that_loses_its_defaults_is_not_labelled() -> None:
    once = applied(pod(owner=OWNER), mutate(pod(owner=OWNER), policy(profile(name="keeping"))))

    patched = applied(once, mutate(once, BARE_PROFILE))

    assert (listed(patched), label_of(patched)) == ([], None)


def test_pods_of_one_replicaset_share_a_verdict_and_others_do_not() -> None:
    first, second = (mutate(pod(OWN, owner=OWNER), KEEPING) for _ in range(2))
    unlabelled = mutate(pod(OWN, owner=OWNER, labels={SCALE_DOWN_LABEL: "none"}), KEEPING)
    whole = mutate(pod(OWN, owner=OWNER, labels={}), KEEPING)
    reloaded = mutate(pod(OWN, owner=OWNER), policy(profile(name="keeping")))

    assert first is second
    assert first.recurs
    assert [verdict.labelled for verdict in (first, unlabelled, whole, reloaded)] == [
        True,
        False,
        True,
        False,
    ]
    assert first.patch != whole.patch


def test_a_workload_and_the_validating_hook_are_left_alone() -> None:
    assert mutate(deployment(OWN), KEEPING) is UNTOUCHED
    assert judge(request(pod(OWN, owner=OWNER)), Hook.VALIDATE, KEEPING, WEB) is UNTOUCHED
    assert not mutate(pod(OWN, owner=OWNER), KEEPING, old=pod(OWN, owner=OWNER)).labelled


def test_a_denied_pod_is_not_labelled() -> None:
    verdict = mutate(pod(BAD, owner=OWNER), KEEPING)

    assert (verdict.allowed, verdict.labelled, verdict.patch) == (False, False, ())


def test_recommend_mode_warns_in_place_of_the_label() -> None:
    recommending = replace(KEEPING, mode=Mode.RECOMMEND)

    of_pod = mutate(pod(OWN, owner=OWNER), recommending)
    of_workload = mutate(deployment(OWN), recommending)

    assert (of_pod.patch, of_pod.outcome) == ((), "would_patch")
    label = "evenspread.io/scale-down: keep-spread"
    assert of_pod.warnings == (f"evenspread would label it {label}",)
    assert of_workload.warnings == (f"evenspread would label its pods {label}",)


def test_the_audit_log_of_the_cluster_names_the_label_and_the_profile() -> None:
    verdict = mutate(pod(OWN, owner=OWNER), KEEPING)

    assert audit_annotations(verdict) == {"profile": "keeping", "labelled": KEEP_SPREAD}
    response = json.loads(encode(request(pod(OWN, owner=OWNER)), verdict))["response"]
    assert response["auditAnnotations"]["labelled"] == KEEP_SPREAD


def test_the_label_changes_no_selector() -> None:
    known = replace_owner(WEB, LabelSelector({"app": "web"}))
    obj = pod(owner=OWNER)

    labelled = applied(obj, mutate(obj, KEEPING, known))
    plain = applied(obj, mutate(obj, policy(profile(name="keeping")), known))

    assert listed(labelled) == listed(plain)
    assert listed(applied(labelled, mutate(labelled, KEEPING, known))) == listed(plain)


def replace_owner(known: FakeFacts, owner: LabelSelector) -> FakeFacts:
    key = (NAMESPACE, "apps/v1", "ReplicaSet", "web-54f7")
    return FakeFacts(services_of=known.services_of, owners={key: owner})


@given(strategies.situations)
def test_with_and_without_the_label_a_pod_is_otherwise_the_same(
    situation: tuple[Json, Policy, FakeFacts],
) -> None:
    obj, in_force, known = situation
    profiles = tuple(replace(one, scale_down=ScaleDown.NONE) for one in in_force.profiles)

    with_label = applied(obj, mutate(obj, in_force, known))
    without = applied(obj, mutate(obj, replace(in_force, profiles=profiles), known))

    assert without_label(with_label) == without_label(without)


def without_label(obj: Json) -> Json:
    rest: Json = copy.deepcopy(obj)
    metadata: Json = rest.get("metadata") or {}
    labels: Json = metadata.pop("labels", None) or {}
    labels.pop(SCALE_DOWN_LABEL, None)
    if labels:
        metadata["labels"] = labels
    return rest
