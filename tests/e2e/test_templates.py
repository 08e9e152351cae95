"""The defaults of pod templates are those that a real kube-apiserver writes."""

import pytest

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from webhook.policy.templatedefaults import complete_template
from webhook.policy.templatematch import is_same_template

PROBE = {"httpGet": {"port": 80}}
FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}
CONTAINER: Json = {
    "name": "c",
    "image": "registry:5000/web",
    "args": [""],
    "env": [
        {"name": "EMPTY", "value": ""},
        {"name": "NAME", "valueFrom": FIELD},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ],
    "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
    "livenessProbe": {**PROBE, "initialDelaySeconds": 0},
    "ports": [{"containerPort": 80, "hostPort": 0}],
    "readinessProbe": {"grpc": {"port": 80}},
    "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {"cpu": "0.1"}},
    "securityContext": {"privileged": False},
    "startupProbe": {"tcpSocket": {"port": 80}, "failureThreshold": 9},
    "stdin": False,
    "volumeMounts": [{"name": "empty", "mountPath": "/empty", "readOnly": False}],
}
CLAIM = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1024Mi"}},
    }
}
VOLUMES: list[Json] = [
    {"name": "empty"},
    {"name": "sized", "emptyDir": {"sizeLimit": "1024Ki"}},
    {"name": "secret", "secret": {"secretName": "x"}},
    {"name": "config", "configMap": {"name": "x"}},
    {"name": "path", "hostPath": {"path": "/x"}},
    {"name": "field", "downwardAPI": {"items": [{"path": "x", **FIELD}]}},
    {"name": "claim", "ephemeral": {"volumeClaimTemplate": CLAIM}},
    {"name": "iscsi", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com:x", "lun": 0}},
    {"name": "rbd", "rbd": {"monitors": ["x"], "image": "x"}},
    {"name": "image", "image": {"reference": "web:1"}},
    {
        "name": "projected",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"downwardAPI": {"items": [{"path": "x", **FIELD}]}},
                {"secret": {"name": "x"}},
            ]
        },
    },
]
SPEC: Json = {
    "containers": [CONTAINER],
    "initContainers": [{"name": "i", "image": "web:1", "command": ["x"]}],
    "hostNetwork": False,
    "imagePullSecrets": [],
    "nodeSelector": {"disk": ""},
    "serviceAccount": "x",
    "tolerations": [{"key": "x", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {},
        }
    ],
    "volumes": VOLUMES,
}
SPECS = {
    "everything": SPEC,
    "almost nothing": {"containers": [{"name": "c", "image": "web"}]},
    "the network of the node": {
        "hostNetwork": True,
        "containers": [
            {"name": "c", "image": "web", "ports": [{"containerPort": 80, "hostPort": 80}]}
        ],
    },
}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_a_stored_template_is_the_one_of_its_manifest(
    control_plane: ControlPlane, kind: str, spec: Json
) -> None:
    template = {"metadata": {"labels": {"app": "web"}, "annotations": {"a": ""}}, "spec": spec}
    workload = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": control_plane.create_namespace()},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }

    stored = control_plane.api.create(workload, dryRun="All")["spec"]["template"]

    assert complete_template(stored) == complete_template(template)
    assert is_same_template(stored, template)
    changed = {**template, "spec": {**spec, "terminationGracePeriodSeconds": 31}}
    assert not is_same_template(stored, changed)
