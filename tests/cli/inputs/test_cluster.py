"""Manifests, an API server, and both together are read alike."""

from collections.abc import Iterator

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.inputs.shopcluster import FLEET, OBJECTS, OWNERS, SERVER, manifest_cluster
from webhook.cli.inputs.cluster import ClusterReader, open_cluster
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.snapshot import ApiNode
from webhook.policy.kinds import DEPLOYMENT, NODE, POD
from webhook.policy.model import GroupKind


@pytest.fixture(params=["manifests", "API server"])
def cluster(request: pytest.FixtureRequest, api: ApiServer) -> Iterator[ClusterReader]:
    """The same objects, in manifests and behind an API server."""
    if request.param == "manifests":
        yield manifest_cluster(OBJECTS)[0]
        return
    api.add(*yaml.safe_load_all(OBJECTS))
    with open_cluster(SERVER, manifest_cluster("")[0], OWNERS) as opened:
        yield opened


def test_facts_are_nodes_services_and_owners(cluster: ClusterReader) -> None:
    facts = cluster.facts("shop")

    assert [node.name for node in facts.node_store] == ["n1"]
    assert [service.name for service in facts.services("shop", {"app": "web"})] == ["web"]


EXCEPTION = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: %s, namespace: shop}
spec: {defaults: true, reason: old, expires: '%s-01-31T00:00:00Z'}
---
"""


def test_exceptions_of_manifests_and_of_the_cluster_count_until_their_end(api: ApiServer) -> None:
    live = (
        EXCEPTION % ("over", "2020") + EXCEPTION % ("live", "9000") + EXCEPTION % ("both", "9000")
    )
    api.add(*filter(None, yaml.safe_load_all(live)))
    manifests, _ = manifest_cluster(EXCEPTION % ("both", "2020") + EXCEPTION % ("own", "9000"))

    with open_cluster(SERVER, manifests, OWNERS) as cluster:
        assert [one.name for one in cluster.facts("shop").exceptions("shop")] == ["live", "own"]


def test_pods_are_those_of_a_namespace(cluster: ClusterReader) -> None:
    (pod,) = cluster.pods("shop")

    assert (pod.metadata.name, pod.metadata.namespace) == ("web-1", "shop")
    assert cluster.pods("ops") == []


@pytest.mark.parametrize("kind", [DEPLOYMENT, FLEET], ids=["built-in", "custom"])
def test_an_object_is_found_by_its_name(kind: GroupKind, cluster: ClusterReader) -> None:
    name = "web" if kind == DEPLOYMENT else "ships"

    found = cluster.find(kind, "shop", name)

    assert found is not None
    assert found["metadata"]["name"] == name
    assert cluster.find(kind, "shop", "none") is None
    assert cluster.find(kind, "ops", name) is None


def test_an_object_of_one_source_replaces_none(cluster: ClusterReader) -> None:
    assert cluster.find_replaced(DEPLOYMENT, "shop", "web") is None


@pytest.mark.parametrize("source", ["manifests", "API server"])
def test_the_replaced_object_of_a_name_is_known(source: str, api: ApiServer) -> None:
    written = OBJECTS.replace("{replicas: 2}", "{replicas: 3}")
    api.add(*yaml.safe_load_all(OBJECTS))
    server, text = (
        (SERVER, written) if source == "API server" else (None, f"{OBJECTS}---\n{written}")
    )

    with open_cluster(server, manifest_cluster(text)[0], OWNERS) as cluster:
        found = cluster.find(DEPLOYMENT, "shop", "web")
        replaced = cluster.find_replaced(DEPLOYMENT, "shop", "web")

    assert (found and found["spec"], replaced and replaced["spec"]) == (
        {"replicas": 3}, {"replicas": 2}
    )  # fmt: skip


def test_an_unknown_kind_has_no_objects(cluster: ClusterReader) -> None:
    assert cluster.find(GroupKind("example.io", "Boat"), "shop", "ships") is None


def test_all_objects_of_a_kind_are_listed(cluster: ClusterReader) -> None:
    found = cluster.list_objects_of(DEPLOYMENT, "shop")

    assert [value["spec"]["replicas"] for value in found] == [2]
    assert [value["kind"] for value in cluster.list_objects_of(FLEET, "shop")] == ["Fleet"]
    assert cluster.list_objects_of(GroupKind("example.io", "Boat"), "shop") == []


def test_manifests_know_the_namespaces_of_a_name() -> None:
    cluster, _ = manifest_cluster(OBJECTS)

    assert cluster.namespaces_of(POD, "web-1") == ["shop"]
    assert cluster.namespaces_of(POD, "web-2") == []


def test_an_api_server_is_not_searched_for_namespaces(api: ApiServer) -> None:
    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        assert cluster.namespaces_of(POD, "web-1") == []

    assert api.requests == []


def test_objects_without_a_namespace_are_in_the_given_one() -> None:
    cluster, _ = manifest_cluster(OBJECTS.replace(", namespace: shop", ""), "ops")

    assert [pod.metadata.namespace for pod in cluster.pods("ops")] == ["ops"]


def test_a_pod_with_a_type_error_is_left_out_and_reported() -> None:
    cluster, inputs = manifest_cluster(OBJECTS.replace("labels: {app: web}", "labels: [app]"))

    assert cluster.pods("shop") == []
    (problem,) = inputs.problems
    assert str(problem).endswith("Pod/web-1: metadata.labels: expected an object, got a list")


def test_objects_without_names_are_kept_apart() -> None:
    nameless = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: web-, namespace: shop}\n"
    cluster, _ = manifest_cluster(f"{nameless}---\n{nameless}")

    assert len(cluster.pods("shop")) == 2


def test_objects_of_manifests_replace_those_of_the_live_cluster(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(OBJECTS))
    text = OBJECTS.replace("replicas: 2", "replicas: 5").replace(
        "app: web}}\nspec", "app: db}}\nspec"
    )
    other = "---\n" + OBJECTS.split("---\n")[2].replace("web-1", "web-2")

    with open_cluster(SERVER, manifest_cluster(text + other)[0], ()) as cluster:
        deployments = cluster.list_objects_of(DEPLOYMENT, "shop")
        found = cluster.find(DEPLOYMENT, "shop", "web")
        pods = {pod.metadata.name: pod.metadata.labels for pod in cluster.pods("shop")}

    assert [value["spec"]["replicas"] for value in deployments] == [5]
    assert found == deployments[0]
    assert pods == {"web-1": {"app": "db"}, "web-2": {"app": "web"}}


def test_facts_of_both_are_united(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(OBJECTS))
    node = OBJECTS.split("---\n", maxsplit=1)[0].replace("n1", "n2")

    with open_cluster(SERVER, manifest_cluster(node)[0], ()) as cluster:
        facts = cluster.facts("shop")

    assert sorted(node.name for node in facts.node_store) == ["n1", "n2"]
    assert len(list(facts.services("shop", {"app": "web"}))) == 1


def test_without_a_server_there_are_only_manifests() -> None:
    manifests, _ = manifest_cluster(OBJECTS)

    with open_cluster(None, manifests, ()) as cluster:
        assert cluster is manifests


def test_namespaces_are_those_of_objects_and_of_namespaces(api: ApiServer) -> None:
    net = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "net"}}
    nameless = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    manifests, _ = manifest_cluster(OBJECTS, "typo")
    own, _ = manifest_cluster(OBJECTS + nameless + f"---\n{net}\n", "ops")
    api.add({**net, "metadata": {"name": "live"}})

    with open_cluster(SERVER, manifests, ()) as cluster:
        assert cluster.namespaces() == {"live", "shop"}
    assert manifests.namespaces() == {"shop"}
    assert own.namespaces() == {"shop", "ops", "net"}


def test_namespaces_that_may_not_be_listed_are_unknown(api: ApiServer) -> None:
    api.answers["GET /api/v1/namespaces"] = refuse("namespaces is forbidden")

    with open_cluster(SERVER, manifest_cluster(OBJECTS)[0], ()) as cluster:
        assert cluster.namespaces() == set()


def test_objects_are_decoded_for_filters(cluster: ClusterReader) -> None:
    (pod,) = cluster.decode_objects(POD, ApiPod) or [ApiPod()]
    nodes = cluster.decode_objects(NODE, ApiNode, "") or ()

    assert pod.metadata is not None
    assert (pod.metadata.name, pod.metadata.namespace) == ("web-1", "shop")
    assert [node.name for node in nodes] == ["n1"]
    assert cluster.decode_objects(POD, ApiPod, "ops") == []


def test_decoded_objects_of_manifests_replace_live_ones(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(OBJECTS))
    text = OBJECTS.replace("nodeName: n1", "nodeName: n2")

    with open_cluster(SERVER, manifest_cluster(text)[0], ()) as cluster:
        pods = cluster.decode_objects(POD, ApiPod) or ()
        nodes = cluster.decode_objects(NODE, ApiNode) or ()

    assert [pod.spec and pod.spec.node_name for pod in pods] == ["n2"]
    assert [node.name for node in nodes] == ["n1"]


def test_objects_that_may_not_be_listed_are_none(api: ApiServer) -> None:
    api.answers["GET /api/v1/pods"] = refuse("no")

    with open_cluster(SERVER, manifest_cluster(OBJECTS)[0], ()) as cluster:
        assert cluster.decode_objects(POD, ApiPod) is None


def test_an_object_without_metadata_has_no_name(api: ApiServer) -> None:
    nameless = "apiVersion: v1\nkind: Pod\nspec: {nodeName: n9}\n"
    api.add(*yaml.safe_load_all(OBJECTS))

    with open_cluster(SERVER, manifest_cluster(nameless)[0], ()) as cluster:
        assert len(cluster.decode_objects(POD, ApiPod) or ()) == 2


def test_facts_of_all_namespaces_are_read_at_once(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(OBJECTS))
    own = "apiVersion: v1\nkind: Node\nmetadata: {name: n2}\n"

    with open_cluster(SERVER, manifest_cluster(own)[0], OWNERS, everywhere=True) as cluster:
        facts = cluster.facts("shop")

        assert cluster.facts("ops") is facts
    assert sorted(node.name for node in facts.node_store) == ["n1", "n2"]
    assert [service.name for service in facts.services("shop", {"app": "web"})] == ["web"]
    assert api.paths.count("/api/v1/services") == 1
