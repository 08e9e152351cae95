import base64
import json

import pytest

from tests.build import (
    UID,
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
)
from tests.policy.situations import WEB
from webhook.admission import audit_annotations, decode, encode
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import Mode, Policy, ScaleDown
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import HOSTNAME, ZONE, GroupKind
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.rule_entry import Action
from webhook.policy.verdict import UNTOUCHED, Verdict, judge

TEAM, FLEET = GroupKind("example.com", "Team"), GroupKind("example.com", "Fleet")
TEMPLATES = {**BUILT_IN_TEMPLATES, TEAM: ("spec", "pod", "template"), FLEET: ("spec", "template")}


def answered(decoded: AdmissionRequest, verdict: Verdict) -> Json:
    body: Json = json.loads(encode(decoded, verdict))
    assert (body.pop("apiVersion"), body.pop("kind")) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Json = body.pop("response")
    assert body == {}
    assert response.pop("uid") == UID
    return response


def given_by(obj: Json, obeyed: Policy) -> tuple[AdmissionRequest, Verdict]:
    decoded = request(obj)
    return decoded, judge(decoded, Hook.MUTATE, obeyed, facts(app="web"))


@pytest.mark.parametrize("verdict", [UNTOUCHED, Verdict()], ids=["untouched", "equal to it"])
def test_a_plain_answer_allows_without_a_message(verdict: Verdict) -> None:
    assert answered(request(pod()), verdict) == {"allowed": True}


def test_a_patch_is_written_as_base64_of_json() -> None:
    response = answered(*given_by(pod(), policy(profile())))

    steps = json.loads(base64.b64decode(response.pop("patch"), validate=True))
    assert [step["op"] for step in steps] == ["add", "add"]
    assert response == {
        "allowed": True,
        "patchType": "JSONPatch",
        "auditAnnotations": {"profile": "cluster", "injected": f"{ZONE},{HOSTNAME}"},
    }


def test_a_denial_has_a_status_with_causes() -> None:
    response = answered(*given_by(deployment(spread(maxSkew=0)), policy()))

    at = "spec.template.spec.topologySpreadConstraints[0].maxSkew"
    detail = "Invalid value: 0: must be greater than zero"
    read_on = "(TSC001; to read more: evenspread validate --explain TSC001)"
    assert response == {
        "allowed": False,
        "auditAnnotations": {"denied": "TSC001"},
        "status": {
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": f'Deployment.apps "web" is invalid: {at}: {detail} {read_on}',
            "details": {
                "name": "web",
                "group": "apps",
                "kind": "Deployment",
                "causes": [{"reason": "FieldValueInvalid", "message": detail, "field": at}],
            },
        },
    }


def test_an_unreadable_object_is_a_bad_request_without_causes() -> None:
    template = {"spec": {"topologySpreadConstraints": [{"maxSkew": "1"}]}}
    unreadable = {"metadata": {"name": "web"}, "spec": {"pod": {"template": template}}}
    decoded = decode(review_body(unreadable, kind=TEAM, name="web"), TEMPLATES)

    response = answered(decoded, judge(decoded, Hook.VALIDATE, policy(), facts()))

    problem = "Expected int, got str - at $.spec.topologySpreadConstraints[0].maxSkew"
    assert response["status"] == {
        "status": "Failure",
        "code": 400,
        "reason": "BadRequest",
        "message": f'Team.example.com "web" cannot be read: {problem}',
        "details": {"name": "web", "group": "example.com", "kind": "Team"},
    }


def test_a_dropped_field_is_a_warning_and_a_note() -> None:
    obeyed = policy(gates=gates(MinDomainsInPodTopologySpread=False))

    response = answered(*given_by(pod(spread(minDomains=1)), obeyed))

    assert len(response["warnings"]) == 1
    assert response["auditAnnotations"] == {"dropped": "MinDomainsInPodTopologySpread"}


NOTED: dict[str, tuple[Json, Policy, dict[str, str]]] = {
    "nothing of an ordinary pod": (pod(spread()), policy(profile()), {}),
    "what would be denied": (
        pod(spread(maxSkew=0, topologyKey="")),
        policy(mode=Mode.RECOMMEND),
        {"denied": "TSC001,TSC002", "mode": "recommend"},
    ),
    "what would be injected": (
        pod(),
        policy(profile(), mode=Mode.RECOMMEND),
        {"profile": "cluster", "injected": f"{ZONE},{HOSTNAME}", "mode": "recommend"},
    ),
    "a label and its profile": (
        pod(spread(), owner=owned_by("ReplicaSet")),
        policy(profile(scale_down=ScaleDown.KEEP_SPREAD)),
        {"profile": "cluster", "labelled": "keep-spread"},
    ),
}


@pytest.mark.parametrize(("obj", "obeyed", "notes"), NOTED.values(), ids=NOTED.keys())
def test_the_audit_log_notes(obj: Json, obeyed: Policy, notes: dict[str, str]) -> None:
    _, verdict = given_by(obj, obeyed)

    assert audit_annotations(verdict) == notes


def annotated(obj: Json) -> Json:
    annotations = {"evenspread.io/exempt": "TSC101=old"}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


EXCEPTED = PolicyException(
    namespace="shop", name="legacy", reason="old", rules=("TSC101",), defaults=True
)
ELSEWHERE = spread(labelSelector={"matchLabels": {"app": "shop"}})
EXEMPTED: dict[str, tuple[Json, Hook, str]] = {
    "a pod from its defaults": (pod(), Hook.MUTATE, "defaults=legacy"),
    "a workload from a rule": (deployment(ELSEWHERE), Hook.VALIDATE, "TSC101=legacy"),
    "a workload by its annotation": (annotated(deployment(ELSEWHERE)), Hook.VALIDATE, "TSC101"),
}


@pytest.mark.parametrize(("obj", "hook", "note"), EXEMPTED.values(), ids=EXEMPTED.keys())
def test_the_audit_log_notes_what_exempted(obj: Json, hook: Hook, note: str) -> None:
    obeyed = policy(profile(), actions={**DEFAULT_ACTIONS, "TSC101": Action.DENY})
    known = FakeFacts(services_of=WEB.services_of, excepted={"shop": [EXCEPTED]})

    verdict = judge(decode(review_body(obj), TEMPLATES), hook, obeyed, known)

    assert verdict.allowed
    assert audit_annotations(verdict) == {"exempted": note}


def test_the_audit_log_does_not_note_what_an_update_left_as_it_was() -> None:
    bad = deployment(spread(maxSkew=0))
    decoded = decode(review_body(bad, old=bad, kind=FLEET), TEMPLATES)

    verdict = judge(decoded, Hook.VALIDATE, policy(), facts())

    assert verdict.findings
    assert audit_annotations(verdict) == {}


BAD = {"matchLabels": {f"-{n}": "x" * 5000 for n in range(20)}}


def test_an_answer_names_a_hundred_causes_and_counts_the_others() -> None:
    decoded = request(pod(*(spread(topologyKey=f"k{n}", labelSelector=BAD) for n in range(30))))
    verdict = judge(decoded, Hook.MUTATE, policy(), facts())

    status = answered(decoded, verdict)["status"]

    assert len(verdict.findings) == 1000
    assert len(status["details"]["causes"]) == 100
    assert "] and at least 900 more (TSC009;" in status["message"]
    assert len(encode(decoded, verdict)) < 200_000


@pytest.mark.parametrize("value", ["x" * 10**6, "\x01" * 10**6, "\U000e0001" * 10**6])
def test_an_answer_shows_the_beginning_of_a_long_value(value: str) -> None:
    decoded = request(pod(spread(labelSelector={"matchLabels": {"a": value}})))

    (cause, *_) = answered(decoded, judge(decoded, Hook.MUTATE, policy(), facts()))["status"][
        "details"
    ]["causes"]

    assert len(cause["message"]) < 3000


def test_an_update_that_violates_as_before_names_a_hundred_violations() -> None:
    stored = pod(*(spread(topologyKey=f"k{n}", labelSelector=BAD) for n in range(30)))
    decoded = custom(stored, stored)

    response = answered(decoded, judge(decoded, Hook.MUTATE, policy(), facts()))

    assert response["allowed"] is True
    assert len(response["warnings"]) == 101
    assert response["warnings"][-1] == "at least 900 more violations"
