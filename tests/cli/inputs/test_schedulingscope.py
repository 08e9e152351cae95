"""What filters look at is read from files and from a live cluster, also with few rights."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from tests.apiserver import ApiServer, refuse
from tests.cli.inputs.shopcluster import SERVER, manifest_cluster
from tests.policy.placement.clusters import node
from tests.policy.placement.filters.objects import (
    Json,
    anti_affinity,
    container,
    pod_object,
    term,
)
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.schedulingscope import (
    NAMESPACE_LABELS,
    NODE_RESOURCES,
    NOMINATED,
    OTHER_PODS,
    SchedulingReader,
    SchedulingScope,
    leave_out,
)
from webhook.cli.inputs.storagescope import ABSENT_CLAIMS, UNKNOWN_CLAIMS, PodClaims
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.policy.api.versions import Version
from webhook.policy.model import NAME_LABEL
from webhook.policy.placement.topology import Topology

V1_36 = Version(1, 36)
TOPOLOGY = Topology([node("n1", "a")])

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", pods: "10"}}
---
"""
PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
spec: {nodeName: n1, containers: [{resources: {limits: {cpu: 500m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: db-1, namespace: ops, uid: u1}
spec: {nodeName: n1, containers: [{resources: {requests: {cpu: "1"}, limits: {cpu: "2"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: done, namespace: shop}
spec: {nodeName: n1, containers: [{resources: {requests: {cpu: "1"}}}]}
status: {phase: Succeeded}
"""
SELECTING = {**term("zone", app="db"), "namespaceSelector": {"matchLabels": {"team": "x"}}}


def api_pod(**spec: Any) -> ApiPod:
    return msgspec.convert(pod_object("web-2", **spec), ApiPod)


def read(text: str, pod: ApiPod | None = None) -> SchedulingScope:
    cluster, _ = manifest_cluster(text)
    return SchedulingReader(cluster, V1_36).read(pod or api_pod(), "shop", TOPOLOGY)


def used(scope: SchedulingScope) -> tuple[int, int]:
    """Pods of the node, and the thousandths of a CPU that they request."""
    usage = scope.cluster.placed.usage("n1")
    return usage.pods, usage.requests.milli_cpu


def test_the_node_labels_of_the_runtime_class_are_known() -> None:
    kata = (
        "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata},"
        " scheduling: {nodeSelector: {kata: yes-it-is}}}"
    )

    assert read(kata, api_pod(runtimeClassName="kata")).class_labels == {("kata", "yes-it-is")}
    assert read(kata, api_pod()).class_labels == set()


def test_a_pod_that_contradicts_its_runtime_class_is_known() -> None:
    kata = (
        "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata},"
        " scheduling: {nodeSelector: {kata: yes-it-is}}}"
    )
    reader = SchedulingReader(manifest_cluster(kata)[0], V1_36)

    pod = api_pod(runtimeClassName="kata", nodeSelector={"kata": "no"})

    found = reader.list_conflicts(replace(pod, metadata=None))

    assert found == ["kata is no, but RuntimeClass kata requires yes-it-is"]


@pytest.mark.parametrize(("node", "is_named"), [("n1", True), ("''", False)])
def test_a_claim_that_a_pod_on_a_node_mounts_exists(node: str, is_named: bool) -> None:
    text = f"""\
{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: other, namespace: shop}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: web-1, namespace: shop}}
spec: {{nodeName: {node}, volumes: [{{name: d, persistentVolumeClaim: {{claimName: data}}}}]}}
"""
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]

    found = read(text, api_pod(volumes=volumes))

    assert (f"{ABSENT_CLAIMS}: data" in found.unread) is is_named
    assert bool(found.pod.volumes) is not is_named


def test_pods_of_all_namespaces_take_what_they_request() -> None:
    """A manifest without requests gets its limits as requests; a stored pod has its own."""
    scope = read(NODE + PODS)

    assert used(scope) == (2, 1500)
    assert scope.cluster.allocatable["n1"].milli_cpu == 4000
    assert scope.unread == ()


def test_the_pod_itself_takes_nothing_but_in_the_present_cluster() -> None:
    own = msgspec.convert(pod_object("web-1", nodeName="n1"), ApiPod)

    scope = read(NODE + PODS, own)

    assert (scope.pod.node_name, used(scope)) == ("", (1, 1000))
    assert scope.present.placed.usage("n1").pods == 2


@pytest.mark.parametrize("status", ["", "status: {}\n", "status: {allocatable: null}\n"])
def test_nodes_without_resources_have_room_and_are_named(status: str) -> None:
    scope = read(NODE.partition("status")[0] + status)

    assert (scope.cluster.allocatable, scope.unread) == ({}, (NODE_RESOURCES,))


def test_pods_of_daemon_sets_are_known_for_new_nodes() -> None:
    owner = "ownerReferences: [{kind: DaemonSet, name: db, controller: true}]"
    scope = read(NODE + PODS.replace("namespace: ops,", f"namespace: ops, {owner},"))

    for cluster in (scope.cluster, scope.present):
        assert [pod.name for pod in cluster.daemons["n1"]] == ["db-1"]


NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ops, labels: {team: x}}\n"


NOMINEE = """\
---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: shop}
spec: {%s}
status: {phase: Pending, nominatedNodeName: n1}
"""

HIGH = """\
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 5
"""

# name and specification of a pod that is nominated, specification of the pod, what keeps room
NOMINEES: dict[str, tuple[str, str, Json, list[str]]] = {
    "another pod": ("db-2", "", {}, ["db-2"]),
    "one that has its node": ("db-2", "nodeName: n1", {}, []),
    "the pod itself": ("web-2", "", {}, []),
    "another replica": ("web-3", "", {}, []),
    "a lower priority": ("db-2", "priority: 4", {"priorityClassName": "high"}, []),
    "the same priority": ("db-2", "priority: 5", {"priorityClassName": "high"}, ["db-2"]),
    "the priority of a stored pod": ("db-2", "priority: 5", {"priority": 6}, []),
}


@pytest.mark.parametrize(("name", "spec", "own", "keeping"), NOMINEES.values(), ids=NOMINEES.keys())
def test_pods_that_are_nominated_keep_their_room(
    name: str, spec: str, own: Json, keeping: list[str]
) -> None:
    cluster, _ = manifest_cluster(NODE + PODS + HIGH + NOMINEE % (name, spec))

    scope = SchedulingReader(cluster, V1_36).read(
        api_pod(**own), "shop", TOPOLOGY, replicas=["web-3"]
    )

    assert scope.unread == ()
    for scene in (scope.cluster, scope.present):
        assert [pod.name for pod in scene.nominated.get("n1", ())] == keeping


def test_pods_that_are_nominated_are_named_if_the_priority_is_not_known() -> None:
    own = api_pod(priorityClassName="high")

    scope = read(NODE + PODS + NOMINEE % ("db-2", ""), own)

    assert (scope.unread, scope.cluster.nominated) == ((NOMINATED,), {})
    assert read(NODE + PODS, own).unread == ()


def test_namespaces_are_read_for_terms_that_select_them() -> None:
    selecting = api_pod(affinity=anti_affinity(SELECTING))

    assert read(NODE + PODS + NAMESPACE).cluster.namespaces == {}
    scope = read(NODE + PODS + NAMESPACE, selecting)
    assert (scope.cluster.namespaces["ops"]["team"], scope.unread) == ("x", ())


def test_the_names_of_namespaces_are_known_and_other_labels_are_named() -> None:
    selecting = api_pod(affinity=anti_affinity(SELECTING))
    database = PODS.replace("name: db-1,", "name: db-1, labels: {app: db},")

    scope = read(NODE + database, selecting)

    assert scope.cluster.namespaces == {name: {NAME_LABEL: name} for name in ("shop", "ops")}
    assert scope.unread == (f"{NAMESPACE_LABELS}: ops",)


def read_live(
    api: ApiServer, text: str, forbidden: Iterable[str], pod: ApiPod | None = None
) -> SchedulingScope:
    api.add(*yaml.safe_load_all(text))
    for path in forbidden:
        api.answers[f"GET {path}"] = refuse("forbidden")
    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        reader = SchedulingReader(cluster, V1_36)
        reader.read(pod or api_pod(), "shop", TOPOLOGY)
        requests = len(api.requests)
        scope = reader.read(pod or api_pod(), "shop", TOPOLOGY)
    assert len(api.requests) == requests
    return scope


def test_a_live_cluster_is_read_once(api: ApiServer) -> None:
    scope = read_live(api, NODE + PODS, ())

    assert (used(scope), scope.unread) == ((2, 1000), ())


def test_what_later_pods_need_is_read_while_the_cluster_is_open(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(NODE + PODS))
    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        reader = SchedulingReader(cluster, V1_36)
        reader.prepare("shop", ())
        requests = len(api.requests)

    limited = container(resources={"limits": {"cpu": "2"}})
    written = pod_object("web-2", containers=[limited])
    del written["metadata"]["uid"]
    assert reader.read_pod(msgspec.convert(written, ApiPod), "shop").pod.requests.milli_cpu == 2000
    assert len(api.requests) == requests


def test_without_the_right_to_list_all_pods_those_of_the_namespace_count(api: ApiServer) -> None:
    scope = read_live(api, NODE + PODS, ["/api/v1/pods"])

    assert (used(scope), scope.unread) == ((1, 0), (OTHER_PODS,))


def test_without_the_right_to_list_namespaces_their_labels_are_named(api: ApiServer) -> None:
    selecting = api_pod(affinity=anti_affinity(SELECTING))

    database = PODS.replace("name: db-1,", "name: db-1, labels: {app: db},")

    scope = read_live(api, NODE + database, ["/api/v1/namespaces"], selecting)

    assert scope.unread == (f"{NAMESPACE_LABELS}: ops",)


def test_a_next_pod_is_completed_as_kube_apiserver_does() -> None:
    limited = container(resources={"limits": {"cpu": "2"}})
    written = pod_object("web-2", containers=[limited])
    del written["metadata"]["uid"]

    scope = read(NODE, msgspec.convert(written, ApiPod))

    assert scope.pod.requests.milli_cpu == 2000


def test_the_placed_pods_of_a_namespace_are_listed_by_name() -> None:
    cluster, _ = manifest_cluster(NODE + PODS)

    assert list(SchedulingReader(cluster, V1_36).list_placed("shop")) == ["web-1"]


CLAIM = """\
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-0, namespace: shop, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: pv}
"""


def test_what_is_not_known_of_pods_with_other_claims_is_listed_once() -> None:
    cluster, _ = manifest_cluster(PODS + CLAIM)
    reader = SchedulingReader(cluster, V1_36)
    no_volume = "volumes: no PersistentVolume could be read"

    scope = reader.read(api_pod(), "shop", TOPOLOGY, PodClaims(("data-0",)))
    others = [PodClaims((f"data-{ordinal}",)) for ordinal in (0, 1, 2)]

    assert scope.unread == (NODE_RESOURCES, no_volume)
    assert reader.list_unread(scope, others) == (NODE_RESOURCES, no_volume, UNKNOWN_CLAIMS)


def test_pods_that_are_being_deleted_are_listed_and_left_out() -> None:
    ending = PODS.replace("name: db-1,", "name: db-1, deletionTimestamp: '2026-11-27T10:00:00Z',")
    cluster, _ = manifest_cluster(NODE + ending)
    reader = SchedulingReader(cluster, V1_36)
    present = reader.read(api_pod(), "shop", TOPOLOGY).present

    found = reader.list_terminating("shop")

    assert [pod.name for pod in found] == ["db-1"]
    assert leave_out(present, found).usage("n1").pods == present.usage("n1").pods - 1
    assert leave_out(present, []) is present
