"""Objects of manifests, decoded as the types that filters read."""

from tests.cli.inputs.shopcluster import OBJECTS, manifest_cluster
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.snapshot import ApiNode
from webhook.policy.kinds import DEPLOYMENT, NODE, POD


def test_objects_are_decoded_with_their_namespace() -> None:
    cluster, _ = manifest_cluster(OBJECTS.replace(", namespace: shop", ""), "ops")

    (pod,) = cluster.decode_objects(POD, ApiPod)
    (node,) = cluster.decode_objects(NODE, ApiNode)

    assert pod.metadata is not None
    assert (pod.metadata.namespace, node.name) == ("ops", "n1")
    assert cluster.decode_objects(POD, ApiPod, "shop") == []


def test_a_type_error_is_reported_once_for_all_readers() -> None:
    cluster, inputs = manifest_cluster(OBJECTS.replace("labels: {app: web}", "labels: [app]"))

    assert (cluster.pods("shop"), cluster.decode_objects(POD, ApiPod)) == ([], [])
    (problem,) = inputs.problems
    assert str(problem).endswith("Pod/web-1: metadata.labels: expected an object, got a list")


def test_a_type_error_that_only_filters_read_is_reported_too() -> None:
    wrong = OBJECTS.replace("{nodeName: n1}", "{nodeName: n1, containers: [{resources: 7}]}")
    cluster, inputs = manifest_cluster(wrong)

    assert (len(cluster.pods("shop")), cluster.decode_objects(POD, ApiPod)) == (1, [])
    assert "containers[0].resources: expected an object" in str(inputs.problems[0])


def test_objects_are_found_by_kind_namespace_and_name() -> None:
    cluster, _ = manifest_cluster(OBJECTS)

    found = cluster.find(DEPLOYMENT, "shop", "web")

    assert found is not None
    assert cluster.list_objects_of(DEPLOYMENT, "shop") == [found]
    assert cluster.list_objects_of(DEPLOYMENT, "ops") == []
    assert cluster.find(DEPLOYMENT, "ops", "web") is None
    assert cluster.namespaces_of(DEPLOYMENT, "web") == ["shop"]


def test_a_later_object_of_a_name_replaces_the_first() -> None:
    cluster, _ = manifest_cluster(f"{OBJECTS}---\n{OBJECTS.replace('replicas: 2', 'replicas: 3')}")

    replaced = cluster.find_replaced(DEPLOYMENT, "shop", "web")

    assert replaced is not None
    assert replaced["spec"] == {"replicas": 2}


def test_namespaces_are_those_of_objects_and_namespaces() -> None:
    ops = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ops}\n"
    cluster, _ = manifest_cluster(OBJECTS + ops)

    assert cluster.namespaces() == {"shop", "ops"}
    assert [node.name for node in cluster.facts("ops").node_store] == ["n1"]


def test_a_spread_policy_is_in_no_namespace() -> None:
    policy = "---\napiVersion: evenspread.io/v1alpha1\nkind: SpreadPolicy\nmetadata: {name: a}\n"

    assert manifest_cluster(policy)[0].namespaces() == set()


EXCEPTION = """\
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: %s, namespace: shop}
spec: {defaults: true, reason: old, expires: '%s-01-31T00:00:00Z'}
"""


def test_exceptions_expire_by_the_clock_of_the_command() -> None:
    cluster, _ = manifest_cluster(EXCEPTION % ("over", "2020") + EXCEPTION % ("valid", "9000"))

    assert [one.name for one in cluster.facts("shop").exceptions("shop")] == ["valid"]
