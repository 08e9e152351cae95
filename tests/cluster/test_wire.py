from typing import Any

import msgspec
import pytest

from webhook.cluster import wire
from webhook.policy.model import LabelSelector, Taint

NULLS: dict[str, tuple[type[wire.NamedObject], str]] = {
    "an empty object": (wire.NamedObject, "{}"),
    "null metadata": (wire.NamedObject, '{"metadata": null}'),
    "null names": (wire.NamedObject, '{"metadata": {"name": null, "namespace": null}}'),
}


@pytest.mark.parametrize(("kind", "text"), NULLS.values(), ids=NULLS.keys())
def test_null_names_are_empty(kind: type[wire.NamedObject], text: str) -> None:
    decoded = msgspec.json.decode(text, type=kind)

    assert (decoded.name, decoded.namespace) == ("", "")


# kind, its specification, its selector
SELECTORS: dict[str, tuple[type[wire.ServiceObject | wire.ControllerObject], str, Any]] = {
    "a Service": (wire.ServiceObject, '{"selector": {"a": "b"}}', {"a": "b"}),
    "a Service with a null value": (wire.ServiceObject, '{"selector": {"a": null}}', {"a": ""}),
    "a Service with an empty selector": (wire.ServiceObject, '{"selector": {}}', {}),
    "a Service with a null selector": (wire.ServiceObject, '{"selector": null}', None),
    "a Service without one": (wire.ServiceObject, "{}", None),
    "a Service without specification": (wire.ServiceObject, "null", None),
    "a ReplicaSet": (
        wire.ControllerObject,
        '{"selector": {"matchLabels": {"a": "b"}}}',
        LabelSelector(match_labels={"a": "b"}),
    ),
    "a ReplicaSet with an empty selector": (
        wire.ControllerObject,
        '{"selector": {}}',
        LabelSelector(),
    ),
    "a ReplicaSet with a null selector": (wire.ControllerObject, '{"selector": null}', None),
    "a ReplicaSet without specification": (wire.ControllerObject, "null", None),
}
REPLICATION_CONTROLLERS: dict[str, tuple[str, LabelSelector | None]] = {
    "pairs": ('{"selector": {"a": "b"}}', LabelSelector(match_labels={"a": "b"})),
    "no pairs": ('{"selector": {}}', LabelSelector()),
    "null": ('{"selector": null}', None),
    "no specification": ("null", None),
}


@pytest.mark.parametrize(("kind", "spec", "selector"), SELECTORS.values(), ids=SELECTORS.keys())
def test_a_selector_is_read(
    kind: type[wire.ServiceObject | wire.ControllerObject], spec: str, selector: Any
) -> None:
    assert msgspec.json.decode(f'{{"spec": {spec}}}', type=kind).selector == selector


@pytest.mark.parametrize(
    ("spec", "selector"), REPLICATION_CONTROLLERS.values(), ids=REPLICATION_CONTROLLERS.keys()
)
def test_the_pairs_of_a_replication_controller_are_its_selector(
    spec: str, selector: LabelSelector | None
) -> None:
    text = f'{{"spec": {spec}}}'

    assert msgspec.json.decode(text, type=wire.ReplicationControllerObject).selector == selector


def test_a_node_is_read() -> None:
    text = """{"metadata": {"name": "a", "namespace": "odd", "labels": {"x": null}},
        "spec": {"taints": [null, {"key": "k", "effect": "NoSchedule"}], "unschedulable": true}}"""

    node = msgspec.json.decode(text, type=wire.NodeObject)

    assert (node.name, node.namespace, node.labels) == ("a", "", {"x": ""})
    assert node.taints == (Taint(), Taint(key="k", effect="NoSchedule"))
    assert node.unschedulable


@pytest.mark.parametrize("text", ["{}", '{"metadata": {"labels": null}, "spec": {"taints": null}}'])
def test_a_node_of_nulls_is_read(text: str) -> None:
    node = msgspec.json.decode(text, type=wire.NodeObject)

    assert (node.labels, node.taints, node.unschedulable) == ({}, (), False)
