"""The replicas of a workload lie in the range of its autoscaler, or a note says why not."""

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.inputs.shopcluster import SERVER, manifest_cluster
from webhook.cli.inputs.autoscaled import NO_AUTOSCALERS, ScaledReplicas, read_replicas
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, JOB, LEADER_WORKER_SET
from webhook.policy.model import GroupKind

HPA = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h, namespace: shop}
spec:
  minReplicas: 4
  maxReplicas: 9
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""
KEDA = """\
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: k, namespace: shop}
spec: {minReplicaCount: 2, maxReplicaCount: 3, scaleTargetRef: {name: web}}
"""
BOUNDS = "HorizontalPodAutoscaler/h keeps 4 to 9 replicas: "

# the objects, the replicas of the workload, those to set, the result
CASES: dict[str, tuple[str, int, int | None, ScaledReplicas]] = {
    "no autoscaler": ("", 1, None, ScaledReplicas(1)),
    "too few": (HPA, 1, None, ScaledReplicas(4, f"{BOUNDS}4 in place of 1 are taken")),
    "too many": (HPA, 12, None, ScaledReplicas(9, f"{BOUNDS}9 in place of 12 are taken")),
    "in the range": (HPA, 5, None, ScaledReplicas(5)),
    "none, which pauses the autoscaler": (HPA, 0, None, ScaledReplicas(0)),
    "others are set": (HPA, 5, 2, ScaledReplicas(5, f"{BOUNDS}it changes 2 soon")),
    "others in the range are set": (HPA, 1, 6, ScaledReplicas(1)),
    "one of KEDA": (
        HPA + KEDA, 1, None,
        ScaledReplicas(2, "ScaledObject/k keeps 2 to 3 replicas: 2 in place of 1 are taken"),
    ),
    "that of another workload": (HPA.replace("name: web", "name: api"), 1, None, ScaledReplicas(1)),
}  # fmt: skip


def workload(kind: GroupKind) -> ExplainSubject:
    return ExplainSubject(kind, (), "shop", {"metadata": {"name": "web"}}, exists=True)


@pytest.mark.parametrize(("text", "replicas", "scale", "found"), CASES.values(), ids=CASES.keys())
def test_replicas(text: str, replicas: int, scale: int | None, found: ScaledReplicas) -> None:
    cluster = manifest_cluster(text)[0]

    assert read_replicas(workload(DEPLOYMENT), replicas, cluster, scale) == found
    for kind in (JOB, DAEMON_SET, LEADER_WORKER_SET):
        assert read_replicas(workload(kind), replicas, cluster, scale) == ScaledReplicas(replicas)


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_live_cluster(api: ApiServer, *, is_refused: bool) -> None:
    api.add(*yaml.safe_load_all(HPA.partition("---\n")[2].replace("/v2", "/v1")))
    if is_refused:
        path = "/apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers"
        api.answers[f"GET {path}"] = refuse("forbidden")

    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        found = read_replicas(workload(DEPLOYMENT), 1, cluster, None)

    assert (found.number, found.unread) == ((1, (NO_AUTOSCALERS,)) if is_refused else (4, ()))


def test_the_range_of_a_leader_worker_set_is_one_of_groups_and_not_of_pods() -> None:
    target = "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: web}"
    scaled = HPA.replace("{apiVersion: apps/v1, kind: Deployment, name: web}", target)

    cluster = manifest_cluster(scaled)[0]

    assert read_replicas(workload(LEADER_WORKER_SET), 20, cluster, None) == ScaledReplicas(20)
