"""Pods of a DaemonSet are found by the node that each is meant for."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace as replace_struct

from tests.cli.inputs.manifestclusters import cluster_of
from tests.cli.inputs.targetcases import PLAIN
from tests.explain.filterscenarios import filter_scenario, node
from webhook.cli.inputs.daemons import (
    add_template_demands,
    gather_daemon_pods,
    read_daemon_scenario,
    read_pending,
)
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.explain.daemons import DaemonPods, WaitingPod
from webhook.explain.scenario import Scenario
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.daemondemands import NETWORK_TOLERATION
from webhook.policy.placement.nodes import Demands


def subject(**spec: Any) -> ExplainSubject:
    value: dict[str, Any] = {"metadata": {"name": "agent"}, "spec": {"template": {"spec": spec}}}
    return ExplainSubject(DAEMON_SET, ("spec", "template"), "shop", value, exists=True)


def pinned(key: str = "metadata.name", *names: str) -> dict[str, Any]:
    terms = [{"matchFields": [{"key": key, "operator": "In", "values": names or ["n1"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def pod(
    spec: dict[str, Any], owner: str = "agent", phase: str | None = "Running", **metadata: str
) -> ObservedPod:
    owners = [{"kind": "DaemonSet", "name": owner, "controller": True}] if owner else None
    value = {
        "metadata": {"name": "p", "ownerReferences": owners, **metadata},
        "spec": spec,
        "status": {"phase": phase} if phase else None,
    }
    return msgspec.convert(value, ObservedPod)


ON_N1 = {"nodeName": "n1"}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
PODS: dict[str, tuple[ObservedPod, DaemonPods]] = {
    "running": (pod(ON_N1), DaemonPods({"n1": "p"})),
    "of a file": (pod(ON_N1, owner="", phase=None), DaemonPods({"n1": "p"})),
    "of another controller": (pod(ON_N1, owner="other"), DaemonPods()),
    "Pending": (
        pod(pinned(), phase="Pending"), DaemonPods(waiting={"n1": WaitingPod("p", "Pending")})
    ),
    "without a status": (
        pod(pinned(), phase=None), DaemonPods(waiting={"n1": WaitingPod("p", "Pending")})
    ),
    "being deleted": (
        pod(ON_N1, **DELETED), DaemonPods(waiting={"n1": WaitingPod("p", "being deleted")})
    ),
    "ended": (
        pod(ON_N1, phase="Failed"), DaemonPods(waiting={"n1": WaitingPod("p", "Failed")})
    ),
    "with another affinity": (pod(pinned("metadata.uid")), DaemonPods()),
    "with several nodes": (pod(pinned("metadata.name", "n1", "n2")), DaemonPods()),
    "with no affinity": (pod({"affinity": {}}), DaemonPods()),
}  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), PODS.values(), ids=PODS)
def test_pods_by_node(found: ObservedPod, expected: DaemonPods) -> None:
    assert gather_daemon_pods(subject(), [found]) == expected


HOST_NETWORK: dict[str, tuple[dict[str, Any], bool]] = {
    "hostNetwork": ({"hostNetwork": True}, True),
    "of another type": ({"hostNetwork": "yes"}, False),
    "none": ({}, False),
}


@pytest.mark.parametrize(("spec", "tolerates"), HOST_NETWORK.values(), ids=HOST_NETWORK)
def test_pods_in_the_network_of_the_node_tolerate_that_it_is_unavailable(
    spec: dict[str, Any], *, tolerates: bool
) -> None:
    read = read_daemon_scenario(subject(**spec), filter_scenario([node("n1", "a")]), ())

    assert (NETWORK_TOLERATION in (read.pod.demands.tolerations or ())) is tolerates


def test_new_nodes_do_not_have_the_pods_of_the_daemon_set_itself() -> None:
    situation = filter_scenario([node("n1", "a")])
    other = situation.change_pod(namespace="shop", name="other").pod
    own = situation.change_pod(namespace="shop", name="p").pod
    cluster = replace(situation.cluster, daemons={"n1": [own, other]})
    situation = Scenario(situation.pod, situation.spreads, cluster)

    read = read_daemon_scenario(subject(), situation, [pod(ON_N1)])

    assert read.cluster.daemons == {"n1": [other]}


def test_pending_pods_have_their_own_labels_constraints_and_tolerations() -> None:
    spread = {"maxSkew": 3, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    stored = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop", "labels": {"revision": "old"}},
        "spec": {"topologySpreadConstraints": [spread], **pinned()},
    }
    cluster = cluster_of(stored)
    reader = ScenarioReader(PLAIN, cluster, replaces=False)
    ended = WaitingPod("q", "Failed")
    pods = DaemonPods(waiting={"n1": WaitingPod("p", "Pending"), "n2": ended})

    found = read_pending(subject(), pods, reader, cluster).waiting

    own = found["n1"].situation
    assert own is not None
    assert own.pod.labels == {"revision": "old"}
    assert [one.max_skew for one in own.spreads.hard] == [3]
    tolerated = {one.key for one in own.pod.demands.tolerations or ()}
    assert "node.kubernetes.io/unschedulable" in tolerated
    assert found["n2"] == ended


def test_no_pod_is_read_if_none_is_pending() -> None:
    pods, cluster = DaemonPods({"n1": "p"}), cluster_of()
    reader = ScenarioReader(PLAIN, cluster, replaces=False)

    assert read_pending(subject(), pods, reader, cluster) is pods


def test_what_the_template_requires_is_kept_if_the_pods_require_more() -> None:
    pods, found = DaemonPods({"n1": "p"}), filter_scenario([node("n1", "a")])
    pinned_pod = read_daemon_scenario(subject(), found, [])
    of_class = pinned_pod.change_pod(
        demands=replace_struct(pinned_pod.pod.demands, pairs=(("pool", "kata"),))
    )

    chosen = add_template_demands(pods, subject(), Demands(), of_class)

    assert add_template_demands(pods, subject(), Demands(), pinned_pod) is pods
    assert chosen.template_demands == pinned_pod.pod.demands
    assert chosen.running == pods.running
