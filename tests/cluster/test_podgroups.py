"""What is read of a PodGroup."""

from typing import Any

import msgspec
import pytest

from webhook.cluster.podgroups import decode_pod_group
from webhook.policy.advice.podgroups import PodGroup

RACK = "topology.kubernetes.io/rack"


def topology(*terms: Any) -> dict[str, Any]:
    return {"schedulingConstraints": {"topology": list(terms)}}


SPECS: dict[str, tuple[Any, tuple[str, ...], bool]] = {
    "no specification": (None, (), True),
    "a gang": ({"schedulingPolicy": {"gang": {"minCount": 4}}}, (), True),
    "a basic policy": ({"schedulingPolicy": {"basic": {}}}, (), False),
    "null members": ({"schedulingPolicy": None, "schedulingConstraints": None}, (), True),
    "a topology": (topology({"key": RACK}), (RACK,), True),
    "several topologies": (topology({"key": "a"}, {"key": "b"}), ("a", "b"), True),
    "no key": (topology({}, None, {"key": None}, {"key": ""}), (), True),
    "no topology": ({"schedulingConstraints": {"topology": None}}, (), True),
}


@pytest.mark.parametrize(("spec", "keys", "gang"), SPECS.values(), ids=SPECS)
def test_a_pod_group_is_decoded(spec: Any, keys: tuple[str, ...], *, gang: bool) -> None:
    obj = {"metadata": {"name": "workers", "namespace": "shop"}, "spec": spec}

    found = decode_pod_group(msgspec.json.encode(obj))

    assert found == PodGroup(namespace="shop", name="workers", keys=keys, gang=gang)


def test_a_value_of_the_wrong_type_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_pod_group(b'{"spec": {"schedulingConstraints": {"topology": {}}}}')
