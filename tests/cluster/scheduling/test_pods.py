from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.pods import read_pod
from webhook.policy.api.versions import Version
from webhook.policy.model import LabelSelector
from webhook.policy.placement.filters.filterpods import FilterPod, HostPort, PodVolume
from webhook.policy.placement.filters.storage import DriverVolume
from webhook.policy.placement.nodes import Demands

V1_36 = Version(1, 36)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def read(spec: dict[str, Any], **metadata: Any) -> FilterPod:
    named = {"name": "web", "uid": "u1", **metadata}
    return read_pod(msgspec.convert({"metadata": named, "spec": spec}, ApiPod), V1_36, "shop")


def owned_by(kind: str, **members: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "x", "controller": True, **members}
    return {"ownerReferences": [owner]}


def test_an_empty_pod_needs_nothing() -> None:
    assert read_pod(ApiPod(), V1_36) == FilterPod(namespace="", labels={}, demands=Demands())


def test_the_namespace_of_the_pod_takes_precedence() -> None:
    assert read({}).namespace == "shop"
    assert read({}, namespace="bank").namespace == "bank"


def test_a_bound_pod_that_is_being_deleted() -> None:
    pod = read({"nodeName": "n1"}, deletionTimestamp="2026-01-01T00:00:00Z", labels={"a": "b"})

    assert (pod.node_name, pod.is_terminating, pod.labels) == ("n1", True, {"a": "b"})
    assert (pod.name, pod.uid) == ("web", "u1")


# metadata, whether a new node has such a pod too
DAEMONS: dict[str, tuple[dict[str, Any], bool]] = {
    "a pod of a DaemonSet": (owned_by("DaemonSet"), True),
    "one of OpenKruise": (owned_by("DaemonSet", apiVersion="apps.kruise.io/v1alpha1"), True),
    "a pod that a DaemonSet only owns": (owned_by("DaemonSet", controller=False), False),
    "a static pod": ({"annotations": {"kubernetes.io/config.mirror": "hash"}}, True),
    "a pod of a ReplicaSet": (owned_by("ReplicaSet"), False),
    "a pod without an owner": ({}, False),
}


@pytest.mark.parametrize(("metadata", "expected"), DAEMONS.values(), ids=DAEMONS.keys())
def test_pods_that_new_nodes_have_too(metadata: dict[str, Any], *, expected: bool) -> None:
    assert read({"nodeName": "n1"}, **metadata).is_daemon is expected


@pytest.mark.parametrize(("node", "milli_cpu"), [("", 1000), ("n1", 2000)])
def test_the_status_counts_only_for_a_bound_pod(node: str, milli_cpu: int) -> None:
    written = {
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        },
        "status": {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
    }

    assert read_pod(msgspec.convert(written, ApiPod), V1_36).requests.milli_cpu == milli_cpu


def test_the_overhead_is_a_part_of_the_requests() -> None:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    pod = read({"containers": containers, "overhead": {"cpu": "250m"}})

    assert (pod.overhead.milli_cpu, pod.requests.milli_cpu) == (250, 1250)


def test_host_ports_of_sidecars_and_containers() -> None:
    ports = [{"hostPort": 80, "hostIP": "10.0.0.1", "protocol": "UDP"}, {"hostPort": 0}, {}]
    pod = read({
        "containers": [{"ports": ports}, {}],
        "initContainers": [
            {"ports": [{"hostPort": 81}], "restartPolicy": "Always"}, {"ports": [{"hostPort": 82}]}
        ],
    })  # fmt: skip

    assert pod.ports == (HostPort("0.0.0.0", "TCP", 81), HostPort("10.0.0.1", "UDP", 80))


# term, namespaces, namespace selector
NAMESPACES: dict[str, tuple[dict[str, Any], tuple[str, ...], LabelSelector | None]] = {
    "the own one by default": ({}, ("shop",), None),
    "none listed": ({"namespaces": []}, ("shop",), None),
    "listed ones": ({"namespaces": ["b", "a", "b"]}, ("a", "b"), None),
    "selected ones": ({"namespaceSelector": {}}, (), LabelSelector()),
    "both": ({"namespaces": ["a"], "namespaceSelector": {}}, ("a",), LabelSelector()),
}


@pytest.mark.parametrize(
    ("written", "names", "selector"), NAMESPACES.values(), ids=NAMESPACES.keys()
)
def test_the_namespaces_of_a_term(
    written: dict[str, Any], names: tuple[str, ...], selector: LabelSelector | None
) -> None:
    affinity = {REQUIRED: [{"topologyKey": "zone", "labelSelector": {}, **written}]}
    pod = read({"affinity": {"podAffinity": affinity, "podAntiAffinity": affinity}})

    (term,) = pod.affinity

    assert (term.namespaces, term.namespace_selector) == (names, selector)
    assert (term.topology_key, term.selector) == ("zone", LabelSelector())
    assert pod.anti_affinity == (term,)


def test_equal_terms_have_the_same_identity() -> None:
    zone, host = {"topologyKey": "zone"}, {"topologyKey": "host"}
    terms = read({"affinity": {"podAffinity": {REQUIRED: [zone, host, zone, {}]}}}).affinity

    assert len({term.identity for term in terms}) == 3
    assert terms[0].identity == terms[2].identity


def test_preferred_affinity_excludes_no_node() -> None:
    assert read({"affinity": {"podAffinity": {}}}).affinity == ()


def field(*values: str, operator: str = "In", key: str = "metadata.name") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


# terms, names
NAMES: dict[str, tuple[list[dict[str, Any]], set[str] | None]] = {
    "no term": ([], None),
    "one name": ([{"matchFields": [field("n1")]}], {"n1"}),
    "terms are alternatives": (
        [{"matchFields": [field("n1")]}, {"matchFields": [field("n2")]}],
        {"n1", "n2"},
    ),
    "a term without a name": ([{"matchFields": [field("n1")]}, {"matchExpressions": []}], None),
    "the fields of a term must all hold": (
        [{"matchFields": [field("n1", "n2"), field("n2")]}],
        {"n2"},
    ),
    "fields that exclude each other": ([{"matchFields": [field("n1"), field("n2")]}], set()),
    "another operator": ([{"matchFields": [field("n1", operator="NotIn")]}], None),
    "another field": ([{"matchFields": [field("n1", key="spec.x")]}], None),
}


@pytest.mark.parametrize(("terms", "names"), NAMES.values(), ids=NAMES.keys())
def test_the_nodes_that_affinity_names(terms: list[dict[str, Any]], names: set[str] | None) -> None:
    required = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}

    assert read({"affinity": required}).required_names == names


# volume, what is read of it
VOLUMES: dict[str, tuple[dict[str, Any], PodVolume | None]] = {
    "a claim": (
        {"persistentVolumeClaim": {"claimName": "data"}},
        PodVolume("persistentVolumeClaim", "data", "shop"),
    ),
    "an ephemeral volume": (
        {"name": "v", "ephemeral": {"volumeClaimTemplate": {}}},
        PodVolume("ephemeral", "web-v", "shop", owner="u1"),
    ),
    "a disk of GCE": (
        {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
        PodVolume(
            "gcePersistentDisk", "d", read_only=True,
            migrated=DriverVolume(
                "pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"
            ),
        ),
    ),
    "a disk of AWS": (
        {"awsElasticBlockStore": {"volumeID": "vol-1"}},
        PodVolume(
            "awsElasticBlockStore", "vol-1", migrated=DriverVolume("ebs.csi.aws.com", "vol-1")
        ),
    ),
    "a disk of Azure": (
        {"azureDisk": {"diskURI": "/d", "kind": "Managed"}},
        PodVolume("azureDisk", "/d", migrated=DriverVolume("disk.csi.azure.com", "/d")),
    ),
    "a volume of OpenStack": (
        {"cinder": {"volumeID": "v"}},
        PodVolume("cinder", "v", migrated=DriverVolume("cinder.csi.openstack.org", "v")),
    ),
    "a volume of Portworx": (
        {"portworxVolume": {"volumeID": "v"}},
        PodVolume("portworxVolume", "v", migrated=DriverVolume("pxd.portworx.com", "v")),
    ),
    "a disk of iSCSI": ({"iscsi": {"iqn": "q"}}, PodVolume("iscsi", "q")),
    "an image of Ceph": (
        {"rbd": {"monitors": ["m"], "pool": "p", "image": "i"}},
        PodVolume("rbd", "p/i", monitors=("m",)),
    ),
    "another volume": ({"emptyDir": {}}, None),
}  # fmt: skip


@pytest.mark.parametrize(("volume", "expected"), VOLUMES.values(), ids=VOLUMES.keys())
def test_the_volumes_of_a_pod(volume: dict[str, Any], expected: PodVolume | None) -> None:
    assert read({"volumes": [volume]}).volumes == ((expected,) if expected else ())
