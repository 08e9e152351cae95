"""Storage objects of the API in short-hand."""

from typing import Any

from tests.policy.placement.filters.objects import Json

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def uses(claim: str) -> Json:
    """The volume of a pod that is a claim."""
    return {"name": "v", "persistentVolumeClaim": {"claimName": claim}}


def claim_object(name: str = "data", size: str = "1Gi", **spec: Any) -> Json:
    """A claim that waits for its volume; ``annotations`` are those of its metadata."""
    annotations = spec.pop("annotations", {})
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": name, "annotations": annotations},
        "spec": {"resources": {"requests": {"storage": size}}, "storageClassName": "fast", **spec},
    }


def bound_claim(volume: str, name: str = "data") -> Json:
    """A claim that is bound to a volume."""
    return claim_object(name, volumeName=volume, annotations=BOUND)


def volume_object(name: str = "pv", size: str = "1Gi", **spec: Any) -> Json:
    """A free volume; ``labels`` are those of its metadata."""
    labels = spec.pop("labels", {})
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"capacity": {"storage": size}, "storageClassName": "fast", **spec},
        "status": {"phase": "Available"},
    }


def csi(driver: str, handle: str) -> Json:
    """The source of a volume of a CSI driver."""
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def in_zones(*zones: str, key: str = "zone") -> Json:
    """The node affinity of a volume that some zones can access."""
    expression = {"key": key, "operator": "In", "values": list(zones)}
    return {
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    }


def class_object(name: str = "fast", mode: str = "WaitForFirstConsumer", **members: Any) -> Json:
    """A storage class that provisions volumes of the driver ``csi.x``."""
    named = {"metadata": {"name": name}, "provisioner": "csi.x"}
    return {**named, "volumeBindingMode": mode, **members}
