"""The Deployment's settings, and the states of its pods and endpoints."""

from typing import Any

import msgspec
import pytest

from webhook.doctor.workload import Deployment, EndpointSlice, ServerPod


def test_flags_override_variables() -> None:
    container = {
        "args": ["serve", "--tls=files", "--debug"],
        "env": [
            {"name": "EVENSPREAD_TLS", "value": "self"},
            {"name": "EVENSPREAD_HEALTH_PORT", "value": "8081"},
            {"name": "HOME", "value": "/"},
        ],
    }
    spec = {"template": {"spec": {"containers": [container, {"args": ["--other=1"]}]}}}

    settings = msgspec.convert({"spec": spec}, Deployment).settings

    assert settings == {"tls": "files", "debug": "true", "health-port": "8081"}


def test_unknown_endpoints_count_as_ready() -> None:
    endpoints = [{"conditions": {"ready": state}} for state in (True, False, None)]

    assert msgspec.convert({"endpoints": endpoints}, EndpointSlice).ready == 2
    assert EndpointSlice().ready == 0


TROUBLES: dict[str, tuple[dict[str, Any], str]] = {
    "a waiting container": (
        {"containerStatuses": [{"state": {}}, {"state": {"waiting": {"reason": "ErrImagePull"}}}]},
        "ErrImagePull",
    ),
    "a waiting container with a message": (
        {"containerStatuses": [{"state": {"waiting": {"reason": "A", "message": "b"}}}]},
        "A: b",
    ),
    "a failed condition": (
        {"conditions": [{"type": "PodScheduled", "status": "False", "message": "full"}]},
        "full",
    ),
    "nothing but a phase": ({"phase": "Pending"}, "Pending"),
}


@pytest.mark.parametrize(("status", "trouble"), TROUBLES.values(), ids=TROUBLES)
def test_the_trouble_of_a_pod_is_in_the_words_of_the_cluster(
    status: dict[str, Any], trouble: str
) -> None:
    pod = msgspec.convert({"status": status}, ServerPod)

    assert pod.trouble == trouble
    assert not pod.is_ready


def test_a_pod_with_the_condition_ready_is_ready() -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}]}

    assert msgspec.convert({"status": status}, ServerPod).is_ready


def test_the_secret_is_the_first_that_the_pods_mount() -> None:
    volumes = [{"name": "a"}, {"name": "b", "secret": {"secretName": "pair"}}]
    spec = {"template": {"spec": {"volumes": volumes}}}

    assert msgspec.convert({"spec": spec}, Deployment).secret_name == "pair"
    assert Deployment().secret_name == ""


def test_the_labels_of_a_deployment_are_those_of_its_pods() -> None:
    spec = {"template": {"metadata": {"labels": {"app": "web"}}}}

    assert msgspec.convert({"spec": spec}, Deployment).labels == {"app": "web"}
