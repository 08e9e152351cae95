"""The texts of exported policies; ``tests.e2e.test_export`` has them evaluated by API servers."""

from typing import Any

import pytest

from tests.build import FakeFacts, default, gates, policy, profile, selector
from webhook.export.exported import Export, Manifest
from webhook.export.mutating import export_mutating
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import (
    SYSTEM_CONSTRAINTS,
    Merge,
    Mode,
    Policy,
    Profile,
)
from webhook.policy.model import HOSTNAME, ZONE, Node

NO_FACTS = FakeFacts()
LIST = "object.spec.topologySpreadConstraints"
SYSTEM = profile(constraints=SYSTEM_CONSTRAINTS, system=True)

ADD_LIST = """\
[JSONPatch{op: "add", path: "/spec/topologySpreadConstraints", value: []}, \
JSONPatch{op: "add", path: "/spec/topologySpreadConstraints/-", value: \
Object.spec.topologySpreadConstraints{
  maxSkew: 1,
  topologyKey: "topology.kubernetes.io/zone",
  whenUnsatisfiable: "ScheduleAnyway",
  labelSelector: \
Object.spec.topologySpreadConstraints.labelSelector{matchLabels: variables.labels}
}}, \
JSONPatch{op: "add", path: "/spec/topologySpreadConstraints/-", value: \
Object.spec.topologySpreadConstraints{
  maxSkew: 2,
  topologyKey: "kubernetes.io/hostname",
  whenUnsatisfiable: "ScheduleAnyway",
  labelSelector: \
Object.spec.topologySpreadConstraints.labelSelector{matchLabels: variables.labels}
}}]"""

APPEND = """\
((has(object.spec.topologySpreadConstraints) ? [] : \
[JSONPatch{op: "add", path: "/spec/topologySpreadConstraints", value: []}]) + \
("rack" in variables.keys ? [] : \
[JSONPatch{op: "add", path: "/spec/topologySpreadConstraints/-", value: \
Object.spec.topologySpreadConstraints{
  maxSkew: 1,
  topologyKey: "rack",
  whenUnsatisfiable: "ScheduleAnyway",
  matchLabelKeys: ["a"].filter(key, !(key in variables.labels)),
  labelSelector: \
Object.spec.topologySpreadConstraints.labelSelector{matchLabels: variables.labels}
}}]))"""


def only_policy(export: Export) -> Manifest:
    (found,) = (one for one in export.manifests if one["kind"] == "MutatingAdmissionPolicy")
    return found


def spec_of(exported: Profile, **changes: Any) -> Manifest:
    spec: Manifest = only_policy(export_mutating(policy(exported, **changes), NO_FACTS))["spec"]
    return spec


def names(entries: list[Manifest]) -> list[str]:
    return [entry["name"] for entry in entries]


def test_a_profile_becomes_a_policy_and_a_binding() -> None:
    export = export_mutating(policy(profile()), NO_FACTS)

    assert [(one["apiVersion"], one["kind"], one["metadata"]) for one in export.manifests] == [
        (
            "admissionregistration.k8s.io/v1",
            kind,
            {"name": "evenspread-cluster", "labels": {"evenspread.io/export": "map"}},
        )
        for kind in ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    ]
    assert export.manifests[1]["spec"] == {"policyName": "evenspread-cluster"}
    assert export.omissions


def test_an_error_in_the_policy_stops_no_pod() -> None:
    spec = spec_of(profile())

    assert (spec["failurePolicy"], spec["reinvocationPolicy"]) == ("Ignore", "Never")


def test_the_api_server_selects_namespaces_and_pods() -> None:
    spec = spec_of(
        profile(namespace_selector=selector(tier="prod"), object_selector=selector(app="web")),
        exempt_namespaces=frozenset({"kube-system", "infra"}),
    )

    assert spec["matchConstraints"] == {
        "namespaceSelector": {
            "matchLabels": {"tier": "prod"},
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["infra", "kube-system"],
                }
            ],
        },
        "objectSelector": {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "evenspread.io/skip", "operator": "NotIn", "values": ["true"]}
            ],
        },
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
            }
        ],
    }


def test_without_exempt_namespaces_all_are_selected() -> None:
    spec = spec_of(profile(), exempt_namespaces=frozenset())

    assert spec["matchConstraints"]["namespaceSelector"] == {}


def test_the_list_is_added_to_pods_without_constraints() -> None:
    spec = spec_of(profile())

    assert names(spec["matchConditions"]) == [
        "scheduler",
        "controller",
        "labels",
        "not-bound",
        "no-gang",
        "no-constraints",
    ]
    assert names(spec["variables"]) == ["labels"]
    assert spec["mutations"] == [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": ADD_LIST}},
    ]


def test_missing_topology_keys_are_appended() -> None:
    constraint = default(topology_key="rack", match_label_keys=("a",))
    merging = profile(merge=Merge.PER_TOPOLOGY_KEY, gangs=True, constraints=(constraint,))

    spec = spec_of(merging)

    assert names(spec["matchConditions"]) == ["scheduler", "controller", "labels", "not-bound"]
    assert names(spec["variables"]) == ["labels", "keys"]
    assert spec["mutations"][0]["jsonPatch"]["expression"] == APPEND


def test_the_pods_of_earlier_profiles_are_left_out() -> None:
    earlier = profile(name="first", object_selector=selector(app="web"))
    export = export_mutating(policy(earlier, profile()), NO_FACTS)

    spec = export.manifests[2]["spec"]

    condition = '(("app" in L && L["app"] == "web"))'.replace(
        "L", "object.metadata.?labels.orValue({})"
    )
    assert spec["variables"][-1] == {"name": "earlierProfile", "expression": condition}
    assert spec["mutations"][0]["jsonPatch"]["expression"].startswith(
        "variables.earlierProfile ? [] : [JSONPatch{"
    )


def test_a_hidden_profile_is_left_out() -> None:
    export = export_mutating(policy(profile(name="first"), profile()), NO_FACTS)

    assert {one["metadata"]["name"] for one in export.manifests} == {"evenspread-first"}


@pytest.mark.parametrize(
    ("version", "written"), [(Version(1, 35), "v1beta1"), (Version(1, 36), "v1")]
)
def test_the_version_decides_the_version_of_the_api(version: Version, written: str) -> None:
    export = export_mutating(policy(profile(), gates=gates(version)), NO_FACTS)

    assert {one["apiVersion"] for one in export.manifests} == {
        f"admissionregistration.k8s.io/{written}"
    }


@pytest.mark.parametrize(
    "recommending",
    [policy(profile(), mode=Mode.RECOMMEND), policy(profile(mode=Mode.RECOMMEND))],
    ids=["all", "one"],
)
def test_recommend_mode_has_no_bindings(recommending: Policy) -> None:
    export = export_mutating(recommending, NO_FACTS)

    assert [one["kind"] for one in export.manifests] == ["MutatingAdmissionPolicy"]


@pytest.mark.parametrize(
    ("nodes", "keys"),
    [
        ((), []),
        ((Node("a", {}),), [HOSTNAME]),
        ((Node("a", {ZONE: "z"}),), [HOSTNAME, ZONE]),
    ],
)
def test_nodes_decide_about_system_defaults(nodes: tuple[Node, ...], keys: list[str]) -> None:
    export = export_mutating(policy(SYSTEM), FakeFacts(nodes=nodes))

    written = str(export.manifests)
    assert [key for key in (HOSTNAME, ZONE) if f'"{key}"' in written] == keys


@pytest.mark.parametrize(
    "exported",
    [
        policy(profile(constraints=())),
        policy(profile(owner_kinds=frozenset({"Job"}))),
        policy(profile(), gates=gates(EvenspreadDefaults=False)),
    ],
)
def test_nothing_is_exported(exported: Any) -> None:
    assert export_mutating(exported, NO_FACTS).manifests == ()


def test_fields_behind_a_disabled_gate_are_dropped() -> None:
    exported = profile(constraints=(default(match_label_keys=("a",), node_taints_policy="Honor"),))
    off = gates(
        MatchLabelKeysInPodTopologySpread=False,
        MatchLabelKeysInPodTopologySpreadSelectorMerge=False,
    )

    written = spec_of(exported, gates=off)["mutations"][0]["jsonPatch"]["expression"]

    assert "matchLabelKeys" not in written
    assert 'nodeTaintsPolicy: "Honor"' in written
