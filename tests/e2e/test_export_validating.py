"""Exported ValidatingAdmissionPolicies deny what the API rules deny, in objects of custom kinds."""

import gzip
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import review_body
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.customkinds import define, definition
from tests.e2e.exported import applied, is_denied, requested_policy
from tests.e2e.objects import LONG
from webhook.admission.decode import decode
from webhook.export.validating import export_validating
from webhook.policy.api.versions import parse_version
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.facts import NoFacts
from webhook.policy.request import Hook
from webhook.policy.verdict import judge

CASES = Path(__file__).parents[1] / "conformance/data/validation.jsonl.gz"
SOME = 250  # of the cases, in the short form

CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
fieldDefaults: none
podTemplates:
- {group: export.test, kind: Fleet, path: spec.template}
- {group: export.test, kind: Flotilla, path: "spec.fleets[*].template"}
- {group: export.test, kind: Flotilla, path: spec.flagship}
constraintLists:
- {group: export.test, kind: Harbour, path: spec.topologySpreadConstraints}
"""

GOOD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
BAD = {**GOOD, "maxSkew": 0}
ODD: tuple[Any, ...] = (
    None,
    [],
    {},
    "text",
    ["text"],
    [None],
    [{}],
    [{**GOOD, "maxSkew": "1"}],
    [{**GOOD, "maxSkew": None}],
    [{**GOOD, "maxSkew": 2**31}],
    [{**GOOD, "maxSkew": -(2**31) - 1}],
    [{**GOOD, "minDomains": None}],
    [{**GOOD, "minDomains": True}],
    [{**GOOD, "topologyKey": 1}],
    [{**GOOD, "topologyKey": None}],
    [{**GOOD, "whenUnsatisfiable": None}],
    [{**GOOD, "nodeTaintsPolicy": ""}],
    [{**GOOD, "nodeTaintsPolicy": None}],
    [{**GOOD, "labelSelector": None}],
    [{**GOOD, "labelSelector": []}],
    [{**GOOD, "labelSelector": {"matchLabels": None, "matchExpressions": None}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"a": None, "b": ""}}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"a": 1}}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"x/y/z": "a"}}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"A.b/c": "a"}}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"/c": "a"}}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"x" * 254 + "/c": "a"}}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"x" * 253 + "/c": "a"}}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"x" * 64: "a"}}}],
    [{**GOOD, "labelSelector": {"matchLabels": {"a": "ä"}}}],
    [{**GOOD, "labelSelector": {"matchExpressions": [None]}}],
    [{**GOOD, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}],
    [{**GOOD, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}],
    [{**GOOD, "matchLabelKeys": None}],
    [{**GOOD, "matchLabelKeys": []}],
    [{**GOOD, "matchLabelKeys": ["app"]}],
    [{**GOOD, "matchLabelKeys": ["a", "a"]}],
    [{**GOOD, "matchLabelKeys": [None]}],
    [{**GOOD, "matchLabelKeys": [1]}],
    [{**GOOD, "matchLabelKeys": ["a"], "labelSelector": None}],
    [{**GOOD, "matchLabelKeys": ["a"], "labelSelector": {}}],
    [GOOD, {**GOOD, "maxSkew": 2}],
    [GOOD, {**GOOD, "whenUnsatisfiable": "ScheduleAnyway"}],
    [{**GOOD, "topologyKey": f"k{n}"} for n in range(100)],
    [*({**GOOD, "topologyKey": f"k{n}"} for n in range(99)), {**GOOD, "topologyKey": "k0"}],
)
"""Lists that no oracle has: of wrong types, with nulls, at the limits."""


@pytest.fixture(scope="module")
def rules(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Policy]:
    """The policy whose export is in force."""
    version = parse_version(control_plane.api.call("GET", "/version")["gitVersion"])
    requested = requested_policy(tmp_path_factory.mktemp("export"), CONFIG, version)
    exported = requested.policy
    defined = [
        definition("export.test", kind, plural)
        for kind, plural in (
            ("Fleet", "fleets"),
            ("Flotilla", "flotillas"),
            ("Harbour", "harbours"),
        )
    ]
    for made in defined:
        define(control_plane, made)
    with applied(control_plane, export_validating(exported).manifests):
        for obj in (fleet([BAD]), flotilla([BAD], [GOOD]), harbour([BAD])):
            until(partial(is_denied, control_plane, obj), "the policy to be in force")
        yield exported
    for made in defined:
        control_plane.api.delete(made)


def new(kind: str, spec: Json) -> Json:
    metadata = {"name": "f", "namespace": "default"}
    return {
        "apiVersion": "export.test/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def template(listed: Any) -> Json:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"topologySpreadConstraints": listed},
    }


def fleet(listed: Any) -> Json:
    return new("Fleet", {"template": template(listed)})


def flotilla(*lists: Any) -> Json:
    """Several fleets; the first list is that of the flagship."""
    first, *others = lists
    named = [{"name": f"f{n}", "template": template(one)} for n, one in enumerate(others)]
    return new("Flotilla", {"flagship": template(first), "fleets": named})


def harbour(listed: Any) -> Json:
    return new("Harbour", {"topologySpreadConstraints": listed})


def is_denied_by_rules(obj: Json, rules: Policy) -> bool:
    request = decode(review_body(obj), rules.pod_templates)
    return not judge(request, Hook.VALIDATE, rules, NoFacts()).allowed


def oracle_lists() -> list[Any]:
    with gzip.open(CASES, "rt") as lines:
        cases = [json.loads(line)["object"] for line in lines]
    pods = [case["spec"] for case in cases if case["kind"] == "Pod"]
    lists = [pod.get("topologySpreadConstraints") for pod in pods]
    return lists if LONG else Random(0).sample(lists, SOME)


def differences(plane: ControlPlane, objects: Sequence[Json], rules: Policy) -> list[Json]:
    return [obj for obj in objects if is_denied(plane, obj) != is_denied_by_rules(obj, rules)]


def test_what_the_rules_deny_is_denied(control_plane: ControlPlane, rules: Policy) -> None:
    objects = [fleet(listed) for listed in oracle_lists()]

    denied = sum(is_denied_by_rules(obj, rules) for obj in objects)
    assert differences(control_plane, objects, rules) == []
    assert len(objects) / 4 < denied < len(objects)


@pytest.mark.parametrize("build", [fleet, harbour])
def test_odd_lists_are_judged_as_the_rules_do(
    control_plane: ControlPlane, rules: Policy, build: Any
) -> None:
    assert differences(control_plane, [build(listed) for listed in ODD], rules) == []


def test_every_list_of_an_object_is_judged(control_plane: ControlPlane, rules: Policy) -> None:
    objects = [
        flotilla(*lists)
        for lists in (
            ([GOOD], [GOOD]),
            ([BAD], [GOOD]),
            ([GOOD], [GOOD], [BAD]),
            ([GOOD], [GOOD], None),
            (None,),
        )
    ]

    assert differences(control_plane, objects, rules) == []
    assert [is_denied(control_plane, obj) for obj in objects] == [False, True, True, False, False]


def test_other_kinds_of_the_group_are_left_alone(
    control_plane: ControlPlane, rules: Policy
) -> None:
    """The policy of a kind names only its API group."""
    assert not is_denied(control_plane, harbour([GOOD]))
    assert not is_denied(control_plane, {**harbour([GOOD]), "spec": {"template": template([BAD])}})


def test_an_update_that_leaves_the_list_is_allowed(
    control_plane: ControlPlane, rules: Policy
) -> None:
    made = export_validating(rules).manifests
    api = control_plane.api
    for manifest in made:
        api.delete(manifest)
    until(lambda: not is_denied(control_plane, fleet([BAD])), "the policy to be gone")
    stored = api.create(fleet([BAD]))
    for manifest in made:
        api.create(manifest)
    until(
        lambda: is_denied(control_plane, {**fleet([BAD]), "metadata": {"name": "g"}}), "the policy"
    )

    api.replace({**stored, "spec": {**stored["spec"], "replicas": 2}}, dryRun="All")
    changed = {**stored, "spec": {"template": template([BAD, GOOD])}}
    reply = api.request("PUT", api.path_of(stored), changed, query={"dryRun": "All"})

    assert reply.status == 422
    assert "spec.template.spec.topologySpreadConstraints: maxSkew is at least 1" in str(reply.body)
    api.delete(stored)


def test_recommend_mode_warns(control_plane: ControlPlane, rules: Policy) -> None:
    (binding, *_) = (
        one
        for one in export_validating(replace(rules, mode=Mode.RECOMMEND)).manifests
        if one["kind"].endswith("Binding") and "fleet" in one["metadata"]["name"]
    )
    api = control_plane.api
    stored = api.read(binding)
    api.replace({**stored, "spec": binding["spec"]})
    path = api.collection_of(fleet([BAD]))

    def warned() -> tuple[str, ...]:
        reply = api.request("POST", path, fleet([BAD]), query={"dryRun": "All"})
        return reply.warnings if reply.status < 400 else ()

    (*_, warning) = until(warned, "a warning")

    assert "(TSC001)" in warning
