from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.defaults import fill_in_defaults
from webhook.cluster.scheduling.podobjects import ApiPod, FilterSpec, FullAffinity
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.scheduling.requests import pod_requests
from webhook.policy.api.versions import Version
from webhook.policy.placement.filters.filterpods import HostPort
from webhook.policy.selectors import matches

V1_36 = Version(1, 36)
GPU = "example.com/gpu"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def filled(labels: dict[str, str] | None = None, **spec: Any) -> ApiPod:
    written = {"metadata": {"labels": labels or {}}, "spec": spec}
    return fill_in_defaults(msgspec.convert(written, ApiPod))


def test_a_pod_without_a_specification_stays_as_it_is() -> None:
    assert fill_in_defaults(ApiPod()) == ApiPod()
    assert fill_in_defaults(ApiPod(spec=FilterSpec())).spec == FilterSpec(
        containers=(), init_containers=()
    )


def resources(requests: Any = None, limits: Any = None) -> dict[str, Any]:
    return {"resources": {"requests": requests, "limits": limits}}


# specification, milli CPU, devices
LIMITS: dict[str, tuple[dict[str, Any], int, int]] = {
    "a limit alone": ({"containers": [resources(limits={"cpu": "1", GPU: 2})]}, 1000, 2),
    "a limit and a request": (
        {"containers": [resources({"cpu": "500m"}, {"cpu": "1", GPU: 2})]}, 500, 2
    ),
    "an init container": ({"initContainers": [resources(limits={"cpu": "1"})]}, 1000, 0),
    "no resources": ({"containers": [{}]}, 0, 0),
    "a limit of the pod": (resources(limits={"cpu": "2", GPU: 1}), 2000, 0),
    "a limit and a request of the pod": (resources({"cpu": "1"}, {"cpu": "2"}), 1000, 0),
    "a limit of the pod, and a request of a container": (
        {"containers": [{}, resources({"cpu": "1"})], **resources(limits={"cpu": "2"})}, 1000, 0
    ),
    "a request of the pod": (resources({"cpu": "1"}), 1000, 0),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "milli_cpu", "devices"), LIMITS.values(), ids=LIMITS.keys())
def test_limits_are_requested(spec: dict[str, Any], milli_cpu: int, devices: int) -> None:
    found = pod_requests(filled(**spec))

    assert (found.milli_cpu, found.scalars.get(GPU, 0)) == (milli_cpu, devices)


@pytest.mark.parametrize(("host_network", "numbers"), [(True, (80, 81)), (False, (81,))])
def test_ports_in_the_network_of_the_host(host_network: bool, numbers: tuple[int, ...]) -> None:
    ports = [{"containerPort": 80}, {"containerPort": 82, "hostPort": 81}]
    pod = filled(hostNetwork=host_network, containers=[{"ports": ports}, {}])

    assert read_pod(pod, V1_36).ports == tuple(
        HostPort("0.0.0.0", "TCP", number) for number in numbers
    )


# term, whether it selects a pod of the same revision, and of another
KEYS: dict[str, tuple[dict[str, Any], bool, bool]] = {
    "no keys": ({"labelSelector": {}}, True, True),
    "the same value": ({"labelSelector": {}, "matchLabelKeys": ["rev", "none"]}, True, False),
    "another value": ({"labelSelector": {}, "mismatchLabelKeys": ["rev"]}, False, True),
    "no selector": ({"matchLabelKeys": ["rev"]}, False, False),
}


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize(("term", "same", "other"), KEYS.values(), ids=KEYS.keys())
def test_keys_of_labels_are_merged_into_the_selector(
    kind: str, term: dict[str, Any], same: bool, other: bool
) -> None:
    pod = filled({"rev": "1"}, affinity={kind: {REQUIRED: [{"topologyKey": "zone", **term}]}})
    read = read_pod(pod, V1_36)

    (selector,) = (one.selector for one in (*read.affinity, *read.anti_affinity))

    assert (matches(selector, {"rev": "1"}), matches(selector, {"rev": "2"})) == (same, other)


def test_affinity_to_nodes_stays_as_it_is() -> None:
    affinity: dict[str, Any] = {"nodeAffinity": {REQUIRED: {}}, "podAffinity": {}}
    spec = filled(affinity=affinity).spec

    assert spec is not None
    assert spec.affinity == msgspec.convert(affinity, FullAffinity)
