"""The pods of a workload are gathered with what decides which are removed first."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.cli.inputs.manifestclusters import cluster_of, workload
from webhook.cli.inputs.removals import gather_pods
from webhook.cli.inputs.replicas import select_replicas
from webhook.cli.inputs.subjects import find
from webhook.explain.removal import RemovalOrder, WorkloadPods
from webhook.explain.runningupdate import RunningUpdate
from webhook.policy.kinds import BUILT_IN_TEMPLATES, ROLLOUT, SHIPPED_TEMPLATES
from webhook.policy.placement.census import ObservedPod
from webhook.policy.rolloutlimits import DEFAULT_LIMITS, RolloutLimits

TEMPLATES = {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES}


def replica_set(name: str, revision: str, key: str, owner: str) -> dict[str, Any]:
    made = workload("ReplicaSet")
    made["metadata"] |= {
        "name": name,
        "annotations": {key: revision},
        "ownerReferences": [{"kind": owner, "name": "web", "controller": True}],
    }
    return made


def pod(
    name: str, owner: str, app: str = "web", kind: str = "ReplicaSet", node: str = "n1"
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "shop", "labels": {"app": app}}
    if owner:
        metadata["labels"]["pod-template-hash"] = owner.rpartition("-")[2]
        metadata["ownerReferences"] = [{"kind": kind, "name": owner, "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}}


def names(pods: Iterable[ObservedPod]) -> list[str]:
    return [item.metadata.name or "" for item in pods]


def gather(subject: str, *objects: dict[str, Any]) -> WorkloadPods | None:
    cluster = cluster_of(*objects)
    (found,) = find(subject, "shop", TEMPLATES, cluster)
    pods = cluster.pods("shop")
    return gather_pods(found, select_replicas(found, pods, cluster), pods, cluster, 7.0)


ORDERS = {
    "a Deployment": ("deploy/web", workload("Deployment"), RemovalOrder.REPLICA_SET),
    "a StatefulSet": ("sts/web", workload("StatefulSet"), RemovalOrder.ORDINAL),
    "another kind": (
        "cloneset/web", workload("CloneSet", "apps.kruise.io/v1alpha1"), RemovalOrder.UNKNOWN
    ),
}  # fmt: skip


@pytest.mark.parametrize(("subject", "value", "order"), ORDERS.values(), ids=ORDERS)
def test_the_kind_decides_on_the_order(
    subject: str, value: dict[str, Any], order: RemovalOrder
) -> None:
    owned = value["kind"] == "Deployment"
    pods = gather(subject, value, pod("web-0", "web-1" if owned else ""))

    assert pods is not None
    assert (pods.order, pods.name, pods.now, len(pods.pods)) == (order, "web", 7.0, 1)


@pytest.mark.parametrize("kind", ["DaemonSet", "Job"])
def test_some_kinds_are_never_scaled_down(kind: str) -> None:
    version = "batch/v1" if kind == "Job" else "apps/v1"

    assert gather(f"{kind.lower()}/web", workload(kind, version)) is None


STARTS = {3: 3, 0: 0, True: 0, "x": 0, -1: 0}


@pytest.mark.parametrize(("written", "start"), STARTS.items())
def test_the_first_ordinal(written: object, start: int) -> None:
    pods = gather("sts/web", workload("StatefulSet", ordinals={"start": written}))

    assert pods is not None
    assert pods.start == start


REVISIONS = {
    "a Deployment": ("deploy/web", "apps/v1", "Deployment", "deployment.kubernetes.io/revision"),
    "a Rollout": (
        "rollout/web", "argoproj.io/v1alpha1", ROLLOUT.kind, "rollout.argoproj.io/revision"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("subject", "version", "kind", "key"), REVISIONS.values(), ids=REVISIONS)
def test_of_several_replica_sets_the_newest_is_known(
    subject: str, version: str, kind: str, key: str
) -> None:
    sets = (replica_set("web-a", "2", key, kind), replica_set("web-b", "1", key, kind))
    pods = gather(
        subject, workload(kind, version), *sets, pod("web-1", "web-a"), pod("web-2", "web-b")
    )

    assert pods is not None
    assert pods.newest == "web-a"


def test_without_revisions_the_newest_is_not_known() -> None:
    several = (pod("web-1", "web-a"), pod("web-2", "web-b"))

    without = gather("deploy/web", workload("Deployment"), *several)
    unnumbered = gather(
        "deploy/web", workload("Deployment"), replica_set("web-a", "x", "y", "Deployment"), *several
    )

    assert without is not None
    assert unnumbered is not None
    assert (without.newest, unnumbered.newest) == ("", "")


CLAIMS: dict[str, tuple[str, list[str], list[str]]] = {
    "of a ReplicaSet, those it controls and orphans": (
        "rs/web-a",
        ["own", "orphan", "pending"],
        ["own", "sibling", "orphan", "stranger", "pending"],
    ),
    "of a Deployment, those of its ReplicaSets and orphans": (
        "deploy/web",
        ["own", "sibling", "orphan", "pending"],
        ["own", "sibling", "orphan", "stranger", "pending"],
    ),
    "of a ReplicaSet without a controller, none is related": ("rs/bare", ["orphan", "pending"], []),
}  # fmt: skip


@pytest.mark.parametrize(("subject", "own", "related"), CLAIMS.values(), ids=CLAIMS)
def test_pods_are_claimed_and_related_as_by_the_controller(
    subject: str, own: list[str], related: list[str]
) -> None:
    key = "deployment.kubernetes.io/revision"
    bare = replica_set("bare", "1", key, "Deployment")
    del bare["metadata"]["ownerReferences"]
    pods = gather(
        subject,
        workload("Deployment"),
        replica_set("web-a", "1", key, "Deployment"),
        replica_set("web-b", "2", key, "Deployment"),
        bare,
        pod("own", "web-a"),
        pod("sibling", "web-b"),
        pod("orphan", ""),
        pod("stranger", "unknown"),
        pod("of another app", "web-a", "db"),
        pod("pending", "", node=""),
    )

    assert pods is not None
    assert (names(pods.pods), names(pods.related)) == (own, related)


def test_pods_of_a_replication_controller() -> None:
    written = workload("ReplicationController", "v1")
    written["spec"]["selector"] = {"app": "web"}
    own = pod("own", "web", kind="ReplicationController")

    pods = gather("rc/web", written, own, pod("of a set", "web"))

    assert pods is not None
    assert (names(pods.pods), pods.related) == (["own"], ())


def test_without_a_selector_only_controlled_pods_are_gathered() -> None:
    sets = replica_set("web-a", "1", "x", "Deployment")
    del sets["spec"]["selector"]
    others = (pod("own", "web-a"), pod("orphan", ""))

    of_set = gather("rs/web-a", sets, *others)
    of_other = gather("sts/web", workload("StatefulSet", selector=None), *others)

    assert of_set is not None
    assert of_other is not None
    assert (names(of_set.pods), names(of_set.related)) == (["own"], ["own"])
    assert of_other.pods == ()


REVISION = "deployment.kubernetes.io/revision"
LIMITS = {"maxSurge": 1, "maxUnavailable": 0}

# fields of the Deployment, and its rolling update
UPDATES: dict[str, tuple[dict[str, Any], RunningUpdate | None]] = {
    "with limits": (
        {"replicas": 3, "strategy": {"rollingUpdate": LIMITS}},
        RunningUpdate(3, RolloutLimits(1, 0)),
    ),
    "with defaults": ({}, RunningUpdate(1, DEFAULT_LIMITS)),
    "one that waits": ({"paused": True}, None),
    "without surge": ({"strategy": {"type": "Recreate"}}, None),
}


@pytest.mark.parametrize(("fields", "update"), UPDATES.values(), ids=UPDATES)
def test_pods_of_several_replica_sets_are_those_of_a_rolling_update(
    fields: dict[str, Any], update: RunningUpdate | None
) -> None:
    sets = [replica_set(f"web-{one}", one, REVISION, "Deployment") for one in "12"]
    deployment = workload("Deployment", **fields)
    several = (pod("web-1-a", "web-1"), pod("web-2-a", "web-2"))

    updating = gather("deploy/web", deployment, *sets, *several)
    settled = gather("deploy/web", deployment, *sets, several[0])

    assert updating is not None
    assert settled is not None
    assert (updating.update, settled.update) == (update, None)


def test_the_rolling_update_of_a_rollout_is_not_known() -> None:
    key = "rollout.argoproj.io/revision"
    sets = [replica_set(f"web-{one}", one, key, ROLLOUT.kind) for one in "12"]
    several = (pod("web-1-a", "web-1"), pod("web-2-a", "web-2"))

    pods = gather("rollout/web", workload(ROLLOUT.kind, "argoproj.io/v1alpha1"), *sets, *several)

    assert pods is not None
    assert pods.update is None
