from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.requests import is_extended, is_scalar, pod_requests, to_resources
from webhook.policy.api.versions import Version
from webhook.policy.placement.filters.resources import Resources

V1_36, V1_37 = Version(1, 36), Version(1, 37)
GPU = "example.com/gpu"


def api_pod(status: Any = None, **spec: Any) -> ApiPod:
    return msgspec.convert({"spec": spec, "status": status}, ApiPod)


def one(name: str = "c", *, sidecar: bool = False, **requests: str) -> dict[str, Any]:
    policy = {"restartPolicy": "Always"} if sidecar else {}
    return {"name": name, "resources": {"requests": requests}, **policy}


SIDECAR = one(sidecar=True, cpu="2")

# specification, milli CPU, memory
REQUESTS: dict[str, tuple[dict[str, Any], int, int]] = {
    "nothing": ({}, 0, 0),
    "a container without resources": ({"containers": [{"name": "c"}]}, 0, 0),
    "containers are added up": (
        {"containers": [one(cpu="1"), one(cpu="200m", memory="1k")]}, 1200, 1000
    ),
    "the sum is rounded, not its parts": (
        {"containers": [one(cpu="0.5m", memory="0.4"), one(cpu="0.5m", memory="0.4")]}, 1, 1
    ),
    "a large init container": (
        {"containers": [one(cpu="1")], "initContainers": [one(cpu="3"), one(cpu="2")]}, 3000, 0
    ),
    "a small init container": (
        {"containers": [one(cpu="1", memory="2")], "initContainers": [one(cpu="500m")]}, 1000, 2
    ),
    "a sidecar runs beside the containers": (
        {"containers": [one(cpu="1")], "initContainers": [one(sidecar=True, cpu="2")]}, 3000, 0
    ),
    "a sidecar runs beside later init containers": (
        {"containers": [one(cpu="1")], "initContainers": [SIDECAR, one(cpu="4")]},
        6000, 0,
    ),
    "a sidecar does not run beside earlier ones": (
        {"containers": [one(cpu="1")], "initContainers": [one(cpu="4"), SIDECAR]},
        4000, 0,
    ),
    "sidecars are added up": (
        {"initContainers": [one(sidecar=True, cpu="1"), one(sidecar=True, cpu="2")]}, 3000, 0
    ),
    "overhead is added": ({"containers": [one(cpu="1")], "overhead": {"cpu": "250m"}}, 1250, 0),
    "the pod as a whole": (
        {"containers": [one(cpu="1", memory="5")], "resources": {"requests": {"cpu": "3"}}}, 3000, 5
    ),
    "the pod as a whole requests less": (
        {"containers": [one(cpu="4")], "resources": {"requests": {"cpu": "3"}}}, 3000, 0
    ),
    "overhead of the pod as a whole": (
        {"resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "1"}}, 4000, 0
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "milli_cpu", "memory"), REQUESTS.values(), ids=REQUESTS.keys())
@pytest.mark.parametrize("version", [None, V1_36, V1_37])
def test_the_requests_of_a_pod(
    spec: dict[str, Any], milli_cpu: int, memory: int, version: Version | None
) -> None:
    expected = Resources(milli_cpu=milli_cpu, memory=memory)

    assert pod_requests(api_pod(**spec), version) == expected
    assert pod_requests(api_pod(status={}, **spec), version) == expected


def test_only_some_resources_are_requested_for_a_pod_as_a_whole() -> None:
    whole = {"requests": {GPU: "3", "hugepages-2Mi": "4Mi", "ephemeral-storage": "5"}}
    pod = api_pod(containers=[{"resources": {"requests": {GPU: "1"}}}], resources=whole)

    assert pod_requests(pod) == Resources(scalars={GPU: 1, "hugepages-2Mi": 4 * 1024**2})


def statuses(*found: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"containerStatuses": list(found), **members}


def status(name: str = "c", actual: str = "", allocated: str = "") -> dict[str, Any]:
    resources = {"resources": {"requests": {"cpu": actual}}} if actual else {}
    return {
        "name": name,
        **resources,
        **({"allocatedResources": {"cpu": allocated}} if allocated else {}),
    }


INFEASIBLE = {
    "conditions": [{"type": "Ready"}, {"type": "PodResizePending", "reason": "Infeasible"}]
}
DEFERRED = {"conditions": [{"type": "PodResizePending", "reason": "Deferred"}]}
ONE, TWO = [one(cpu="1")], [one("a", cpu="1"), one("b", cpu="4")]

# specification, status, milli CPU in 1.36, milli CPU in 1.37
RESIZES: dict[str, tuple[dict[str, Any], dict[str, Any], int, int]] = {
    "as in the specification": ({"containers": ONE}, statuses(status(actual="1")), 1000, 1000),
    "another container": ({"containers": ONE}, statuses(status("d", "9", "9")), 1000, 1000),
    "scaled down, not yet actuated": (
        {"containers": ONE}, statuses(status(actual="3")), 3000, 3000
    ),
    "scaled down, still allocated": (
        {"containers": ONE}, statuses(status(actual="1", allocated="2")), 2000, 2000
    ),
    "only allocated": ({"containers": ONE}, statuses(status(allocated="2")), 1000, 2000),
    "scaled up": (
        {"containers": ONE}, statuses(status(actual="500m", allocated="500m")), 1000, 1000
    ),
    "scaled up, infeasible": (
        {"containers": ONE}, statuses(status(actual="500m", allocated="500m"), **INFEASIBLE),
        500, 500,
    ),
    "scaled up, deferred": (
        {"containers": ONE}, statuses(status(actual="500m"), **DEFERRED), 1000, 1000
    ),
    "infeasible, without a status": ({"containers": ONE}, statuses(**INFEASIBLE), 1000, 0),
    "containers in opposite directions": (
        {"containers": TWO}, statuses(status("a", "3"), status("b", "1")), 7000, 5000
    ),
    "a sidecar": (
        {"initContainers": [one(sidecar=True, cpu="1")]},
        {"initContainerStatuses": [status(actual="2")]}, 2000, 2000,
    ),
    "an init container": (
        {"initContainers": [one(cpu="1")]}, {"initContainerStatuses": [status(actual="2")]},
        1000, 2000,
    ),
    "the sums of the pod": (
        {"containers": ONE},
        {"allocatedResources": {"cpu": "5"}, "resources": {"requests": {"cpu": "6"}}},
        1000, 6000,
    ),
    "the pod as a whole": (
        {"resources": {"requests": {"cpu": "1"}}},
        {"allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "1"}}}, 2000, 2000,
    ),
    "the pod as a whole, infeasible": (
        {"resources": {"requests": {"cpu": "4"}}},
        {"allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "1"}}, **INFEASIBLE},
        2000, 2000,
    ),
    "the pod as a whole, without actual resources": (
        {"resources": {"requests": {"cpu": "4"}}}, {"allocatedResources": {"cpu": "9"}}, 4000, 4000
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "found", "before", "since"), RESIZES.values(), ids=RESIZES.keys())
def test_the_requests_of_a_pod_that_resizes(
    spec: dict[str, Any], found: dict[str, Any], before: int, since: int
) -> None:
    pod = api_pod(status=found, **spec)

    assert pod_requests(pod, V1_36).milli_cpu == before
    assert pod_requests(pod, V1_37).milli_cpu == since
    assert pod_requests(pod) == pod_requests(api_pod(**spec))


def test_a_resize_in_1_36_changes_only_requests_that_the_specification_has() -> None:
    found = {"resources": {"requests": {"cpu": "1", "memory": "7"}}}
    pod = api_pod(status=found, resources={"requests": {"cpu": "1"}})

    assert (pod_requests(pod, V1_36).memory, pod_requests(pod, V1_37).memory) == (0, 7)


# name, is scalar, is extended
NAMES = {
    "an extended resource": (GPU, True, True),
    "huge pages": ("hugepages-1Gi", True, False),
    "volumes": ("attachable-volumes-aws-ebs", True, False),
    "a resource of Kubernetes": ("scheduling.kubernetes.io/foo", True, False),
    "a name without a domain": ("foo", False, False),
    "a name of a quota": ("requests.example.com/gpu", False, False),
    "an invalid name": ("example.com/g p u", False, False),
    "CPU": ("cpu", False, False),
}


@pytest.mark.parametrize(("name", "scalar", "extended"), NAMES.values(), ids=NAMES.keys())
def test_names_of_resources(name: str, scalar: bool, extended: bool) -> None:
    assert (is_scalar(name), is_extended(name)) == (scalar, extended)


def test_amounts_are_rounded_to_the_units_of_the_scheduler() -> None:
    amounts = {
        "cpu": 1_000_001, "memory": 1, "ephemeral-storage": 10**9, "pods": 11 * 10**9,
        GPU: 1, "foo": 1,
    }  # fmt: skip

    assert to_resources(amounts) == Resources(2, 1, 1, 11, {GPU: 1})


containers = st.lists(
    st.builds(
        one,
        sidecar=st.booleans(),
        cpu=st.integers(0, 5).map(str),
        memory=st.integers(0, 5).map(str),
    ),
    max_size=4,
)


@given(containers, containers)
def test_a_pod_requests_at_least_what_runs_together_and_each_init_container(
    running: list[dict[str, Any]], init: list[dict[str, Any]]
) -> None:
    def cpu(one: dict[str, Any]) -> int:
        return 1000 * int(one["resources"]["requests"]["cpu"])

    together = sum(map(cpu, running)) + sum(cpu(one) for one in init if "restartPolicy" in one)

    total = pod_requests(api_pod(containers=running, initContainers=init)).milli_cpu

    assert total >= max([together, *map(cpu, init)])
    assert total <= together + max(map(cpu, init), default=0)
