from typing import Any

import msgspec
import pytest

from webhook.cluster.autoscalers import PAUSED, PAUSED_REPLICAS, decode_autoscaler
from webhook.policy.advice.scaling import Autoscaler
from webhook.policy.kinds import (
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    ROLLOUT,
    SCALED_OBJECT,
    STATEFUL_SET,
)
from webhook.policy.model import GroupKind

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def decode(kind: GroupKind, spec: Any) -> Autoscaler | None:
    """Decode an autoscaler of the namespace shop."""
    obj = {"metadata": {"name": "scaler", "namespace": "shop"}, "spec": spec}
    return decode_autoscaler(kind, msgspec.json.encode(obj))


# kind, specification, target and its name, fewest and most replicas
RANGES: dict[str, tuple[GroupKind, dict[str, Any], tuple[GroupKind, str, int, int]]] = {
    "a HorizontalPodAutoscaler": (
        HORIZONTAL_POD_AUTOSCALER,
        {"scaleTargetRef": WEB, "minReplicas": 2, "maxReplicas": 6, "metrics": [{"type": "x"}]},
        (DEPLOYMENT, "web", 2, 6),
    ),
    "one without minReplicas": (
        HORIZONTAL_POD_AUTOSCALER,
        {"scaleTargetRef": WEB, "maxReplicas": 6},
        (DEPLOYMENT, "web", 1, 6),
    ),
    "one that scales to zero": (
        HORIZONTAL_POD_AUTOSCALER,
        {"scaleTargetRef": WEB, "minReplicas": 0, "maxReplicas": 6},
        (DEPLOYMENT, "web", 0, 6),
    ),
    "one of a custom kind": (
        HORIZONTAL_POD_AUTOSCALER,
        {
            "scaleTargetRef": {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "Rollout",
                "name": "web",
            },
            "maxReplicas": 6,
        },
        (ROLLOUT, "web", 1, 6),
    ),
    "a ScaledObject with defaults": (
        SCALED_OBJECT,
        {"scaleTargetRef": {"name": "web"}, "triggers": []},
        (DEPLOYMENT, "web", 0, 100),
    ),
    "a ScaledObject": (
        SCALED_OBJECT,
        {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
            "minReplicaCount": 3,
            "maxReplicaCount": 9,
        },
        (STATEFUL_SET, "db", 3, 9),
    ),
    "a ScaledObject with a number for idle times": (
        SCALED_OBJECT,
        {"scaleTargetRef": {"name": "web"}, "minReplicaCount": 3, "idleReplicaCount": 0},
        (DEPLOYMENT, "web", 0, 100),
    ),
}


@pytest.mark.parametrize(("kind", "spec", "expected"), RANGES.values(), ids=RANGES.keys())
def test_the_target_and_the_range_are_decoded(
    kind: GroupKind, spec: dict[str, Any], expected: tuple[GroupKind, str, int, int]
) -> None:
    found = decode(kind, spec)

    assert found is not None
    assert (found.target, found.target_name, found.least, found.most) == expected
    assert (found.kind, found.namespace, found.name) == (kind, "shop", "scaler")


# annotations, fewest and most replicas; None if the workload keeps its own number
PAUSES: dict[str, tuple[dict[str, str] | None, tuple[int, int] | None]] = {
    "no annotations": (None, (2, 9)),
    "paused at a number": ({PAUSED_REPLICAS: "3"}, (3, 3)),
    "paused at zero": ({PAUSED_REPLICAS: "0"}, (0, 0)),
    "paused at no number": ({PAUSED_REPLICAS: "x"}, None),
    "paused": ({PAUSED: "true"}, None),
    "paused at a number, and not paused": ({PAUSED_REPLICAS: "3", PAUSED: "false"}, (3, 3)),
    "not paused": ({PAUSED: "false"}, (2, 9)),
    "no boolean pauses, too": ({PAUSED: "yes"}, None),
}


@pytest.mark.parametrize(("annotations", "expected"), PAUSES.values(), ids=PAUSES.keys())
def test_a_paused_scaled_object_has_one_number_of_replicas(
    annotations: dict[str, str] | None, expected: tuple[int, int] | None
) -> None:
    spec = {"scaleTargetRef": {"name": "web"}, "minReplicaCount": 2, "maxReplicaCount": 9}
    metadata = {"name": "scaler", "namespace": "shop", "annotations": annotations}

    found = decode_autoscaler(
        SCALED_OBJECT, msgspec.json.encode({"metadata": metadata, "spec": spec})
    )

    assert (found and (found.least, found.most)) == expected


def disabled(direction: str) -> dict[str, Any]:
    return {direction: {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}}


def of_keda(behavior: dict[str, Any]) -> dict[str, Any]:
    advanced = {"horizontalPodAutoscalerConfig": {"name": "web", "behavior": behavior}}
    return {"scaleTargetRef": {"name": "web"}, "advanced": advanced}


HPA_SPEC: dict[str, Any] = {"scaleTargetRef": WEB, "maxReplicas": 6}

# kind, specification, whether it removes pods
DIRECTIONS: dict[str, tuple[GroupKind, dict[str, Any], bool]] = {
    "no behavior": (HORIZONTAL_POD_AUTOSCALER, HPA_SPEC, True),
    "no scale-down": (
        HORIZONTAL_POD_AUTOSCALER, {**HPA_SPEC, "behavior": disabled("scaleDown")}, False
    ),
    "no scale-up": (
        HORIZONTAL_POD_AUTOSCALER, {**HPA_SPEC, "behavior": disabled("scaleUp")}, True
    ),
    "a slow scale-down": (
        HORIZONTAL_POD_AUTOSCALER,
        {**HPA_SPEC, "behavior": {"scaleDown": {"selectPolicy": "Min", "policies": []}}},
        True,
    ),
    "a null behavior": (HORIZONTAL_POD_AUTOSCALER, {**HPA_SPEC, "behavior": None}, True),
    "a ScaledObject": (SCALED_OBJECT, {"scaleTargetRef": {"name": "web"}}, True),
    "a ScaledObject without scale-down": (SCALED_OBJECT, of_keda(disabled("scaleDown")), False),
    "a ScaledObject without scale-up": (SCALED_OBJECT, of_keda(disabled("scaleUp")), True),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "spec", "expected"), DIRECTIONS.values(), ids=DIRECTIONS.keys())
def test_whether_it_removes_pods_is_decoded(
    kind: GroupKind, spec: dict[str, Any], *, expected: bool
) -> None:
    found = decode(kind, spec)

    assert found is not None
    assert found.scales_down is found.range.scales_down is expected


UNUSABLE: dict[str, Any] = {
    "no specification": None,
    "no target": {"maxReplicas": 3},
    "a target without a name": {"scaleTargetRef": {"kind": "Deployment"}, "maxReplicas": 3},
    "no maxReplicas": {"scaleTargetRef": WEB},
}


@pytest.mark.parametrize("spec", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_autoscaler_that_scales_nothing_is_left_out(spec: Any) -> None:
    assert decode(HORIZONTAL_POD_AUTOSCALER, spec) is None


def test_a_number_of_another_type_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="maxReplicas"):
        decode(HORIZONTAL_POD_AUTOSCALER, {"scaleTargetRef": WEB, "maxReplicas": "6"})
