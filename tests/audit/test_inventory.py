from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from tests.audit import customs, world
from tests.audit.world import LIVE, gather, inventory, pod
from webhook.audit.inventory import AuditSubject, Inventory
from webhook.policy.advice.podgroups import PodGroup
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.gangs import group_name
from webhook.policy.model import LabelSelector, LabelSelectorRequirement, OwnerReference
from webhook.policy.placement.nodes import Demands

SELECTOR = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Exists"),))


def audited(text: str, neighbours: str = "") -> Inventory:
    return inventory(gather(text, neighbours=neighbours).snapshot)


def names(found: Inventory) -> list[str]:
    return [str(item.subject) for item in found.audited]


def count_members(found: Inventory) -> dict[str, int]:
    """Count the pods with a label ``app``, by their workload."""
    return dict(found.state.count_members("shop", SELECTOR))


def test_pods_belong_to_the_outermost_controller_that_is_known() -> None:
    found = audited(LIVE)
    (web, _) = (item.subject for item in found.audited)

    assert names(found) == ["Deployment/web", "StatefulSet/db"]
    assert [dict(group.nodes) for group in web.running] == [{"node-a": 3, "node-b": 1}]


TIERS = "".join(
    f"""---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: {tier}, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: x}}}}
  template: {{metadata: {{labels: {{app: x}}}}, spec: {{nodeSelector: {{tier: {tier}}}}}}}
"""
    for tier in ("hot", "warm")
)


@pytest.mark.parametrize("neighbours", ["", TIERS])
def test_the_pools_of_workloads_are_known(neighbours: str) -> None:
    found = audited("" if neighbours else TIERS, neighbours)
    hot = Demands(pairs=(("tier", "hot"),), tolerations=None)

    assert dict(found.state.count_members("shop", SELECTOR, hot)) == {"StatefulSet/hot": 1}


def _job(pool: str) -> str:
    template = f"{{metadata: {{labels: {{app: x}}}}, spec: {{nodeSelector: {{tier: {pool}}}}}}}"
    return f"  - {{name: {pool}, template: {{spec: {{template: {template}}}}}}}\n"


JOB_SET = f"""---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: train, namespace: shop}}
spec:
  replicatedJobs:
{_job("hot")}{_job("warm")}"""


def test_templates_of_several_pools_may_be_anywhere() -> None:
    cold = Demands(pairs=(("tier", "cold"),), tolerations=None)

    assert "JobSet/train" in audited(JOB_SET).state.count_members("shop", SELECTOR, cold)


GONE = {
    "finished": pod("old", "node-a", phase="Succeeded"),
    "failed": pod("old", "node-a", phase="Failed"),
    "terminating": pod("old", "node-a").replace(
        '"name":"old"', '"deletionTimestamp":"2026-01-01T00:00:00Z","name":"old"', 1
    ),
}


@pytest.mark.parametrize("text", GONE.values(), ids=GONE.keys())
def test_pods_that_are_gone_count_nowhere(text: str) -> None:
    assert audited(LIVE + text).pods == audited(LIVE).pods


def test_pods_of_an_unknown_controller_stand_for_it() -> None:
    found = audited(world.NODES + pod("a", "node-a", "Fleet/sea") + pod("b", "node-b", "Fleet/sea"))

    ((version, subject, origin, *_),) = found.audited
    assert (version, str(subject), origin) == ("apps/v1", "Fleet/sea", None)
    assert sum(group.number for group in subject.running) == 2


SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: db}
spec:
  minReplicas: 2
  maxReplicas: 7
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}
"""
QUEUE = """\
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: db, namespace: shop}
spec: {scaleTargetRef: {kind: StatefulSet, name: db}}
"""

SCALED = {
    "an autoscaler of the namespace": (
        SCALER.replace("{name: db}", "{name: db, namespace: shop}", 1),
        ReplicaRange(2, 7, "HorizontalPodAutoscaler/db"),
    ),
    "one of version 1": (
        SCALER.replace("{name: db}", "{name: db, namespace: shop}", 1).replace("/v2", "/v1"),
        ReplicaRange(2, 7, "HorizontalPodAutoscaler/db"),
    ),
    "one of KEDA": (QUEUE, ReplicaRange(0, 100, "ScaledObject/db")),
    "one of another namespace": (SCALER, None),
    "one of another kind": (QUEUE.replace("kind: StatefulSet, ", ""), None),
    "none": ("", None),
}


@pytest.mark.parametrize(("text", "scaling"), SCALED.values(), ids=SCALED.keys())
@pytest.mark.parametrize("is_neighbour", [False, True])
def test_a_workload_has_the_range_of_its_autoscaler(
    text: str, scaling: ReplicaRange | None, is_neighbour: bool
) -> None:
    (*_, database) = (audited(LIVE, text) if is_neighbour else audited(LIVE + text)).audited

    assert (str(database.subject), database.subject.scaling) == ("StatefulSet/db", scaling)


POD_GROUP = """\
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers, namespace: shop}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  schedulingConstraints: {topology: [{key: rack}]}
"""
GANG = LIVE.replace("    spec:\n", "    spec:\n      schedulingGroup: {podGroupName: workers}\n")
KNOWN_GROUP = PodGroup(namespace="shop", name="workers", keys=("rack",))

GROUPS = {
    "the group of the pods": (POD_GROUP, KNOWN_GROUP),
    "one of another name": (POD_GROUP.replace("workers", "others"), None),
    "one of another namespace": (POD_GROUP.replace("shop", "else"), None),
    "none": ("", None),
}


@pytest.mark.parametrize(("text", "group"), GROUPS.values(), ids=GROUPS.keys())
@pytest.mark.parametrize("is_neighbour", [False, True])
def test_a_workload_has_the_pod_group_of_its_pods(
    text: str, group: PodGroup | None, is_neighbour: bool
) -> None:
    found = audited(GANG, text) if is_neighbour else audited(GANG + text)

    groups = {item.subject.group for item in found.audited if group_name(item.subject.pod)}
    assert groups == {group}


def test_pods_of_no_gang_have_no_group() -> None:
    assert {item.subject.group for item in audited(LIVE + POD_GROUP).audited} == {None}


def test_the_state_of_the_cluster_has_its_storage_classes() -> None:
    text = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n"

    assert list(audited(text).state.storage_classes) == ["fast"]


def test_static_pods_are_counted_and_not_audited() -> None:
    found = audited(world.NODES + pod("a", "node-a", "Node/node-a").replace("apps/v1", "v1"))

    assert found.audited == []


def test_neighbours_are_counted_and_not_audited() -> None:
    found = audited(world.DEPLOYMENT, world.NODES + world.REPLICA_SET + world.RUNNING + world.BARE)

    assert names(found) == ["Deployment/web"]
    assert found.pods == 4
    assert len(found.state.topology.nodes) == 3


def test_a_chain_of_owners_that_is_a_ring_ends() -> None:
    ring = world.DEPLOYMENT.replace(
        "namespace: shop}",
        "namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, "
        "controller: true}]}",
    )

    assert audited(ring + world.REPLICA_SET + world.RUNNING).state.topology.nodes == ()


def test_templates_of_manifests_stand_for_their_pods() -> None:
    members = audited(world.DEPLOYMENT + world.BARE).state.members
    selector = gather(world.REPLICA_SET).snapshot.owners[0].selector

    assert members.count("shop", selector) == {}
    assert selector is not None
    del selector.match_labels["pod-template-hash"]
    assert members.count("shop", selector) == {"Deployment/web": 4}


NEW = """\
---
apiVersion: %s
kind: %s
metadata: {name: new, namespace: shop}
spec: {%s, template: {metadata: {labels: {app: new}}, spec: {}}}
"""


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        (NEW % ("apps/v1", "Deployment", "replicas: 2"), {"Deployment/new": 2}),
        (NEW % ("apps/v1", "Deployment", "replicas: 0"), {}),
        (NEW % ("batch/v1", "Job", "parallelism: 2"), {}),
    ],
    ids=["a Deployment", "a Deployment without replicas", "a Job, which may have ended"],
)
def test_beside_running_pods_manifests_count_if_they_have_none(
    text: str, counted: dict[str, int]
) -> None:
    running = count_members(audited(LIVE))

    assert running
    found = audited(LIVE + text)
    assert count_members(found) == running | counted
    assert len(found.state.list_members("shop", SELECTOR)) == len(running) + 1


def test_facts_of_the_snapshot_are_in_the_cluster() -> None:
    facts = (
        "---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {a: b}}}\n"
        "---\n{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop},"
        " spec: {selector: {app: web}}}\n"
    )

    cluster = audited(world.LIVE + facts).cluster

    assert (cluster.namespace_labels("shop") or {})["a"] == "b"
    assert [service.name for service in cluster.services("shop", {"app": "web"})] == ["web"]
    owner = OwnerReference("apps/v1", "ReplicaSet", "web-1", controller=True)
    assert cluster.owner_selector("shop", owner) is not None


def test_the_parts_of_a_cluster_share_its_nodes() -> None:
    whole = audited(world.NODES)
    snapshot = gather(world.DEPLOYMENT + world.REPLICA_SET + world.RUNNING).snapshot

    part = Inventory(snapshot, world.CONFIGURATION.owner_selectors, whole=whole)

    assert part.cluster.node_store is whole.cluster.node_store
    assert len(part.state.topology.nodes) == 3
    assert part.pods == 4


PENDING = {
    "pods without a node": world.pod("a", ""),
    "a workload without pods": world.BARE.replace("replicas: 3", "replicas: 0"),
}


@pytest.mark.parametrize("text", PENDING.values(), ids=PENDING)
def test_what_no_node_runs_is_not_counted(text: str) -> None:
    found = audited(world.REPLICA_SET.replace("replicas: 4", "replicas: 0") + text)

    assert count_members(found) == {}


def test_owners_that_the_configuration_does_not_name_are_left_out() -> None:
    snapshot = gather(world.REPLICA_SET).snapshot
    snapshot.owners[:] = [replace(snapshot.owners[0], api_version="example.com/v1", kind="Fleet")]

    cluster = inventory(snapshot).cluster

    assert cluster.owner_store("example.com/v1", "Fleet") is None


def test_the_pods_of_a_job_set_are_shared_among_its_templates() -> None:
    pods = customs.job_pod("a", "driver") + customs.job_pod("b", "workers")

    found = audited(world.NODES + customs.JOB_SET + pods)

    parts = [(item.subject.part, item.subject.replicas, running(item)) for item in found.audited]
    assert parts == [("driver", 1, 1), ("workers", 6, 1)]
    assert found.pods == 2


def running(item: AuditSubject) -> int:
    """The number of running pods of a subject."""
    return sum(group.number for group in item.subject.running)


def test_the_same_object_in_two_files_has_the_same_pods() -> None:
    found = audited(LIVE + world.DEPLOYMENT)

    assert [running(item) for item in found.audited] == [4, 4, 0]


def test_a_bare_list_owns_no_pods() -> None:
    text = world.NODES + customs.CLUSTER + world.pod("db-1", "node-a", "Cluster/db")
    text = text.replace(
        '"apiVersion":"apps/v1","kind":"Cluster"',
        '"apiVersion":"postgresql.cnpg.io/v1","kind":"Cluster"',
    )
    collector = gather(text, configuration=customs.WITH_LISTS)

    found = inventory(collector.snapshot)

    assert names(found) == ["Cluster/db", "Cluster/db"]
    assert [(running(item), item.subject.is_bare) for item in found.audited] == [
        (1, False),
        (0, True),
    ]


def test_the_autoscaler_of_a_rollout_scales_the_pods_of_the_template_that_it_refers_to() -> None:
    rollout = """\
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: front, namespace: shop}
spec: {replicas: 4, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""
    queue = QUEUE.replace("{kind: StatefulSet, name: db}", "{ROLLOUT}").replace(
        "ROLLOUT", "apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: front"
    )

    subjects = {str(item.subject): item.subject for item in audited(LIVE + rollout + queue).audited}

    assert subjects["Deployment/web"].scaling == ReplicaRange(0, 100, "ScaledObject/db")


def test_a_bare_list_of_facts_is_not_audited() -> None:
    collector = gather("", neighbours=customs.CLUSTER, configuration=customs.WITH_LISTS)

    assert inventory(collector.snapshot).audited == []


@pytest.mark.parametrize(("phase", "audited"), [("Succeeded", 0), ("Failed", 0), ("Running", 1)])
def test_a_pod_that_has_ended_is_not_audited(phase: str, audited: int) -> None:
    text = f"{world.STORED_POD}status: {{phase: {phase}}}\n"

    found = inventory(gather(text).snapshot)

    assert (len(found.audited), found.pods) == (audited, audited)


def test_the_newest_replica_set_shows_the_revision() -> None:
    numbered = world.REPLICA_SET.replace(
        "name: web-1\n", "name: web-1\n  annotations: {deployment.kubernetes.io/revision: '1'}\n"
    )

    found = inventory(gather(world.DEPLOYMENT + numbered).snapshot)

    (audited,) = found.audited
    assert audited.subject.revision == {"pod-template-hash": "h1"}


EXCEPTION = """\
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: legacy, namespace: shop}
spec: {defaults: true, reason: old, expires: "2027-01-31T00:00:00Z"}
"""


def test_exceptions_expire_by_the_time_that_is_set() -> None:
    found = audited(EXCEPTION)

    assert [one.name for one in found.exceptions] == ["legacy"]
    assert found.cluster.exceptions("shop") == []
    found.set_time(datetime(2027, 1, 1, tzinfo=UTC))
    assert [one.name for one in found.cluster.exceptions("shop")] == ["legacy"]
