import copy
from typing import Any

import msgspec
import pytest

from tests.build import FakeFacts, policy, profile
from webhook.export.drift import PolicyDrift, complete_specification, find_policy_drift
from webhook.export.exported import Manifest
from webhook.export.mutating import export_mutating

EXPORTED = export_mutating(policy(profile()), FakeFacts()).manifests
KINDS = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")


def stored() -> list[Manifest]:
    """The objects as an API server returns them."""
    found = copy.deepcopy(list(EXPORTED))
    for manifest in found:
        manifest["spec"] = complete_specification(manifest["spec"])
        manifest["metadata"]["uid"] = "u"
    return found


def drift(found: list[Manifest]) -> list[PolicyDrift]:
    return list(find_policy_drift(EXPORTED, found, "map"))


def test_stored_objects_are_no_drift() -> None:
    assert drift(stored()) == []


def test_missing_objects_are_drift() -> None:
    found = drift([])

    assert [(one.kind, one.stored) for one in found] == [(kind, None) for kind in KINDS]


@pytest.mark.parametrize(
    ("index", "changes"),
    [
        (0, {"failurePolicy": "Fail"}),
        (0, {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}),
        (0, {"mutations": []}),
        (1, {"matchResources": {"namespaceSelector": {}}}),
    ],
)
def test_a_changed_specification_is_drift(index: int, changes: dict[str, Any]) -> None:
    objects = stored()
    objects[index]["spec"] |= changes

    (found,) = drift(objects)

    assert (found.kind, found.name) == (KINDS[index], "evenspread-cluster")
    assert found.stored == {**(found.exported or {}), **changes}


def shuffled(value: Any) -> Any:
    """The same value, with the members of all objects in the reverse order."""
    if isinstance(value, dict):
        return {key: shuffled(inner) for key, inner in reversed(value.items())}
    return [shuffled(one) for one in value] if isinstance(value, list) else value


def test_a_changed_specification_has_its_members_in_the_order_of_the_export() -> None:
    objects = [{**one, "spec": shuffled(one["spec"])} for one in stored()]
    objects[0]["spec"] |= {"failurePolicy": "Fail", "paramKind": {"kind": "ConfigMap"}}
    objects[0]["spec"]["matchConditions"].append({"name": "more", "expression": "true"})

    (found,) = drift(objects)

    expected = copy.deepcopy(dict(found.exported or {}))
    expected |= {"failurePolicy": "Fail", "paramKind": {"kind": "ConfigMap"}}
    expected["matchConditions"].append({"name": "more", "expression": "true"})
    assert msgspec.json.encode(found.stored) == msgspec.json.encode(expected)


@pytest.mark.parametrize(
    ("labels", "count"),
    [({"evenspread.io/export": "map"}, 1), ({"evenspread.io/export": "vap"}, 0), (None, 0)],
)
def test_objects_of_an_earlier_export_are_drift(labels: Any, count: int) -> None:
    other = {
        "kind": KINDS[0],
        "metadata": {"name": "other", "labels": labels},
        "spec": {"failurePolicy": "Fail"},
    }

    assert (
        drift([*stored(), other])
        == [PolicyDrift(KINDS[0], "other", None, {"failurePolicy": "Fail"})] * count
    )
