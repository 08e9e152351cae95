import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.apiserver import ApiServer, respond
from tests.cluster.objects import cached_pod, labelled_pod
from webhook.cluster import wire
from webhook.cluster.discovery import (
    Resource,
    ResourcePath,
    SkippedObject,
    describe_exceptions,
    describe_policies,
    find_custom_kinds,
    list_resources,
    locate_custom,
)
from webhook.cluster.facts import Cluster
from webhook.cluster.policyexceptions import POLICY_EXCEPTION
from webhook.cluster.protocol import Response
from webhook.cluster.quota import NamespaceSizeError, ObjectSizeError, SelectorSizeError
from webhook.cluster.spreadpolicies import SpreadPolicyStore
from webhook.config.ownerselectors import OwnerSelector
from webhook.config.spreadpolicies import SPREAD_POLICY
from webhook.errors import ApiError, SourceError
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.paths import TemplatePath

ROLLOUT_KIND = GroupKind("argoproj.io", "Rollout")
VERSION = "/apis/argoproj.io/v1alpha1"
ROLLOUT = {"name": "rollouts", "kind": "Rollout"}
STATUS = {"name": "rollouts/status", "kind": "Rollout"}
GROUP = {"name": "argoproj.io", "preferredVersion": {"groupVersion": "argoproj.io/v1alpha1"}}


def version_of(name: str) -> dict[str, str]:
    return {"groupVersion": name}


OTHER = {"name": "apps", "preferredVersion": {"groupVersion": "apps/v1"}}


def serve(bodies: Mapping[str, Any]) -> ApiServer:
    """Build an API server that answers these paths, and others with 404."""
    answers = {f"GET {path}": respond(body) for path, body in bodies.items()}
    return ApiServer(answers=answers, otherwise=Response(404))


def custom_resource(path: TemplatePath) -> Resource:
    """A custom kind whose selector is at this path."""
    *_, found = list_resources(Cluster([OwnerSelector(GroupKind("example.com", "Shop"), path)]))
    return found


def resource(kind: str) -> Resource:
    (found,) = (item for item in list_resources(Cluster()) if item.kind == kind)
    return found


FOUND: dict[str, tuple[list[Any], list[Any], ResourcePath | None]] = {
    "it is there": ([OTHER, GROUP], [ROLLOUT], ResourcePath(VERSION, "rollouts")),
    "its subresource comes first": ([GROUP], [STATUS, ROLLOUT], ResourcePath(VERSION, "rollouts")),
    "only its subresource is there": ([GROUP], [STATUS], None),
    "there are other kinds": ([GROUP], [{"name": "analysisruns", "kind": "AnalysisRun"}], None),
    "the group has no kinds": ([GROUP], [], None),
    "there are other groups": ([OTHER], [ROLLOUT], None),
    "there are no groups": ([], [], None),
}


@pytest.mark.parametrize(("groups", "kinds", "place"), FOUND.values(), ids=FOUND.keys())
async def test_a_custom_kind_is_where_its_preferred_version_has_it(
    groups: list[Any], kinds: list[Any], place: ResourcePath | None
) -> None:
    answers = {"/apis": {"groups": groups}, VERSION: {"resources": kinds}}

    assert await locate_custom(serve(answers), ROLLOUT_KIND) == place


OLDER = "argoproj.io/v1"
BOTH = {**GROUP, "versions": [*map(version_of, (OLDER, "argoproj.io/v1alpha1"))]}


@pytest.mark.parametrize(
    ("preferred", "place"),
    [([ROLLOUT], VERSION), ([], f"/apis/{OLDER}")],
    ids=["preferred", "other"],
)
async def test_a_custom_kind_may_be_in_another_version(preferred: list[Any], place: str) -> None:
    answers = {
        "/apis": {"groups": [BOTH]},
        VERSION: {"resources": preferred},
        f"/apis/{OLDER}": {"resources": [ROLLOUT]},
    }

    assert await locate_custom(serve(answers), ROLLOUT_KIND) == ResourcePath(place, "rollouts")


VERSIONS: dict[str, tuple[str, str]] = {
    "the preferred one": ("", VERSION),
    "one that it has": ("v1", f"/apis/{OLDER}"),
    "one that it does not have": ("v2", VERSION),
}


@pytest.mark.parametrize(("version", "place"), VERSIONS.values(), ids=VERSIONS.keys())
async def test_a_version_of_a_custom_kind_may_be_requested(version: str, place: str) -> None:
    answers = {
        "/apis": {"groups": [BOTH]},
        VERSION: {"resources": [ROLLOUT]},
        f"/apis/{OLDER}": {"resources": [ROLLOUT]},
    }

    found = await locate_custom(serve(answers), ROLLOUT_KIND, version)

    assert found == ResourcePath(place, "rollouts")


def test_spread_policies_are_a_custom_kind_of_a_fixed_version() -> None:
    found = describe_policies(SpreadPolicyStore(lambda: None))

    assert (found.kind, found.key) == ("SpreadPolicy.evenspread.io", SPREAD_POLICY)
    assert (found.version, found.required, found.place) == ("v1alpha1", False, None)


UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "no list of groups": ({}, "answered 404"),
    "a list of something else": ({"/apis": {"items": []}}, "answered with no list of kinds"),
    "no list of kinds": ({"/apis": {"groups": [GROUP]}}, "answered 404"),
    "nonsense for kinds": (
        {"/apis": {"groups": [GROUP]}, VERSION: {"resources": [7]}},
        "answered with no list of kinds",
    ),
}


@pytest.mark.parametrize(
    "body", [b'{"groups":[{"name":"\xff"}]}', b'{"groups":[],"x":' + b"[" * 5000]
)
async def test_kinds_that_cannot_be_decoded_are_an_error(body: bytes) -> None:
    server = ApiServer(answers={"GET /apis": Response(200, body)})

    with pytest.raises(ApiError, match="answered with no list of kinds"):
        await locate_custom(server, ROLLOUT_KIND)


@pytest.mark.parametrize(("bodies", "problem"), UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_a_custom_kind_is_not_absent_without_proof(
    bodies: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ApiError, match=f"https://api: {problem}"):
        await locate_custom(serve(bodies), ROLLOUT_KIND)


APP = {"matchLabels": {"app": "a"}}
SELECTOR = LabelSelector({"app": "a"})
METADATA = {"name": "a", "namespace": "shop"}

CUSTOM: dict[str, tuple[TemplatePath, Any, LabelSelector | None]] = {
    "where it mostly is": (("spec", "selector"), {"spec": {"selector": APP}}, SELECTOR),
    "at the top": (("selector",), {"selector": APP}, SELECTOR),
    "deep down": (("spec", "a", "b", "c"), {"spec": {"a": {"b": {"c": APP}}}}, SELECTOR),
    "a member that is no identifier": (
        ("spec", "pod-selector"),
        {"spec": {"pod-selector": APP}},
        SELECTOR,
    ),
    "a member called like another": (("metadata", "inner"), {}, None),
    "null on the way": (("spec", "selector"), {"spec": None}, None),
    "null at the end": (("spec", "selector"), {"spec": {"selector": None}}, None),
    "nothing": (("spec", "selector"), {}, None),
    "empty": (("spec", "selector"), {"spec": {"selector": {}}}, LabelSelector()),
}


@pytest.mark.parametrize(("path", "value", "selector"), CUSTOM.values(), ids=CUSTOM.keys())
def test_the_selector_of_a_custom_kind_is_at_its_configured_path(
    path: TemplatePath, value: Any, selector: LabelSelector | None
) -> None:
    found = custom_resource(path).decode(msgspec.json.encode({"metadata": METADATA, **value}))

    assert (found.namespace, found.name, found.selector) == ("shop", "a", selector)


@pytest.mark.parametrize("selector", [7, "app=a", {"matchLabels": [1]}, {"matchLabels": {"a": 1}}])
def test_a_value_that_is_no_selector_is_refused(selector: Any) -> None:
    decode = custom_resource(("spec", "selector")).decode

    with pytest.raises(msgspec.ValidationError):
        decode(msgspec.json.encode({"metadata": METADATA, "spec": {"selector": selector}}))


def test_paths_are_those_of_the_api() -> None:
    place = ResourcePath("/apis/apps/v1", "replicasets")

    assert place.collection == "/apis/apps/v1/replicasets"
    assert place.item("shop", "web-1") == "/apis/apps/v1/namespaces/shop/replicasets/web-1"
    assert ResourcePath("/api/v1", "namespaces").item("", "shop") == "/api/v1/namespaces/shop"


def test_a_name_is_never_a_path() -> None:
    assert (
        ResourcePath("/api/v1", "pods").item("a/b", "../c")
        == "/api/v1/namespaces/a%2Fb/pods/..%2Fc"
    )


def test_every_store_of_a_cluster_has_its_resource() -> None:
    custom = GroupKind("example.io", "Shop")
    cluster = Cluster([OwnerSelector(custom, ("spec", "selector"))])

    stores = {resource.kind: resource.store for resource in list_resources(cluster)}

    assert stores == {
        "Namespace": cluster.namespace_store,
        "Node": cluster.node_store,
        "Service": cluster.service_store,
        "ReplicationController": cluster.owner_stores["v1", "ReplicationController"],
        "ReplicaSet": cluster.owner_stores["apps/v1", "ReplicaSet"],
        "StatefulSet": cluster.owner_stores["apps/v1", "StatefulSet"],
        "Shop.example.io": cluster.custom_stores[custom],
    }


def huge(number: int, length: int = 1) -> Any:
    return {"matchLabels": {f"{i:05d}": "x" * length for i in range(number)}}


@pytest.mark.parametrize("selector", [huge(1000), huge(1, 10_000)], ids=["many", "long"])
def test_a_selector_that_is_too_large_is_refused(selector: Any) -> None:
    decode = custom_resource(("spec", "selector")).decode

    with pytest.raises(SelectorSizeError, match=r"its selector takes [0-9]+ bytes, at most 8192"):
        decode(msgspec.json.encode({"metadata": METADATA, "spec": {"selector": selector}}))


WITH_SELECTOR = [
    item for item in list_resources(Cluster()) if item.kind not in {"Namespace", "Node", "Pod"}
] + [custom_resource(("spec", "selector"))]


@pytest.mark.parametrize("resource", WITH_SELECTOR, ids=lambda item: item.kind)
def test_a_selector_of_too_much_text_is_not_decoded(resource: Resource) -> None:
    """Its text is counted first: the last of these expressions would be an error."""
    text = b'{"matchExpressions":[%b,7]}' % b",".join([b"{}"] * 30_000)
    problem = f"its selector has {len(text)} bytes of JSON, at most 65536 are decoded"

    with pytest.raises(SelectorSizeError, match=problem):
        resource.decode(b'{"metadata":{"name":"a"},"spec":{"selector":%b}}' % text)


@pytest.mark.parametrize("resource", WITH_SELECTOR, ids=lambda item: item.kind)
@pytest.mark.parametrize("spec", ["{}", "null", '{"selector":null}'])
def test_a_large_object_without_a_selector_is_kept(resource: Resource, spec: str) -> None:
    annotations = {"a": "x" * 100_000}
    text = f'{{"metadata":{{"name":"a","annotations":{json.dumps(annotations)}}},"spec":{spec}}}'

    assert resource.decode(text.encode()).selector is None


def test_a_large_object_with_a_small_selector_is_kept() -> None:
    decode = custom_resource(("spec", "selector")).decode
    value = {"metadata": METADATA, "spec": {"selector": APP, "template": "x" * 100_000}}

    assert decode(msgspec.json.encode(value)).selector == SELECTOR


@pytest.mark.parametrize("resource", list(list_resources(Cluster())), ids=lambda item: item.kind)
@pytest.mark.parametrize("levels", [990, 9000])
def test_an_object_of_any_depth_is_read(resource: Resource, levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    text = b'{"metadata":{"name":"a","managedFields":[%b]},"spec":{}}' % deep

    assert resource.decode(text).name == "a"


def test_exceptions_of_the_known_version_stay_as_they_were_when_they_are_unreadable() -> None:
    store = Cluster().exception_store
    described = describe_exceptions(store)

    assert (described.kind, described.version) == (str(POLICY_EXCEPTION), "v1alpha1")
    assert (described.store, described.keeps_last, described.required) == (store, True, False)


@pytest.mark.parametrize("selector", [huge(1000), huge(1, 10_000)], ids=["many", "long"])
def test_an_exception_with_a_selector_that_is_too_large_is_refused(selector: Any) -> None:
    spec = {"defaults": True, "reason": "old", "selector": selector}

    with pytest.raises(msgspec.ValidationError):
        describe_exceptions(Cluster().exception_store).decode(
            msgspec.json.encode({"metadata": METADATA, "spec": spec})
        )


REASONS = {
    "a type error": (msgspec.ValidationError("odd"), "shape"),
    "a large selector": (SelectorSizeError("large"), "selector-size"),
    "a full namespace": (NamespaceSizeError("full"), "namespace-size"),
    "a large object": (ObjectSizeError("large"), "object-size"),
}


@pytest.mark.parametrize(("error", "reason"), REASONS.values(), ids=REASONS.keys())
def test_a_skipped_object_has_a_reason(error: Exception, reason: str) -> None:
    thing = wire.NamedObject(wire.NameMetadata("web", "shop"))

    assert SkippedObject.of(error, thing) == ("shop", "web", reason, str(error))


SELECTORS_OF_SERVICES = {"a large selector": huge(1000)["matchLabels"], "no selector": None}


@pytest.mark.parametrize(
    "selector", SELECTORS_OF_SERVICES.values(), ids=SELECTORS_OF_SERVICES.keys()
)
def test_only_the_cache_limits_the_selector_of_a_service(selector: Any) -> None:
    spec = {"selector": selector, "externalName": "x" * 10_000}
    data = msgspec.json.encode({"metadata": METADATA, "spec": spec})
    service = resource("Service")

    assert service.read(data).selector == selector
    if selector is None:
        assert service.decode(data).selector is None
    else:
        with pytest.raises(SelectorSizeError):
            service.decode(data)


FLEET = GroupKind("example.com", "Fleet")


async def test_custom_kinds_are_found_where_they_exist() -> None:
    problems: list[SourceError] = []

    server = ApiServer()
    server.define("argoproj.io/v1", "Rollout")

    found = await find_custom_kinds(server, [ROLLOUT_KIND, FLEET, POD], problems)

    assert [(row.api_version, row.plural) for row in found] == [("argoproj.io/v1", "rollouts")]
    assert problems == []


async def test_of_our_own_kinds_the_known_version_is_found() -> None:
    server = ApiServer()
    for version in ("v2", "v1alpha1"):
        server.define(f"evenspread.io/{version}", "SpreadPolicyException")

    (found,) = await find_custom_kinds(server, [POLICY_EXCEPTION], [])

    assert found.api_version == "evenspread.io/v1alpha1"


async def test_kinds_that_cannot_be_looked_up_are_problems() -> None:
    problems: list[SourceError] = []
    error = ApiError("https://api", "is broken", "unreachable")

    server = ApiServer(answers={"GET /apis": error})

    assert await find_custom_kinds(server, [ROLLOUT_KIND], problems) == []
    assert problems == [error]


def test_pods_are_listed_by_their_label_and_nothing_waits_for_them() -> None:
    cluster = Cluster(pod_clock=lambda: 0.0)
    listed = {item.kind: item for item in list_resources(cluster)}
    pods = listed["Pod"]

    assert (pods.store, pods.place) == (cluster.pod_store, ResourcePath("/api/v1", "pods"))
    assert pods.query == {"labelSelector": "evenspread.io/scale-down=keep-spread"}
    assert {kind for kind, item in listed.items() if not item.required} == {"Pod"}
    assert all(item.query == {} for kind, item in listed.items() if kind != "Pod")
    decoded = pods.decode(msgspec.json.encode(labelled_pod("w1", "n1", rank=2)))
    assert decoded == cached_pod("w1", "n1", rank=2)


def test_without_ranks_no_pods_are_listed() -> None:
    assert "Pod" not in {item.kind for item in list_resources(Cluster())}
