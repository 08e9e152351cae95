"""The pod template as kube-apiserver stores it: defaults, zero values and quantities."""

from typing import Any

import pytest

from webhook.policy.templatedefaults import complete_template

CONTAINER = {
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
POD = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "volumeMode": "Filesystem",  # of claims, whose specification has the same name
}
PROBE = {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}


def complete(**spec: Any) -> Any:
    """Complete a specification, without the defaults that every pod gets."""
    completed = complete_template({"spec": spec})["spec"]
    return {key: value for key, value in completed.items() if POD.get(key) != value}


def complete_container(**members: Any) -> Any:
    """Complete a container, without the defaults that every container gets."""
    (completed,) = complete(containers=[{"image": "web:1", **members}])["containers"]
    return {key: value for key, value in completed.items() if CONTAINER.get(key) != value}


def test_every_pod_gets_the_defaults_of_its_specification() -> None:
    assert complete_template({"spec": {"nodeName": ""}}) == {"spec": POD}
    assert complete_template({"spec": {"dnsPolicy": "None"}})["spec"]["dnsPolicy"] == "None"


@pytest.mark.parametrize("name", ["containers", "initContainers", "ephemeralContainers"])
def test_every_container_gets_the_defaults_of_containers(name: str) -> None:
    assert complete(**{name: [{"image": "web:1"}]}) == {name: [{"image": "web:1", **CONTAINER}]}


# image, imagePullPolicy
IMAGES = {
    "a tag": ("web:1", "IfNotPresent"),
    "no tag": ("web", "Always"),
    "the tag latest": ("web:latest", "Always"),
    "a registry with a port": ("registry:5000/web", "Always"),
    "a registry with a port, and a tag": ("registry:5000/web:1", "IfNotPresent"),
    "a digest": ("web@sha256:00", "IfNotPresent"),
    "a digest beside the tag latest": ("web:latest@sha256:00", "Always"),
}


@pytest.mark.parametrize(("image", "policy"), IMAGES.values(), ids=IMAGES.keys())
def test_the_pull_policy_of_an_image_follows_its_tag(image: str, policy: str) -> None:
    (container,) = complete(containers=[{"image": image}])["containers"]
    (volume,) = complete(volumes=[{"name": "v", "image": {"reference": image}}])["volumes"]

    assert container["imagePullPolicy"] == policy
    assert volume["image"]["pullPolicy"] == policy


# members of a container, the same as stored
CONTAINERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ports": (
        {"ports": [{"containerPort": 80, "hostPort": 0}]},
        {"ports": [{"containerPort": 80, "protocol": "TCP"}]},
    ),
    "a probe": (
        {"livenessProbe": {"httpGet": {"port": 80}, "initialDelaySeconds": 0, "timeoutSeconds": 0}},
        {"livenessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, **PROBE}},
    ),
    "a probe by gRPC": (
        {"startupProbe": {"grpc": {"port": 80, "service": ""}}},
        {"startupProbe": {"grpc": {"port": 80}, **PROBE}},
    ),
    "a hook": (
        {"lifecycle": {"preStop": {"httpGet": {"port": 80}}}},
        {"lifecycle": {"preStop": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}}}},
    ),
    "an empty value of a variable": (
        {"env": [{"name": "A", "value": ""}]}, {"env": [{"name": "A"}]}
    ),
    "a variable from a field": (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]},
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "x"}}}]},
    ),
    "a variable from a resource": (
        {"env": [{"valueFrom": {"resourceFieldRef": {"resource": "x", "divisor": "0"}}}]},
        {"env": [{"valueFrom": {"resourceFieldRef": {"resource": "x"}}}]},
    ),
    "a variable from a file": (
        {"env": [{"valueFrom": {"fileKeyRef": {"key": "x"}}}]},
        {"env": [{"valueFrom": {"fileKeyRef": {"key": "x", "optional": False}}}]},
    ),
    "no resources": ({"resources": {"limits": {}}}, {}),
    "zero values": ({"stdin": False, "tty": False, "args": [], "workingDir": ""}, {}),
    "an empty argument": ({"args": [""]}, {"args": [""]}),
    "a false value behind a pointer": (
        {"securityContext": {"privileged": False}}, {"securityContext": {"privileged": False}}
    ),
    "an empty security context": ({"securityContext": {}}, {"securityContext": {}}),
}  # fmt: skip


@pytest.mark.parametrize(("written", "stored"), CONTAINERS.values(), ids=CONTAINERS.keys())
def test_members_of_containers_get_their_defaults(written: Any, stored: Any) -> None:
    assert complete_container(**written) == {"image": "web:1", **stored}


# source of a volume, the same as stored
VOLUMES: dict[str, tuple[Any, Any]] = {
    "none": ({}, {"emptyDir": {}}),
    "an empty directory": ({"emptyDir": {}}, {"emptyDir": {}}),
    "a Secret": ({"secret": {}}, {"secret": {"defaultMode": 420}}),
    "a ConfigMap": ({"configMap": {"defaultMode": 256}}, {"configMap": {"defaultMode": 256}}),
    "a path of the host": ({"hostPath": {"path": "/x", "type": ""}}, {"hostPath": {"path": "/x"}}),
    "the downward API": (
        {"downwardAPI": {"items": [{"fieldRef": {"fieldPath": "x"}}]}},
        {
            "downwardAPI": {
                "defaultMode": 420,
                "items": [{"fieldRef": {"apiVersion": "v1", "fieldPath": "x"}}],
            }
        },
    ),
    "a projected token": (
        {"projected": {"sources": [{"serviceAccountToken": {"path": "x"}}]}},
        {
            "projected": {
                "defaultMode": 420,
                "sources": [{"serviceAccountToken": {"path": "x", "expirationSeconds": 3600}}],
            }
        },
    ),
    "iSCSI": ({"iscsi": {}}, {"iscsi": {"iscsiInterface": "default"}}),
    "a size": ({"emptyDir": {"sizeLimit": "1Ki"}}, {"emptyDir": {"sizeLimit": 1024_000}}),
    "attributes": (
        {"csi": {"volumeAttributes": {"a": ""}, "readOnly": False}},
        {"csi": {"volumeAttributes": {"a": ""}}},
    ),
}


@pytest.mark.parametrize(("written", "stored"), VOLUMES.values(), ids=VOLUMES.keys())
def test_volumes_get_their_defaults(written: Any, stored: Any) -> None:
    assert complete(volumes=[{"name": "v", **written}]) == {"volumes": [{"name": "v", **stored}]}


# quantity, the same in thousandths
QUANTITIES: dict[str, tuple[Any, Any]] = {
    "an integer": (1, 1000),
    "a fraction": (0.5, 500),
    "thousandths": ("500m", 500),
    "a decimal suffix": ("1.5k", 1_500_000),
    "a binary suffix": ("1Gi", 1024**3 * 1000),
    "an exponent": ("1e3", 1_000_000),
    "exa, not an exponent": ("1E", 10**21),
    "smaller than a thousandth, rounded up": ("1100n", 1),
    "a word": ("many", "many"),
    "a number that is too large": ("1e999999999", "1e999999999"),
}


@pytest.mark.parametrize(("written", "value"), QUANTITIES.values(), ids=QUANTITIES.keys())
def test_quantities_are_compared_by_their_values(written: Any, value: Any) -> None:
    found = complete_container(resources={"limits": {"cpu": written}})

    assert found["resources"] == {"limits": {"cpu": value}}


def test_both_names_of_the_service_account_are_one() -> None:
    assert complete(serviceAccount="x") == {"serviceAccountName": "x"}
    assert complete(serviceAccount="x", serviceAccountName="y") == {"serviceAccountName": "y"}


def test_labels_and_annotations_may_be_empty_texts() -> None:
    metadata = {"labels": {"a": "", "b": None}, "annotations": {}, "creationTimestamp": None}

    completed = complete_template({"metadata": metadata, "spec": {"nodeSelector": {"a": ""}}})

    assert completed["metadata"] == {"labels": {"a": "", "b": ""}}
    assert completed["spec"]["nodeSelector"] == {"a": ""}


def test_selectors_of_constraints_may_be_empty() -> None:
    constraint: dict[str, Any] = {"labelSelector": {"matchLabels": {}}, "minDomains": None}

    assert complete(topologySpreadConstraints=[constraint]) == {
        "topologySpreadConstraints": [{"labelSelector": {}}]
    }


@pytest.mark.parametrize("written", [None, 7, [], {"spec": None}, {"spec": []}])
def test_what_is_no_template_is_completed_as_far_as_it_can_be(written: Any) -> None:
    assert complete_template(written) in (written, {})


def test_members_of_wrong_types_are_kept() -> None:
    assert complete(containers=[7], volumes=7) == {"containers": [7], "volumes": 7}
    assert complete_container(image=7, ports=[7]) == {
        "image": 7, "imagePullPolicy": "Always", "ports": [7]
    }  # fmt: skip
