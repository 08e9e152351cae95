"""Exported policies deny the workloads that evenspread's own policy rules deny."""

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import pytest

from tests.build import kind_of, review_body
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.exported import applied, is_denied, requested_policy
from tests.e2e.objects import VERSIONS, rounds, workload
from webhook.admission.decode import decode
from webhook.export.advising import export_advice
from webhook.policy.api.versions import parse_version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import NoFacts
from webhook.policy.request import Hook
from webhook.policy.verdict import judge

OBJECTS = rounds(300, 3000)
KINDS = tuple(kind for kind in VERSIONS if kind != "Rollout")
KEYS = ("app", "tier", "pod-template-hash", "istio.io/rev", "controller-revision-hash")
VALUES = ("a", "b", "")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
KEY, OTHER = "evenspread.io/exempt", "TSC103=other"
EXEMPTIONS = (
    "TSC101=intended",
    f"{OTHER}, TSC101 = a reason",
    "TSC101=",
    "TSC101",
    "TSC102=a, TSC101=b",
    f"XTSC101=a,{OTHER}",
)

CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
fieldDefaults: none
rules: {TSC101: deny, TSC102: deny}
"""


@pytest.fixture(scope="module")
def rules(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Policy]:
    """The policy whose export is in force."""
    version = parse_version(control_plane.api.call("GET", "/version")["gitVersion"])
    exported = requested_policy(tmp_path_factory.mktemp("advice"), CONFIG, version).policy
    null = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    with applied(control_plane, export_advice(exported).manifests):
        for kind in KINDS:
            obj = workload(kind, "w", "default", {"app": "a"}, topologySpreadConstraints=[null])
            until(partial(is_denied, control_plane, obj), "the policies to be in force")
        yield exported


def some_selector(rng: Random, labels: dict[str, str]) -> Json | None:
    chosen = rng.random()
    if chosen < 0.1:
        return None if chosen < 0.05 else {}
    pairs = {key: value for key, value in labels.items() if rng.random() < 0.6}
    if rng.random() < 0.2:
        pairs[rng.choice(KEYS)] = rng.choice(VALUES)
    selector: Json = {"matchLabels": pairs}
    if rng.random() < 0.4:
        key, operator = rng.choice(KEYS), rng.choice(OPERATORS)
        expression: Json = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            expression["values"] = rng.sample(VALUES, rng.choice((1, 2)))
        selector["matchExpressions"] = [expression]
    return selector


def some_constraint(rng: Random, key: str, labels: dict[str, str]) -> Json:
    made: Json = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
    selector = some_selector(rng, labels)
    if selector is None:
        return made
    made["labelSelector"] = selector
    taken = {*selector.get("matchLabels", ())}
    taken |= {one["key"] for one in selector.get("matchExpressions", ())}
    keys = [name for name in KEYS if name not in taken and rng.random() < 0.2]
    return {**made, "matchLabelKeys": keys} if keys else made


def some_object(rng: Random) -> Json:
    kind = rng.choice(KINDS)
    labels = {"app": rng.choice(VALUES[:2])}
    if rng.random() < 0.5:
        labels[rng.choice(KEYS[1:])] = rng.choice(VALUES)
    listed = [some_constraint(rng, key, labels) for key in ("zone", "rack") if rng.random() < 0.7]
    obj = workload(kind, "w", "default", labels, topologySpreadConstraints=listed)
    if rng.random() < 0.3:
        obj["metadata"]["annotations"] = {KEY: rng.choice(EXEMPTIONS)}
    if rng.random() < 0.1:
        owner = {"apiVersion": "v1", "kind": "Made", "name": "o", "uid": "u", "controller": True}
        obj["metadata"]["ownerReferences"] = [owner]
    return obj


def is_denied_by_rules(obj: Json, rules: Policy) -> bool:
    request = decode(review_body(obj, kind=kind_of(obj)), rules.pod_templates)
    return not judge(request, Hook.VALIDATE, rules, NoFacts()).allowed


def test_what_the_policy_rules_deny_is_denied(control_plane: ControlPlane, rules: Policy) -> None:
    rng = Random(7)
    objects = [some_object(rng) for _ in range(OBJECTS)]

    expected: list[Any] = [is_denied_by_rules(obj, rules) for obj in objects]
    differences = [
        obj
        for obj, denied in zip(objects, expected, strict=True)
        if is_denied(control_plane, obj) != denied
    ]

    assert differences == []
    assert OBJECTS / 5 < sum(expected) < OBJECTS * 4 / 5


def test_an_update_of_the_replicas_is_allowed(control_plane: ControlPlane, rules: Policy) -> None:
    """Also of a workload that breaks a rule, as it was stored before the policy."""
    null = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    made = workload("ReplicaSet", "old", "default", {"app": "a"}, topologySpreadConstraints=[null])
    exempt = {**made["metadata"], "annotations": {KEY: "TSC102=stored before"}}
    stored = control_plane.api.create(
        {**made, "metadata": exempt, "spec": {**made["spec"], "replicas": 0}}
    )

    changes: Json = {"metadata": {"annotations": None}, "spec": {"replicas": 1}}
    changed = control_plane.api.merge(stored, changes, dryRun="All")

    assert changed["spec"]["replicas"] == 1
    control_plane.api.delete(stored)
