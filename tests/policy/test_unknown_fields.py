from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import FakeFacts, Json, custom, deployment, policy, request, review_body, spread
from webhook.admission import decode
from webhook.policy.api.schema import UNKNOWN_FIELD, StrictFinding
from webhook.policy.defaulting.profiles import Mode
from webhook.policy.kinds import LEADER_WORKER_SET, SHIPPED_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.paths import FieldPath
from webhook.policy.places import TemplatePatterns
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.unknown_fields import (
    LONGEST_CHECKED,
    MOST_WARNED,
    find_unknown_in_object,
    select_findings,
    warn_of_unknown_fields,
)
from webhook.policy.verdict import judge

ROLLOUT = GroupKind("argoproj.io", "Rollout")
FLEET = GroupKind("example.io", "Fleet")
LIST = "spec.template.spec.topologySpreadConstraints"
WARNING = f'TSC011 unknown field "{LIST}[0].minDomain"; did you mean "minDomains"?'


def misspelled(**members: Any) -> Json:
    return deployment({**spread(), "minDomain": 3, **members})


def reviewed(obj: Json, old: Json | None = None, **changes: Any) -> AdmissionRequest:
    return custom(obj, old, body=review_body(obj, old, kind=ROLLOUT), **changes)


def test_unknown_fields_of_a_custom_kind_are_warned_of() -> None:
    assert warn_of_unknown_fields(reviewed(misspelled()), policy()) == (WARNING,)


def test_only_the_first_are() -> None:
    found = warn_of_unknown_fields(reviewed(misspelled(a=1, b=2, c=3, d=4)), policy())

    assert len(found) == MOST_WARNED


def test_a_kind_that_is_configured_may_have_a_list_of_its_own() -> None:
    obj = deployment()
    obj["spec"]["topologySpreadConstraints"] = []
    templates = {**SHIPPED_TEMPLATES, FLEET: ("spec", "template")}

    fleet = replace(reviewed(obj), kind=FLEET)

    assert len(warn_of_unknown_fields(reviewed(obj), policy())) == 1
    assert warn_of_unknown_fields(fleet, replace(policy(), pod_templates=templates)) == ()


def test_a_list_of_another_template_is_not_reported_as_one_of_this() -> None:
    groups: Json = {
        "leaderTemplate": {"topologySpreadConstraints": [], "spec": {}},
        "workerTemplate": {"spec": {}},
    }
    body = review_body({"spec": {"leaderWorkerTemplate": groups}}, kind=LEADER_WORKER_SET)

    decoded = decode(body, SHIPPED_TEMPLATES)

    leader, worker = (warn_of_unknown_fields(one, policy()) for one in (decoded, *decoded.siblings))
    at = "spec.leaderWorkerTemplate.leaderTemplate"
    assert (len(leader), len(worker)) == (1, 0)
    assert leader[0].endswith(f"it belongs at {at}.spec.topologySpreadConstraints")


def test_a_list_beside_several_templates_is_reported_once() -> None:
    groups: Json = {"leaderTemplate": {"spec": {}}, "workerTemplate": {"spec": {}}}
    obj: Json = {"spec": {"topologySpreadConstraints": [], "leaderWorkerTemplate": groups}}
    body = review_body(obj, kind=LEADER_WORKER_SET)

    verdict = judge(decode(body, SHIPPED_TEMPLATES), Hook.VALIDATE, policy(), FakeFacts())

    assert [line.partition(";")[0] for line in verdict.warnings] == [
        'TSC011 unknown field "spec.topologySpreadConstraints"'
    ]


def test_findings_belong_to_the_template_that_they_are_in_or_meant_for() -> None:
    at: FieldPath = ("spec", "jobs", 0)
    other: FieldPath = ("spec", "jobs", 1)
    inside, beside, elsewhere = (
        StrictFinding(UNKNOWN_FIELD, path) for path in ((*at, "x"), (*other, "x"), ("spec", "x"))
    )
    meant = StrictFinding(UNKNOWN_FIELD, ("spec", "y"), meant=(*other, "y"))
    shared = StrictFinding(UNKNOWN_FIELD, ("spec", "z"), alternatives=((*at, "z"), (*other, "z")))
    found = [inside, beside, elsewhere, meant, shared]

    assert list(select_findings(found, at, [at, other])) == [inside, elsewhere, shared]
    assert list(select_findings(found, other, [at, other])) == [
        beside,
        meant,
        replace(shared, is_elsewhere=True),
    ]
    assert list(select_findings((), other, [])) == []


CONTROLLED = [{"apiVersion": "x/v1", "kind": "Fleet", "name": "sea", "controller": True}]


def owned() -> Json:
    obj = misspelled()
    obj["metadata"]["ownerReferences"] = CONTROLLED
    return obj


def exempted() -> Json:
    obj = misspelled()
    obj["metadata"]["annotations"] = {"evenspread.io/exempt": "TSC011=newer"}
    return obj


SILENT = {
    "an exempted object": reviewed(exempted()),
    "a built-in kind, of which the API server warns": request(
        misspelled(), body=review_body(misspelled())
    ),
    "an update that leaves the template": reviewed(misspelled(), misspelled()),
    "what a controller created": reviewed(owned()),
    "a kind without a template": reviewed(misspelled(), path=None),
    "a large review": reviewed(misspelled(note="x" * LONGEST_CHECKED)),
    "a request without a body": custom(misspelled()),
    "a sound object": reviewed(deployment(spread())),
}


@pytest.mark.parametrize("silent", SILENT.values(), ids=SILENT.keys())
def test_there_are_no_warnings_about(silent: AdmissionRequest) -> None:
    assert warn_of_unknown_fields(silent, policy()) == ()


def test_an_exemption_that_the_configuration_forbids_has_no_effect() -> None:
    forbidding = replace(policy(), not_exemptible=frozenset({"TSC011"}))

    assert warn_of_unknown_fields(reviewed(exempted()), forbidding) == (WARNING,)


def test_the_validating_hook_warns_and_allows() -> None:
    verdicts = {
        hook: judge(reviewed(misspelled()), hook, policy(mode=Mode.APPLY), FakeFacts())
        for hook in Hook
    }

    assert all(verdict.allowed for verdict in verdicts.values())
    assert WARNING in verdicts[Hook.VALIDATE].warnings
    assert WARNING not in verdicts[Hook.MUTATE].warnings


def test_a_denial_carries_the_warning_too() -> None:
    verdict = judge(reviewed(misspelled(maxSkew=0)), Hook.VALIDATE, policy(), FakeFacts())

    assert not verdict.allowed
    assert verdict.warnings == (WARNING,)


FLEET = GroupKind("example.io", "Fleet")


def test_each_template_of_an_object_is_examined() -> None:
    template = {"spec": {"topologySpreadConstraints": [{"minDomain": 3}]}}
    places = TemplatePatterns((("spec", "jobs", "*", "template"), ("spec", "main")))
    value = {"spec": {"jobs": [{}, {"template": template}], "main": template}}

    found = find_unknown_in_object(value, FLEET, places)

    assert [finding.path[1:3] for finding in found] == [("jobs", 1), ("main", "spec")]
    assert find_unknown_in_object({"spec": 3}, FLEET, places) == ()


def test_a_bare_list_is_examined_alone() -> None:
    places = ("spec", "topologySpreadConstraints")
    value: Json = {"spec": {"topologySpreadConstraints": [{"minDomain": 3}], "labelSelector": {}}}

    (found,) = find_unknown_in_object(value, FLEET, places)

    assert found.meant == (*places, 0, "minDomains")
