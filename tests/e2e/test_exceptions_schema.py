"""kube-apiserver refuses each exception that evenspread could not use, and says why."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.e2e.exceptions import defined, definition, path, policy_exception
from tests.e2e.spreadpolicies import find_schema_problems
from webhook.cluster.policyexceptions import decode_exception
from webhook.policy.catalogue import DEFAULT_ACTIONS

OLDEST = "1.33"  # that the default control plane can emulate


@pytest.fixture(scope="module", autouse=True)
def kind(control_plane: ControlPlane) -> Iterator[None]:
    with defined(control_plane):
        yield


def expression(**members: Any) -> Json:
    return {"selector": {"matchExpressions": [{"key": "app", **members}]}}


TIME = "must be a time with a zone, as RFC 3339 writes it: write one such as 2027-01-31T00:00:00Z"
NOTHING = "exempts from nothing: write rules, or defaults: true"
KEY = "must be the key of a label: at most 63 letters, digits, '-', '_' and '.'"

# spec -> parts of the message of kube-apiserver
REFUSED: dict[str, tuple[Json, list[str]]] = {
    "an unknown rule": (
        {"rules": ["TSC101", "TSC999"]},
        ['spec.rules[1]: Unsupported value: "TSC999": supported values: "TSC101", "TSC102"'],
    ),
    "a rule of the API": ({"rules": ["TSC001"]}, ['spec.rules[0]: Unsupported value: "TSC001"']),
    "a lower-case rule": ({"rules": ["tsc101"]}, ['spec.rules[0]: Unsupported value: "tsc101"']),
    "many rules": (
        {"rules": ["TSC101"] * 33},
        ["spec.rules: Too many: 33: must have at most 32 items"],
    ),
    "a text for rules": ({"rules": "TSC101"}, ["spec.rules", 'must be of type array: "string"']),
    "nothing": ({"rules": None}, ["spec: Invalid value", NOTHING]),
    "no rules": ({"rules": []}, ["spec: Invalid value", NOTHING]),
    "no defaults": ({"rules": [], "defaults": False}, ["spec: Invalid value", NOTHING]),
    "a text for defaults": ({"defaults": "yes"}, ["spec.defaults", "must be of type boolean"]),
    "no reason": ({"reason": None}, ["spec.reason: Required value"]),
    "an empty reason": (
        {"reason": ""},
        ["spec.reason: Invalid value", "must say why the pods are exempt: write a reason"],
    ),
    "a blank reason": ({"reason": " \n\t"}, ["must say why the pods are exempt: write a reason"]),
    "a long reason": (
        {"reason": "x" * 201},
        ["spec.reason: Too long: may not be more than 200"],
    ),
    "a day": ({"expires": "2027-01-31"}, ["spec.expires: Invalid value", TIME]),
    "a time without a zone": ({"expires": "2027-01-31T00:00:00"}, ["spec.expires", TIME]),
    "a time without a T": ({"expires": "2027-01-31 00:00:00Z"}, [TIME]),
    "a zone without a colon": ({"expires": "2027-01-31T00:00:00+0100"}, [TIME]),
    "a zone of a day": ({"expires": "2027-01-31T00:00:00+24:00"}, [TIME]),
    "a month that is none": ({"expires": "2027-13-31T00:00:00Z"}, ["spec.expires", TIME]),
    "a day that is none": (
        {"expires": "2027-02-30T00:00:00Z"},
        ["spec.expires: Invalid value", TIME],
    ),
    "an hour that is none": ({"expires": "2027-01-31T24:00:00Z"}, [TIME]),
    "a leap second": ({"expires": "2026-12-31T23:59:60Z"}, [TIME]),
    "the year 0": ({"expires": "0000-01-31T00:00:00Z"}, ["spec.expires", TIME]),
    "a word": ({"expires": "never"}, [TIME]),
    "an empty time": ({"expires": ""}, [TIME]),
    "a number": ({"expires": 1800000000}, ["spec.expires", "must be of type string"]),
    "an unknown operator": (
        expression(operator="Is"),
        ['spec.selector.matchExpressions[0].operator: Unsupported value: "Is"'],
    ),
    "In without values": (
        expression(operator="In"),
        ["spec.selector.matchExpressions[0]", "In and NotIn need values: add some"],
    ),
    "Exists with values": (
        expression(operator="Exists", values=["a"]),
        ["Exists and DoesNotExist take no values: leave them out"],
    ),
    "an invalid key of an expression": (expression(key="a b", operator="Exists"), [KEY]),
    "an invalid key of a label": (
        {"selector": {"matchLabels": {"a b": "c"}}},
        ["spec.selector.matchLabels", "must have keys of labels"],
    ),
    "an invalid value of a label": (
        {"selector": {"matchLabels": {"a": "-"}}},
        ["spec.selector.matchLabels[a]", "must be the value of a label"],
    ),
}

LENIENT = {"a zone without a colon", "a time without a T"}
"""Exceptions that evenspread reads all the same."""


def refused(plane: ControlPlane, spec: Json) -> str:
    """The message about an exception."""
    reply = plane.api.request("POST", path(), policy_exception("bad", **spec))
    assert reply.status == 422, reply.body
    message: str = reply.body["message"]
    return message


@pytest.mark.parametrize(("spec", "parts"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_its_path_and_a_remedy(
    control_plane: ControlPlane, spec: Json, parts: list[str]
) -> None:
    message = refused(control_plane, spec)

    for part in parts:
        assert part in message


@pytest.mark.parametrize("name", sorted(REFUSED.keys() - LENIENT))
def test_evenspread_refuses_the_same(name: str) -> None:
    spec, _ = REFUSED[name]
    with pytest.raises(msgspec.DecodeError):
        decode_exception(msgspec.json.encode(policy_exception("bad", **spec)))


def test_a_rule_twice_is_refused(control_plane: ControlPlane) -> None:
    message = refused(control_plane, {"rules": ["TSC101", "TSC110", "TSC101"]})

    assert 'spec.rules[2]: Duplicate value: "TSC101"' in message


def test_an_exception_without_a_spec_is_refused(control_plane: ControlPlane) -> None:
    written = policy_exception("bad")
    del written["spec"]

    reply = control_plane.api.request("POST", path(), written)

    assert (reply.status, "spec: Required value" in reply.body["message"]) == (422, True)


ACCEPTED: dict[str, Json] = {
    "one rule": {},
    "defaults alone": {"rules": None, "defaults": True},
    "every field": {
        "rules": list(DEFAULT_ACTIONS),
        "defaults": True,
        "selector": {
            "matchLabels": {"app": "web", "example.com/empty": ""},
            "matchExpressions": [
                {"key": "app", "operator": "In", "values": ["a", ""]},
                {"key": "y", "operator": "DoesNotExist"},
            ],
        },
        "reason": "x" * 200,
        "expires": "2027-01-31T00:00:00.123456789+01:00",
    },
    "an empty selector": {"selector": {}},
    "several lines": {"reason": "one\ntwo\n"},
    "the last moment": {"expires": "9999-12-31T23:59:59Z"},
    "the first moment": {"expires": "0001-01-01T00:00:00Z"},
    "a leap day": {"expires": "2028-02-29T23:59:59-23:59"},
}


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_accepted_can_be_read(control_plane: ControlPlane, spec: Json) -> None:
    written = policy_exception("good", **spec)
    stored = control_plane.api.call("POST", path(), written, dryRun="All")

    read = decode_exception(msgspec.json.encode(stored))
    assert read == decode_exception(msgspec.json.encode(written))
    assert written["spec"].keys() <= stored["spec"].keys()


def test_kubectl_shows_what_is_exempt_and_until_when(control_plane: ControlPlane) -> None:
    api, end = control_plane.api, "2099-01-31T00:00:00Z"
    made = policy_exception("legacy", rules=["TSC101", "TSC110"], expires=end)
    api.create(made)
    try:
        heading, row = control_plane.kubectl("get", "sprx").stdout.splitlines()
        assert heading.split() == ["NAME", "RULES", "DEFAULTS", "EXPIRES", "REASON"]
        for part in ('["TSC101","TSC110"]', "false", end, "one zone by contract"):
            assert part in row
        assert "legacy" in control_plane.kubectl("get", "evenspread").stdout
        explained = control_plane.kubectl("explain", "sprx.spec.expires").stdout
        assert "The time from which the exception has no effect" in explained
    finally:
        api.delete(made)


def test_the_definition_is_accepted_without_warnings(control_plane: ControlPlane) -> None:
    assert find_schema_problems(control_plane, definition()) == []


def test_an_older_version_refuses_the_same(new_control_plane: NewControlPlane) -> None:
    plane = new_control_plane(emulated_version=OLDEST)
    with defined(plane):
        for name, (spec, parts) in REFUSED.items():
            assert parts[-1] in refused(plane, spec), name
