"""Objects that the tests send, and how thoroughly to do it."""

import os
from collections.abc import Mapping
from typing import Any

from tests.controlplane.api import Json

LONG = os.environ.get("EVENSPREAD_E2E") == "long"
"""Whether there is time for the long forms; ``make e2e-long``."""

POD_SPEC: Json = {"containers": [{"name": "main", "image": "none"}]}

VERSIONS = {
    "Pod": "v1",
    "ReplicationController": "v1",
    "PodTemplate": "v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "Rollout": "argoproj.io/v1alpha1",
}


def rounds(short: int, long: int) -> int:
    """How many of something: fewer in every run, more where there is time."""
    return long if LONG else short


def workload(
    kind: str,
    name: str,
    namespace: str,
    labels: Mapping[str, str],
    *,
    selector: Json | None = None,
    **spec: Any,
) -> Json:
    """
    An object of any kind.

    Args:
        labels: Of its pods.
        selector: Of the object, as its kind writes it; None: by the labels.
        spec: Members of the pods' specification.
    """
    obj: Json = {
        "apiVersion": VERSIONS[kind],
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
    }
    specification = {**POD_SPEC, **spec}
    if kind == "Pod":
        obj["metadata"]["labels"] = dict(labels)
        return {**obj, "spec": specification}
    template: Json = {"metadata": {"labels": dict(labels)}, "spec": specification}
    if kind == "PodTemplate":
        return {**obj, "template": template}
    if kind in ("Job", "CronJob"):
        template["spec"] = {**specification, "restartPolicy": "Never"}
        job: Json = {"spec": {"template": template}}
        return {**obj, **(job if kind == "Job" else _scheduled(job))}
    if kind == "ReplicationController":
        return {**obj, "spec": {"selector": selector or dict(labels), "template": template}}
    chosen = selector or {"matchLabels": dict(labels)}
    named = {"serviceName": name} if kind == "StatefulSet" else {}
    return {**obj, "spec": {"selector": chosen, "template": template, **named}}


def _scheduled(job: Json) -> Json:
    """The part of a CronJob that is about a Job; it is due once a year."""
    return {"spec": {"schedule": "0 0 1 1 *", "jobTemplate": job}}


def service(name: str, namespace: str, selector: Mapping[str, str] | None) -> Json:
    """A headless Service."""
    spec: Json = {"clusterIP": "None", "ports": [{"port": 80}]}
    if selector is not None:
        spec["selector"] = dict(selector)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def controlled_by(owner: Json) -> Json:
    """The reference by which a controller owns what it makes."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }


def constraints(obj: Json) -> list[Json]:
    """The constraints of a pod."""
    found: list[Json] = obj["spec"].get("topologySpreadConstraints", [])
    return found
