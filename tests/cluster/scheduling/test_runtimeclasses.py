"""A RuntimeClass gives its overhead, node labels and tolerations to new pods."""

from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.runtimeclasses import (
    RuntimeClassObject,
    apply_runtime_class,
    decode_runtime_class,
    find_conflicts,
)
from webhook.policy.placement.nodes import Toleration
from webhook.policy.placement.runtimeclasses import RuntimeClass

TOLERATION = {"key": "kata", "operator": "Exists"}
KATA = {
    "metadata": {"name": "kata"},
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {"nodeSelector": {"kata": "true"}, "tolerations": [TOLERATION]},
}


def apply(spec: Any, written: Any = KATA) -> tuple[Any, list[str]]:
    pod = msgspec.convert({"spec": spec}, ApiPod)
    found = msgspec.convert(written, RuntimeClassObject)
    return msgspec.to_builtins(apply_runtime_class(pod, found))["spec"], list(
        find_conflicts(pod, found)
    )


def test_a_pod_gets_what_its_class_has() -> None:
    spec, conflicts = apply({"nodeSelector": {"pool": "a"}})

    assert spec["nodeSelector"] == {"kata": "true", "pool": "a"}
    assert [one["key"] for one in spec["tolerations"]] == ["kata"]
    assert (spec["overhead"], conflicts) == ({"cpu": "250m"}, [])


def test_what_a_pod_has_stays() -> None:
    own = {"nodeSelector": {"kata": "no"}, "tolerations": [TOLERATION], "overhead": {"cpu": "1"}}

    spec, conflicts = apply(own)

    assert (spec["nodeSelector"], len(spec["tolerations"])) == ({"kata": "no"}, 1)
    assert spec["overhead"] == {"cpu": "1"}
    assert conflicts == ["kata is no, but RuntimeClass kata requires true"]


def test_a_class_without_members_adds_nothing() -> None:
    for written in ({}, {"overhead": {}, "scheduling": {"nodeSelector": None}}):
        spec, conflicts = apply({}, written)

        assert (spec["nodeSelector"], spec["tolerations"], spec["overhead"]) == ({}, (), None)
        assert conflicts == []
    assert apply(None)[0] is None


def test_null_labels_are_empty() -> None:
    spec, _ = apply({}, {"scheduling": {"nodeSelector": {"kata": None}}})

    assert spec["nodeSelector"] == {"kata": ""}


def test_a_malformed_quantity_is_a_type_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="podFixed"):
        apply({}, {"overhead": {"podFixed": {"cpu": "x"}}})


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (
            KATA,
            RuntimeClass(
                name="kata",
                node_selector={"kata": "true"},
                tolerations=(Toleration("kata", "Exists"),),
            ),
        ),
        ({"metadata": {"name": "plain"}}, RuntimeClass(name="plain")),
        (
            {"scheduling": {"nodeSelector": {"a": None}}},
            RuntimeClass(name="", node_selector={"a": ""}),
        ),
    ],
)
def test_the_nodes_of_a_class_are_decoded(written: Any, found: RuntimeClass) -> None:
    assert decode_runtime_class(msgspec.json.encode(written)) == found


def test_a_type_error_of_a_class_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="tolerations"):
        decode_runtime_class(b'{"scheduling": {"tolerations": {}}}')
