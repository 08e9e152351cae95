"""New pods are admitted with the RuntimeClasses and LimitRanges that can be read."""

from typing import Any

import msgspec
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.inputs.shopcluster import SERVER, manifest_cluster
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.podadmission import LIMIT_RANGES, AdmittedPod, PodAdmission
from webhook.cluster.scheduling.podobjects import ApiPod

OBJECTS = """\
apiVersion: v1
kind: LimitRange
metadata: {name: usual, namespace: shop}
spec: {limits: [{type: Container, defaultRequest: {cpu: "2"}}]}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
overhead: {podFixed: {cpu: 250m}}
scheduling: {nodeSelector: {kata: "true"}}
"""


def written(uid: str = "", **spec: Any) -> ApiPod:
    metadata = {"uid": uid} if uid else {}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": [{}], **spec}}, ApiPod)


def admit(pod: ApiPod, namespace: str = "shop", objects: str = OBJECTS) -> AdmittedPod:
    return PodAdmission(manifest_cluster(objects)[0]).admit(pod, namespace)


def cpu_of(pod: ApiPod) -> str | float | None:
    assert pod.spec is not None
    (container,) = pod.spec.containers or ()
    return ((container.resources and container.resources.requests) or {}).get("cpu")


def test_containers_have_the_requests_of_their_namespace() -> None:
    found = admit(written())

    assert (cpu_of(found.pod), found.unread) == ("2", ())
    assert cpu_of(admit(written(), "ops").pod) is None


def test_limits_are_requests_before() -> None:
    assert cpu_of(admit(written(containers=[{"resources": {"limits": {"cpu": "3"}}}])).pod) == "3"


def test_a_container_with_requests_keeps_them() -> None:
    full = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}

    assert cpu_of(admit(written(containers=[full])).pod) == "1"


def test_a_pod_that_exists_has_been_admitted() -> None:
    pod = written("u1", runtimeClassName="kata")

    assert admit(pod) == (pod, ())


def test_a_runtime_class_that_is_known_is_applied() -> None:
    found = admit(written(runtimeClassName="kata"))

    assert found.pod.spec is not None
    assert (found.pod.spec.overhead, found.unread) == ({"cpu": "250m"}, ())


def test_a_pod_that_contradicts_its_runtime_class_is_refused_unless_it_exists() -> None:
    admission = PodAdmission(manifest_cluster(OBJECTS)[0])

    listed = [
        admission.list_conflicts(written(uid, runtimeClassName=name, nodeSelector=labels))
        for uid, name, labels in (
            *(("", "kata", {"kata": "no"}), ("u1", "kata", {"kata": "no"})),
            *(("", "kata", {"pool": "a"}), ("", "gvisor", {"kata": "no"}), ("", "", {})),
        )
    ]

    assert listed == [["kata is no, but RuntimeClass kata requires true"], [], [], [], []]
    assert admission.list_conflicts(ApiPod()) == []


def test_a_runtime_class_that_is_not_known_is_named() -> None:
    assert admit(written(runtimeClassName="gvisor")).unread == (
        "RuntimeClass gvisor, which could not be read",
    )


def test_the_node_labels_of_a_runtime_class_are_listed_also_for_a_pod_that_exists() -> None:
    admission = PodAdmission(manifest_cluster(OBJECTS)[0])

    listed = [
        admission.list_class_labels(written(uid, runtimeClassName=name))
        for uid, name in (("", "kata"), ("u1", "kata"), ("", "gvisor"), ("", ""))
    ]

    assert listed == [{("kata", "true")}, {("kata", "true")}, set(), set()]
    assert admission.list_class_labels(ApiPod()) == set()


def test_all_is_read_before_the_cluster_is_closed(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(OBJECTS))
    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        admission = PodAdmission(cluster)
        admission.prepare("shop")

    found = admission.admit(written(runtimeClassName="kata"), "shop")

    assert (cpu_of(found.pod), found.unread) == ("2", ())


def test_what_may_not_be_listed_is_named(api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(OBJECTS))
    api.answers["GET /api/v1/namespaces/shop/limitranges"] = refuse("forbidden")
    api.answers["GET /apis/node.k8s.io/v1/runtimeclasses"] = refuse("forbidden")

    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        admission = PodAdmission(cluster)
        found = admission.admit(written(runtimeClassName="kata"), "shop")
        again = admission.admit(written(), "shop")

    assert found.unread == (LIMIT_RANGES, "RuntimeClass kata, which could not be read")
    assert again.unread == (LIMIT_RANGES,)
