"""Policies of other engines conflict if they write the constraints, not if they check them."""

from typing import Any

import pytest

from tests.apiserver import refuse, respond
from tests.doctor.api import client_of
from webhook.doctor.conflicts import find_conflicting_policies

ASSIGN = "GET /apis/mutations.gatekeeper.sh/v1/assign"
CLUSTER_POLICY = "GET /apis/kyverno.io/v1/clusterpolicies"
WRITES: dict[str, Any] = {"patchStrategicMerge": {"spec": {"topologySpreadConstraints": []}}}

POLICIES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "a mutation": (
        ASSIGN,
        {"location": "spec.topologySpreadConstraints"},
        ("Assign a",),
    ),
    "a rule that mutates": (
        CLUSTER_POLICY,
        {"rules": [{"mutate": WRITES}]},
        ("ClusterPolicy a",),
    ),
    "a rule that validates": (CLUSTER_POLICY, {"rules": [{"validate": WRITES}]}, ()),
    "another field": (ASSIGN, {"location": "spec.nodeName"}, ()),
}


@pytest.mark.parametrize(("path", "spec", "conflicts"), POLICIES.values(), ids=POLICIES)
async def test_policies_that_write_the_field_are_found(
    path: str, spec: dict[str, Any], conflicts: tuple[str, ...]
) -> None:
    listed = respond({"items": [{"metadata": {"name": "a"}, "spec": spec}]})

    assert (await find_conflicting_policies(client_of({path: listed}))).value == conflicts


async def test_unreadable_policies_are_a_problem() -> None:
    found = await find_conflicting_policies(client_of({ASSIGN: refuse("no")}))

    assert found.problem == "needs list on assign.mutations.gatekeeper.sh"


async def test_a_conflict_counts_though_other_policies_are_unreadable() -> None:
    listed = respond({"items": [{"metadata": {"name": "a"}, "spec": {"mutate": WRITES}}]})

    found = await find_conflicting_policies(client_of({ASSIGN: listed, CLUSTER_POLICY: refuse("")}))

    assert found.value == ("Assign a",)
