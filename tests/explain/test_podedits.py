"""Edits of requests, host ports and affinity to pods, and what the requests of a pod exceed."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.policy.placement.clusters import gates
from tests.policy.placement.filters.nominees import nominate
from tests.policy.placement.filters.objects import (
    anti_affinity,
    cluster,
    container,
    node_object,
    pod,
    pod_affinity,
    pod_object,
    term,
)
from webhook.explain.podedits import (
    AffinityKind,
    DropHostPort,
    DropPodAffinity,
    HostPortEdit,
    LowerRequest,
    ReplaceHostPort,
    find_excess,
    format_amount,
    free_port,
    leaves_some,
    measure_excess,
)
from webhook.explain.scenario import PodEdit, Scenario
from webhook.policy.placement.spreads import resolve_constraints

MANY = {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "2Gi", "example.com/gpu": "4"}
ROOM = {"pods": "9", "cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "1Gi"}
PORTS = [{"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1", "protocol": "UDP"}]
AFFINITY = {**anti_affinity(term("zone", app="a")), **pod_affinity(term("zone", app="b"))}


def scenario(requests: dict[str, str], *, used: dict[str, str] | None = None) -> Scenario:
    """Make that of a pod with ports and affinity, beside one that requests what is used."""
    incoming = pod(containers=[container(requests, ports=PORTS)], affinity=AFFINITY)
    other = pod_object("other", nodeName="n1", containers=[container(used or {})])
    scene = cluster([node_object("n1", ROOM)], [other])
    return Scenario(incoming, resolve_constraints((), {}, gates()), scene)


def request_of(resource: str) -> Callable[[Scenario], int]:
    return lambda found: found.pod.requests.scalars.get(resource, 0)


EDITS: dict[str, tuple[PodEdit, str, Callable[[Scenario], Any], Any]] = {
    "a request": (
        LowerRequest("cpu", 2000, 1500),
        "lower the request of the whole pod for cpu from 2 to 1500m",
        lambda found: found.pod.requests.milli_cpu, 1500,
    ),
    "a request in bytes": (
        LowerRequest("ephemeral-storage", 2**31, 2**29),
        "lower the request of the whole pod for ephemeral-storage from 2Gi to 512Mi",
        lambda found: found.pod.requests.ephemeral_storage, 2**29,
    ),
    "a request for an extended resource": (
        LowerRequest("example.com/gpu", 4, 0),
        "lower the request of the whole pod for example.com/gpu from 4 to 0",
        request_of("example.com/gpu"), 0,
    ),
    "a host port": (
        DropHostPort(80, "TCP"),
        "take host port 80/TCP out of the pod",
        lambda found: [one.protocol for one in found.pod.ports], ["UDP"],
    ),
    "a host port of an address": (
        DropHostPort(80, "UDP", "10.0.0.1"),
        "take host port 80/UDP of 10.0.0.1 out of the pod",
        lambda found: [one.protocol for one in found.pod.ports], ["TCP"],
    ),
    "a port of a pod with hostNetwork": (
        ReplaceHostPort(80, "TCP"),
        "use a free port in place of 80/TCP, which is a host port by hostNetwork",
        lambda found: [one.protocol for one in found.pod.ports], ["UDP"],
    ),
    "affinity": (
        DropPodAffinity(AffinityKind.AFFINITY),
        "take the required podAffinity out of the pod",
        lambda found: (len(found.pod.affinity), len(found.pod.anti_affinity)), (0, 1),
    ),
    "anti-affinity": (
        DropPodAffinity(AffinityKind.ANTI_AFFINITY),
        "take the required podAntiAffinity out of the pod",
        lambda found: (len(found.pod.affinity), len(found.pod.anti_affinity)), (1, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "sentence", "look", "after"), EDITS.values(), ids=EDITS)
def test_an_edit_changes_the_pod(
    edit: PodEdit, sentence: str, look: Callable[[Scenario], Any], after: Any
) -> None:
    before = scenario(MANY)

    assert str(edit) == sentence
    assert edit.changes_pod(before)
    assert look(before) != after
    assert look(edit.apply(before)) == after


@pytest.mark.parametrize(("host_network", "edit"), [(False, DropHostPort), (True, ReplaceHostPort)])
def test_host_network_decides_how_a_port_gets_free(
    edit: type[HostPortEdit], *, host_network: bool
) -> None:
    (first, *_) = scenario({}).pod.ports

    assert free_port(first, host_network=host_network) == edit(80, "TCP")


LIFTS: dict[PodEdit, str] = {
    LowerRequest("cpu", 2000, 1500): "NodeResourcesFit",
    DropHostPort(80, "TCP"): "NodePorts",
    ReplaceHostPort(80, "TCP"): "NodePorts",
    DropPodAffinity(AffinityKind.AFFINITY): "InterPodAffinity",
}


@pytest.mark.parametrize(("edit", "name"), LIFTS.items(), ids=map(str, LIFTS))
def test_an_edit_names_the_filter_that_it_may_lift(edit: PodEdit, name: str) -> None:
    assert edit.lifts == {name}


# what the pod requests, what the other one requests, the lowered requests
EXCESS: dict[str, tuple[dict[str, str], dict[str, str], dict[str, tuple[int, int]]]] = {
    "nothing": ({"cpu": "1500m"}, {}, {}),
    "no request": ({}, {"cpu": "9"}, {}),
    "more than the node has": ({"cpu": "2"}, {}, {"cpu": (2000, 1500)}),
    "more than is left": ({"cpu": "1"}, {"cpu": "700m"}, {"cpu": (1000, 800)}),
    "a node that is too full already": ({"cpu": "1"}, {"cpu": "3"}, {"cpu": (1000, 0)}),
    "several": (
        MANY, {"memory": "512Mi"},
        {
            "cpu": (2000, 1500), "memory": (2**30, 2**29), "ephemeral-storage": (2**31, 2**30),
            "example.com/gpu": (4, 0),
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("requests", "used", "lowered"), EXCESS.values(), ids=EXCESS)
def test_what_requests_exceed(
    requests: dict[str, str], used: dict[str, str], lowered: dict[str, tuple[int, int]]
) -> None:
    found = find_excess(scenario(requests, used=used), "n1")

    assert {edit.resource: (edit.before, edit.after) for edit in found} == lowered
    assert (measure_excess(found) > 0) is bool(lowered)


@pytest.mark.parametrize(("after", "leaves"), [(300, True), (250, False), (0, False)])
def test_the_overhead_leaves_the_containers_the_rest(after: int, *, leaves: bool) -> None:
    incoming = pod(containers=[container({"cpu": "1"})], overhead={"cpu": "250m"})

    assert leaves_some([LowerRequest("cpu", 1250, after)], incoming) is leaves


def test_a_node_without_known_resources_is_exceeded_by_nothing() -> None:
    assert find_excess(scenario(MANY), "n2") == ()


def test_nominated_pods_leave_less_of_a_node() -> None:
    question = scenario({"cpu": "1500m"})
    nominee = pod("waiting", containers=[container({"cpu": "1"})])

    found = find_excess(replace(question, cluster=nominate(question.cluster, n1=[nominee])), "n1")

    assert found == (LowerRequest("cpu", 1500, 500),)


AMOUNTS = {
    ("cpu", 2000): "2", ("cpu", 1): "1m", ("memory", 2**20): "1Mi", ("memory", 3 * 2**10): "3Ki",
    ("memory", 1000): "1000", ("memory", 0): "0", ("example.com/gpu", 1024): "1024",
}  # fmt: skip


@pytest.mark.parametrize(("amount", "text"), AMOUNTS.items(), ids=map(str, AMOUNTS))
def test_amounts_are_written_as_quantities(amount: tuple[str, int], text: str) -> None:
    assert format_amount(*amount) == text
