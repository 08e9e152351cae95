from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from webhook.policy.model import (
    Constraint,
    GroupKind,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    ObjectMeta,
    OwnerReference,
    PodSpec,
    PodTemplate,
    Taint,
    group_of,
)

READ: dict[str, tuple[Any, Any]] = {
    "an expression": (
        {"key": "a", "operator": "In", "values": ["b", None]},
        LabelSelectorRequirement("a", "In", ("b", "")),
    ),
    "a selector": (
        {"matchLabels": {"a": None, "b": "c"}, "matchExpressions": [None, {"key": "d"}]},
        LabelSelector(
            {"a": "", "b": "c"}, (LabelSelectorRequirement(), LabelSelectorRequirement("d"))
        ),
    ),
    "a constraint": (
        {
            "maxSkew": 2,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {},
            "minDomains": 0,
            "nodeAffinityPolicy": "",
            "nodeTaintsPolicy": "Honor",
            "matchLabelKeys": ["a", None],
            "unknown": {"passed": ["over"]},
        },
        Constraint(2, "zone", "DoNotSchedule", LabelSelector(), 0, "", "Honor", ("a", "")),
    ),
    "an owner": (
        {"apiVersion": "v1", "kind": "K", "name": "n", "controller": True},
        OwnerReference("v1", "K", "n", controller=True),
    ),
    "metadata": (
        {
            "name": "n",
            "generateName": "g",
            "namespace": "s",
            "labels": {"a": None},
            "annotations": {"b": None},
            "ownerReferences": [None],
        },
        ObjectMeta("n", "g", "s", {"a": ""}, {"b": ""}, (OwnerReference(),)),
    ),
    "a pod's specification": (
        {"nodeName": "n", "schedulerName": "s", "topologySpreadConstraints": [None, {}]},
        PodSpec("n", "s", (Constraint(), Constraint())),
    ),
    "a taint": (
        {"key": "k", "value": "v", "effect": "NoSchedule"},
        Taint("k", "v", "NoSchedule"),
    ),
}


@pytest.mark.parametrize(("written", "value"), READ.values(), ids=READ.keys())
def test_json_is_read_as(written: Any, value: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(written), type=type(value)) == value


STRUCTS = [
    LabelSelectorRequirement,
    LabelSelector,
    Constraint,
    OwnerReference,
    ObjectMeta,
    PodSpec,
    PodTemplate,
    Taint,
    GroupKind,
]


@pytest.mark.parametrize("struct", STRUCTS)
def test_null_is_absent_in_every_member(struct: type[msgspec.Struct]) -> None:
    nulls = dict.fromkeys(struct.__struct_encode_fields__)

    assert msgspec.convert(nulls, struct) == msgspec.convert({}, struct) == struct()


@pytest.mark.parametrize("struct", STRUCTS)
def test_each_null_is_absent_beside_other_members(struct: type[msgspec.Struct]) -> None:
    for member in struct.__struct_encode_fields__:
        assert msgspec.convert({member: None}, struct) == struct()


def test_no_two_objects_share_their_labels() -> None:
    one, other = msgspec.convert({"labels": None}, ObjectMeta), ObjectMeta()

    assert one.labels is not other.labels


SKEWS = [2**31, -(2**31) - 1, 1.5, "1", True]


@pytest.mark.parametrize("skew", SKEWS)
def test_a_number_that_is_no_int32_is_refused(skew: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode({"maxSkew": skew}), type=Constraint)


@given(strategies.int32s)
def test_every_int32_is_a_skew(skew: int) -> None:
    written = msgspec.json.encode({"maxSkew": skew, "minDomains": skew})

    assert msgspec.json.decode(written, type=Constraint) == Constraint(skew, min_domains=skew)


@given(strategies.any_constraints)
def test_a_written_constraint_is_read_as_itself(constraint: Constraint) -> None:
    assert msgspec.json.decode(msgspec.json.encode(constraint), type=Constraint) == constraint


@given(st.lists(strategies.nullable(strategies.json_constraints), max_size=3))
def test_nulls_in_a_list_are_empty_constraints(listed: list[dict[str, Any] | None]) -> None:
    read = msgspec.convert({"topologySpreadConstraints": listed}, PodSpec)

    expected = tuple(msgspec.convert(item or {}, Constraint) for item in listed)
    assert read.topology_spread_constraints == expected


OWNERS = {
    "no owner": ((), None),
    "no controller": ((OwnerReference(name="a"),), None),
    "the controller among owners": (
        (OwnerReference(name="a"), OwnerReference(name="b", controller=True)),
        "b",
    ),
}


@pytest.mark.parametrize(("owners", "name"), OWNERS.values(), ids=OWNERS.keys())
def test_an_object_is_managed_by(owners: tuple[OwnerReference, ...], name: str | None) -> None:
    controller = ObjectMeta(owner_references=owners).controller

    assert (controller.name if controller else None) == name


def test_a_template_without_members_has_nothing() -> None:
    assert PodTemplate().labels == {}
    assert PodTemplate().constraints == ()


def test_a_template_has_labels_and_constraints() -> None:
    template = PodTemplate(
        ObjectMeta(labels={"a": "b"}), PodSpec(topology_spread_constraints=(Constraint(1),))
    )

    assert template.labels == {"a": "b"}
    assert template.constraints == (Constraint(1),)


def test_a_node_is_schedulable_and_untainted_by_default() -> None:
    node = Node("n", {})

    assert not node.taints
    assert not node.unschedulable


KINDS = {
    "the core group is silent": (GroupKind("", "Pod"), "Pod"),
    "others follow the kind": (GroupKind("apps", "Deployment"), "Deployment.apps"),
}


@pytest.mark.parametrize(("kind", "text"), KINDS.values(), ids=KINDS.keys())
def test_a_kind_is_written_as_in_kubernetes_messages(kind: GroupKind, text: str) -> None:
    assert str(kind) == text


@pytest.mark.parametrize(("version", "group"), [("v1", ""), ("apps/v1", "apps"), ("", "")])
def test_the_group_stands_before_the_slash(version: str, group: str) -> None:
    assert group_of(version) == group
