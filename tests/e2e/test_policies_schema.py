"""kube-apiserver refuses each SpreadPolicy that evenspread could not use, and says why."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.e2e.spreadpolicies import (
    PATH,
    SOFT,
    defined,
    definition,
    find_schema_problems,
    spread_policy,
)
from webhook.config.policyobjects import check_spread_policy
from webhook.errors import CombinedConfigError

OLDEST = "1.33"  # that the default control plane can emulate
HARD = {**SOFT, "whenUnsatisfiable": "DoNotSchedule"}


@pytest.fixture(scope="module", autouse=True)
def kind(control_plane: ControlPlane) -> Iterator[None]:
    with defined(control_plane):
        yield


def one(**members: Any) -> Json:
    """A spec with one hard default and further members of it; None removes one."""
    constraint = {**HARD, **members}
    return {"defaultConstraints": [{k: v for k, v in constraint.items() if v is not None}]}


def selecting(member: str, **selector: Any) -> Json:
    return {"match": {member: selector}}


def expression(**members: Any) -> Json:
    return selecting("objectSelector", matchExpressions=[{"key": "app", **members}])


KEY = "must be the key of a label: at most 63 letters, digits, '-', '_' and '.'"
AT = "spec.defaultConstraints[0]"

# spec -> parts of the message of kube-apiserver
REFUSED: dict[str, tuple[Json, list[str]]] = {
    "a maxSkew of 0": (
        one(maxSkew=0),
        [f"{AT}.maxSkew: Invalid value: 0", "should be greater than or equal to 1"],
    ),
    "no maxSkew": (one(maxSkew=None), [f"{AT}.maxSkew: Required value"]),
    "a maxSkew of 33 bits": (
        one(maxSkew=2**31),
        ["integer with format int32 in spec.defaultConstraints[0].maxSkew"],
    ),
    "a text for maxSkew": (
        one(maxSkew="1"),
        [f"{AT}.maxSkew", 'must be of type integer: "string"'],
    ),
    "no topologyKey": (one(topologyKey=None), [f"{AT}.topologyKey: Required value"]),
    "an empty topologyKey": (one(topologyKey=""), [f"{AT}.topologyKey", KEY]),
    "a topologyKey with a space": (one(topologyKey="my zone"), [f"{AT}.topologyKey", KEY]),
    "a topologyKey with two slashes": (one(topologyKey="a/b/c"), [f"{AT}.topologyKey", KEY]),
    "a topologyKey with an upper-case prefix": (one(topologyKey="A.io/b"), [KEY]),
    "a topologyKey with a long name": (one(topologyKey=f"a.io/{'b' * 64}"), [KEY]),
    "a topologyKey with a long prefix": (one(topologyKey=f"{'a' * 254}/b"), [KEY]),
    "an unknown whenUnsatisfiable": (
        one(whenUnsatisfiable="Never"),
        [
            (
                f'{AT}.whenUnsatisfiable: Unsupported value: "Never": supported values: '
                '"DoNotSchedule", "ScheduleAnyway"'
            )
        ],
    ),
    "no whenUnsatisfiable": (
        one(whenUnsatisfiable=None),
        [f"{AT}.whenUnsatisfiable: Required value"],
    ),
    "a labelSelector": (
        one(labelSelector={"matchLabels": {"app": "web"}}),
        [f"{AT}.labelSelector", "a default has no labelSelector: leave it out"],
    ),
    "an empty labelSelector": (one(labelSelector={}), ["a default has no labelSelector"]),
    "minDomains with ScheduleAnyway": (
        one(whenUnsatisfiable="ScheduleAnyway", minDomains=2),
        [f"{AT}.minDomains", "needs whenUnsatisfiable: DoNotSchedule: write that, or leave"],
    ),
    "a minDomains of 0": (one(minDomains=0), [f"{AT}.minDomains", "greater than or equal to 1"]),
    "nodeAffinityPolicy Ignore in a hard default": (
        one(nodeAffinityPolicy="Ignore"),
        [f"{AT}.nodeAffinityPolicy", "cannot be Ignore in a hard default", "write Honor"],
    ),
    "an unknown nodeAffinityPolicy": (
        one(nodeAffinityPolicy="honor"),
        [f'{AT}.nodeAffinityPolicy: Unsupported value: "honor"'],
    ),
    "an unknown nodeTaintsPolicy": (
        one(nodeTaintsPolicy="No"),
        [f'{AT}.nodeTaintsPolicy: Unsupported value: "No": supported values: "Honor", "Ignore"'],
    ),
    "an invalid matchLabelKeys": (
        one(matchLabelKeys=["app", "a b"]),
        [f"{AT}.matchLabelKeys[1]", KEY],
    ),
    "a duplicate pair": (
        {"defaultConstraints": [HARD, SOFT, {**HARD, "maxSkew": 5}]},
        ["spec.defaultConstraints[2]: Duplicate value:", "DoNotSchedule", "kubernetes.io/hostname"],
    ),
    "33 defaults": (
        {"defaultConstraints": [{**SOFT, "topologyKey": f"k{n}"} for n in range(33)]},
        ["spec.defaultConstraints: Too many: 33: must have at most 32 items"],
    ),
    "1 000 defaults": (
        {"defaultConstraints": [{**SOFT, "topologyKey": f"k{n}"} for n in range(1000)]},
        ["spec.defaultConstraints: Too many: 1000: must have at most 32 items"],
    ),
    "a topologyKey of 1 MB": (
        one(topologyKey="k" * 1_000_000),
        [f"{AT}.topologyKey: Too long: may not be more than 317"],
    ),
    "a key of a label of 1 MB": (
        selecting("objectSelector", matchLabels={"a" * 1_000_000: "b"}),
        ["spec.match.objectSelector.matchLabels: Invalid value", "must have keys of labels"],
    ),
    "10 000 values": (
        expression(operator="In", values=["a"] * 10_000),
        ["spec.match.objectSelector.matchExpressions[0].values: Too many: 10000", "at most 64"],
    ),
    "an unknown merge": (
        {"merge": "Always"},
        ['spec.merge: Unsupported value: "Always": supported values: "IfEmpty", "PerTopologyKey"'],
    ),
    "an unknown scaleDown": ({"scaleDown": "keepSpread"}, ["spec.scaleDown: Unsupported value"]),
    "an unknown mode": (
        {"mode": "Apply"},
        ['spec.mode: Unsupported value: "Apply": supported values: "apply", "recommend"'],
    ),
    "the action of a rule alone": (
        {"rules": {"TSC101": "deny"}},
        ["spec.rules.TSC101", 'must be of type object: "string"'],
    ),
    "an unknown action": (
        {"rules": {"TSC101": {"action": "refuse"}}},
        ['spec.rules.TSC101.action: Unsupported value: "refuse": supported values: "off", "audit"'],
    ),
    "an unknown rule": (
        {"rules": {"TSC999": {"action": "warn"}}},
        ["spec.rules: Invalid value", "has a key that is no policy rule", "write some of TSC101,"],
    ),
    "a rule of files": (
        {"rules": {"TSC011": {"exemptible": False}}},
        ["spec.rules: Invalid value", "has a key that is no policy rule for a profile"],
    ),
    "a text for exemptible": ({"exemptible": "no"}, ["spec.exemptible", "of type boolean"]),
    "a text for gangs": ({"gangs": "yes"}, ["spec.gangs", "must be of type boolean"]),
    "an order of 33 bits": ({"order": 2**31}, ["integer with format int32 in spec.order"]),
    "no kinds of owners": (
        {"match": {"ownerKinds": []}},
        ["spec.match.ownerKinds", "should have at least 1 items"],
    ),
    "no names of schedulers": (
        {"match": {"schedulerNames": []}},
        ["spec.match.schedulerNames", "should have at least 1 items"],
    ),
    "an unknown operator": (
        expression(operator="Is"),
        [
            (
                "spec.match.objectSelector.matchExpressions[0].operator: Unsupported value: "
                '"Is": supported values: "In", "NotIn", "Exists", "DoesNotExist"'
            )
        ],
    ),
    "In without values": (
        expression(operator="In"),
        ["spec.match.objectSelector.matchExpressions[0]", "In and NotIn need values: add some"],
    ),
    "NotIn with no values": (expression(operator="NotIn", values=[]), ["need values: add some"]),
    "Exists with values": (
        expression(operator="Exists", values=["a"]),
        ["Exists and DoesNotExist take no values: leave them out"],
    ),
    "an expression without a key": (
        selecting("namespaceSelector", matchExpressions=[{"operator": "Exists"}]),
        ["spec.match.namespaceSelector.matchExpressions[0].key: Required value"],
    ),
    "an invalid key of an expression": (expression(key="a b", operator="Exists"), [KEY]),
    "an invalid value of an expression": (
        expression(operator="In", values=["a", "b "]),
        ["matchExpressions[0].values[1]", "must be the value of a label"],
    ),
    "an invalid key of a label": (
        selecting("namespaceSelector", matchLabels={"a b": "c"}),
        ["spec.match.namespaceSelector.matchLabels", "must have keys of labels"],
    ),
    "an invalid value of a label": (
        selecting("objectSelector", matchLabels={"a": "-"}),
        ["spec.match.objectSelector.matchLabels[a]", "must be the value of a label"],
    ),
    "a long value of a label": (
        selecting("objectSelector", matchLabels={"a": "b" * 64}),
        ["spec.match.objectSelector.matchLabels.a: Too long"],
    ),
}


@pytest.mark.parametrize(("spec", "parts"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_its_path_and_a_remedy(
    control_plane: ControlPlane, spec: Json, parts: list[str]
) -> None:
    reply = control_plane.api.request("POST", PATH, spread_policy("bad", **spec))

    assert reply.status == 422, reply.body
    for part in parts:
        assert part in reply.body["message"]


@pytest.mark.parametrize("spec", [spec for spec, _ in REFUSED.values()], ids=REFUSED)
def test_evenspread_refuses_the_same(spec: Json) -> None:
    written = spread_policy("bad", **spec)
    match: Json = written["spec"].get("match", {}).get("objectSelector", {})
    values = [len(one.get("values", ())) for one in match.get("matchExpressions", ())]
    too_many = len(written["spec"]["defaultConstraints"]) > 32 or max(values, default=0) > 64

    if too_many:  # a bound of the schema alone, for the cost of its expressions
        check_spread_policy(written)
    else:
        with pytest.raises(CombinedConfigError):
            check_spread_policy(written)


def test_unknown_fields_are_refused_as_kubectl_sends_a_policy_and_removed_otherwise(
    control_plane: ControlPlane,
) -> None:
    written = spread_policy("bad", namespaceSelector={}, match={"namespaceSelecter": {}})
    unknown = [
        'unknown field "spec.match.namespaceSelecter"',
        'unknown field "spec.namespaceSelector"',
    ]

    strict = {"fieldValidation": "Strict", "dryRun": "All"}
    refused = control_plane.api.request("POST", PATH, written, query=strict)
    removed = control_plane.api.request("POST", PATH, written, query={"dryRun": "All"})

    assert refused.status == 400
    assert all(part in refused.body["message"] for part in unknown)
    assert (removed.status, sorted(removed.warnings)) == (201, unknown)
    assert "namespaceSelector" not in removed.body["spec"]


def test_a_policy_without_a_spec_or_constraints_is_refused(control_plane: ControlPlane) -> None:
    empty = {**spread_policy("bad"), "spec": {}}
    none = {key: value for key, value in empty.items() if key != "spec"}

    for written, part in ((empty, "spec.defaultConstraints: Required"), (none, "spec: Required")):
        reply = control_plane.api.request("POST", PATH, written)
        assert (reply.status, part in reply.body["message"]) == (422, True)


def test_a_name_that_no_label_may_have_is_refused(control_plane: ControlPlane) -> None:
    reply = control_plane.api.request("POST", PATH, spread_policy("a" * 64))

    assert reply.status == 422
    assert "metadata.name must have at most 63 characters" in reply.body["message"]


ACCEPTED: dict[str, Json] = {
    "nothing but no constraints": {"defaultConstraints": []},
    "every field of a constraint": one(
        topologyKey=f"{'a' * 253}/{'b' * 63}",
        minDomains=3,
        nodeAffinityPolicy="Honor",
        nodeTaintsPolicy="Ignore",
        matchLabelKeys=["pod-template-hash", "example.com/Key_1.x"],
    ),
    "a soft default with every policy": {
        "defaultConstraints": [{**SOFT, "nodeAffinityPolicy": "Ignore"}]
    },
    "both actions for a key": {"defaultConstraints": [HARD, SOFT]},
    "every field": {
        "order": -(2**31),
        "match": {
            "namespaceSelector": {"matchLabels": {"tier": "prod", "example.com/empty": ""}},
            "objectSelector": {
                "matchExpressions": [
                    {"key": "app", "operator": "In", "values": ["a", ""]},
                    {"key": "app", "operator": "NotIn", "values": ["b"]},
                    {"key": "example.com/x", "operator": "Exists"},
                    {"key": "y", "operator": "DoesNotExist", "values": []},
                ]
            },
            "ownerKinds": ["ReplicaSet"],
            "schedulerNames": ["other"],
        },
        "merge": "PerTopologyKey",
        "completeSelectors": True,
        "scaleDown": "KeepSpread",
        "gangs": True,
        "mode": "recommend",
        "rules": {
            "TSC101": {"action": "deny", "exemptible": False},
            "TSC102": {"action": "off"},
            "TSC121": {},
        },
        "exemptible": False,
    },
}


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_accepted_can_be_read(control_plane: ControlPlane, spec: Json) -> None:
    written = spread_policy("good", **spec)
    stored = control_plane.api.call("POST", PATH, written, dryRun="All")

    assert check_spread_policy(stored) == check_spread_policy(written)
    assert set(written["spec"]) <= set(stored["spec"])


def test_kubectl_shows_order_age_and_constraints(control_plane: ControlPlane) -> None:
    api = control_plane.api
    made = spread_policy("zones", order=7)
    api.create(made)
    try:
        for kind in ("sprp", "evenspread"):
            heading, row = control_plane.kubectl("get", kind).stdout.splitlines()
            assert heading.split() == ["NAME", "ORDER", "ACCEPTED", "EFFECTIVE", "UNEVEN", "AGE"]
            assert row.split()[1] == "7"
        wide = control_plane.kubectl("get", "sprp", "-o", "wide").stdout
        assert wide.splitlines()[0].split()[-1] == "CONSTRAINTS"
        assert '[{"maxSkew":3,"topologyKey":"kubernetes.io/hostname",' in wide
        explained = control_plane.kubectl("explain", "spreadpolicy.spec.match").stdout
        assert "Conditions that a pod must all match" in explained
        for path in ("spreadpolicy.spec", "spreadpolicy.status"):
            assert "<empty>" not in control_plane.kubectl("explain", path).stdout
    finally:
        api.delete(made)


def test_a_status_is_a_subresource(control_plane: ControlPlane) -> None:
    api = control_plane.api
    made = api.create({**spread_policy("reported"), "status": {"observedGeneration": 5}})
    condition = {
        "type": "Accepted",
        "status": "True",
        "reason": "Valid",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    try:
        assert "status" not in made
        stored = api.call(
            "PUT", f"{PATH}/reported/status", {**made, "status": {"conditions": [condition]}}
        )
        assert stored["metadata"]["generation"] == made["metadata"]["generation"]
        waited = control_plane.kubectl(
            "wait", "--for=condition=Accepted", "sprp/reported", "--timeout=30s"
        ).stdout
        assert "condition met" in waited
    finally:
        api.delete(made)


def test_the_definition_is_accepted_without_warnings(control_plane: ControlPlane) -> None:
    assert find_schema_problems(control_plane, definition()) == []


def test_an_older_version_refuses_the_same(new_control_plane: NewControlPlane) -> None:
    plane = new_control_plane(emulated_version=OLDEST)
    with defined(plane):
        for name, (spec, parts) in REFUSED.items():
            reply = plane.api.request("POST", PATH, spread_policy("bad", **spec))
            assert reply.status == 422, name
            assert parts[-1] in reply.body["message"], name
