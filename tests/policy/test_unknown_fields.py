from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import FakeFacts, Json, custom, deployment, policy, request, review_body, spread
from webhook.admission import decode
from webhook.policy.defaulting.profiles import Mode
from webhook.policy.kinds import LEADER_WORKER_SET, SHIPPED_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.places import TemplatePatterns
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.unknown_fields import (
    LONGEST_CHECKED,
    MOST_WARNED,
    find_unknown_in_object,
    warn_of_unknown_fields,
)
from webhook.policy.verdict import judge

ROLLOUT = GroupKind("argoproj.io", "Rollout")
LIST = "spec.template.spec.topologySpreadConstraints"
WARNING = f'TSC011 unknown field "{LIST}[0].minDomain"; did you mean "minDomains"?'


NONE = frozenset[str]()


def misspelled(**members: Any) -> Json:
    return deployment({**spread(), "minDomain": 3, **members})


def reviewed(obj: Json, old: Json | None = None, **changes: Any) -> AdmissionRequest:
    return custom(obj, old, body=review_body(obj, old, kind=ROLLOUT), **changes)


def test_unknown_fields_of_a_custom_kind_are_warned_of() -> None:
    assert warn_of_unknown_fields(reviewed(misspelled()), NONE) == (WARNING,)


def test_only_the_first_are() -> None:
    assert (
        len(warn_of_unknown_fields(reviewed(misspelled(a=1, b=2, c=3, d=4)), NONE)) == MOST_WARNED
    )


def test_a_kind_that_is_configured_may_have_a_list_of_its_own() -> None:
    obj = deployment()
    obj["spec"]["topologySpreadConstraints"] = []

    fleet = replace(reviewed(obj), kind=GroupKind("example.io", "Fleet"))

    assert len(warn_of_unknown_fields(reviewed(obj), NONE)) == 1
    assert warn_of_unknown_fields(fleet, NONE) == ()


def test_a_list_of_another_template_is_not_reported_as_one_of_this() -> None:
    """Whose list it is cannot be guessed in an object with several templates."""
    groups: Json = {
        "leaderTemplate": {"topologySpreadConstraints": []},
        "workerTemplate": {"spec": {}},
    }
    body = review_body({"spec": {"leaderWorkerTemplate": groups}}, kind=LEADER_WORKER_SET)

    decoded = decode(body, SHIPPED_TEMPLATES)

    assert [warn_of_unknown_fields(one, NONE) for one in decoded.siblings] == [()]


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
    assert warn_of_unknown_fields(silent, NONE) == ()


def test_an_exemption_that_the_configuration_forbids_has_no_effect() -> None:
    assert warn_of_unknown_fields(reviewed(exempted()), frozenset({"TSC011"})) == (WARNING,)


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
