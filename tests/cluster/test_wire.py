from typing import Any

import msgspec
import pytest

from webhook.cluster import wire
from webhook.policy.model import LabelSelector, Taint

NULLS: dict[str, tuple[type[wire.Object], str]] = {
    "an empty object": (wire.Object, "{}"),
    "null metadata": (wire.Object, '{"metadata": null}'),
    "null names": (wire.Object, '{"metadata": {"name": null, "namespace": null}}'),
}


@pytest.mark.parametrize(("kind", "text"), NULLS.values(), ids=NULLS.keys())
def test_null_names_are_empty(kind: type[wire.Object], text: str) -> None:
    decoded = msgspec.json.decode(text, type=kind)

    assert (decoded.name, decoded.namespace) == ("", "")


# kind, its specification, its selector
SELECTORS: dict[str, tuple[type[wire.Service | wire.Controller], str, Any]] = {
    "a Service": (wire.Service, '{"selector": {"a": "b"}}', {"a": "b"}),
    "a Service with a null value": (wire.Service, '{"selector": {"a": null}}', {"a": ""}),
    "a Service with an empty selector": (wire.Service, '{"selector": {}}', {}),
    "a Service with a null selector": (wire.Service, '{"selector": null}', None),
    "a Service without one": (wire.Service, "{}", None),
    "a Service without specification": (wire.Service, "null", None),
    "a ReplicaSet": (
        wire.Controller,
        '{"selector": {"matchLabels": {"a": "b"}}}',
        LabelSelector(match_labels={"a": "b"}),
    ),
    "a ReplicaSet with an empty selector": (wire.Controller, '{"selector": {}}', LabelSelector()),
    "a ReplicaSet with a null selector": (wire.Controller, '{"selector": null}', None),
    "a ReplicaSet without specification": (wire.Controller, "null", None),
}
REPLICATION_CONTROLLERS: dict[str, tuple[str, LabelSelector | None]] = {
    "pairs": ('{"selector": {"a": "b"}}', LabelSelector(match_labels={"a": "b"})),
    "no pairs": ('{"selector": {}}', LabelSelector()),
    "null": ('{"selector": null}', None),
    "no specification": ("null", None),
}


@pytest.mark.parametrize(("kind", "spec", "selector"), SELECTORS.values(), ids=SELECTORS.keys())
def test_a_selector_is_read(
    kind: type[wire.Service | wire.Controller], spec: str, selector: Any
) -> None:
    assert msgspec.json.decode(f'{{"spec": {spec}}}', type=kind).selector == selector


@pytest.mark.parametrize(
    ("spec", "selector"), REPLICATION_CONTROLLERS.values(), ids=REPLICATION_CONTROLLERS.keys()
)
def test_the_pairs_of_a_replication_controller_are_its_selector(
    spec: str, selector: LabelSelector | None
) -> None:
    text = f'{{"spec": {spec}}}'

    assert msgspec.json.decode(text, type=wire.ReplicationController).selector == selector


def test_a_node_is_read() -> None:
    text = """{"metadata": {"name": "a", "namespace": "odd", "labels": {"x": null}},
        "spec": {"taints": [null, {"key": "k", "effect": "NoSchedule"}], "unschedulable": true}}"""

    node = msgspec.json.decode(text, type=wire.Node)

    assert (node.name, node.namespace, node.labels) == ("a", "", {"x": ""})
    assert node.taints == (Taint(), Taint(key="k", effect="NoSchedule"))
    assert node.unschedulable


@pytest.mark.parametrize("text", ["{}", '{"metadata": {"labels": null}, "spec": {"taints": null}}'])
def test_a_node_of_nulls_is_read(text: str) -> None:
    node = msgspec.json.decode(text, type=wire.Node)

    assert (node.labels, node.taints, node.unschedulable) == ({}, (), False)
