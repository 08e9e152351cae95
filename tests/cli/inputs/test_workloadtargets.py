from itertools import islice
from typing import Any

import pytest

from tests.cli.inputs.manifestclusters import cluster_of_text
from tests.cli.inputs.targetcases import (
    ENDING,
    JOB_SET,
    NODES,
    NOW,
    PLAIN,
    POD,
    PODS,
    REVISION,
    TEMPLATES,
    WEB,
    build,
)
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.cli.inputs.storagescope import UNKNOWN_CLAIMS
from webhook.cli.inputs.subjects import find
from webhook.cli.inputs.targets import TargetBuilder
from webhook.explain.daemons import DaemonPods
from webhook.explain.endingpods import EndingPods
from webhook.explain.nodeedits import AddNodes
from webhook.explain.removal import RemovalOrder
from webhook.policy.model import LabelSelector
from webhook.policy.podlabels import COMPLETION_INDEX


@pytest.mark.parametrize("owned", [True, False])
def test_the_old_pods_of_a_rollout_are_those_of_the_present_revision(owned: bool) -> None:
    replica_set = REVISION % ("h1", "1", "web") if owned else ""

    plan = build("deploy/web", f"{WEB}{replica_set}{PODS}", rolls_out=True).rollout

    assert plan is not None
    old, new = plan.revisions.old(0).pod.labels, plan.revisions.new(0).pod.labels
    assert (old.get("pod-template-hash"), new["pod-template-hash"]) == ("h1", "new")


def test_a_paused_deployment_has_a_next_pod_for_each_of_its_replica_sets() -> None:
    web = WEB.replace("replicas: 4", "paused: true, replicas: 4")
    sets = [
        (REVISION % (name, number, "web"))
        .replace("spec: {", "spec: {replicas: 2, ", 1)
        .replace("pod-template-hash: h1", f"pod-template-hash: {name}")
        for name, number in (("h1", 1), ("h2", 2))
    ]

    pods = build("deploy/web", f"{web}{''.join(sets)}{PODS}").pods

    assert pods is not None
    found = [(one.name, one.size, one.pod.pod.labels["pod-template-hash"]) for one in pods.sets]
    assert found == [("web-h2", 2, "h2"), ("web-h1", 2, "h1")]


def test_a_rollout_is_read_on_request() -> None:
    assert build("deploy/web", WEB + PODS).rollout is None


@pytest.mark.parametrize(("rolls_out", "names"), [(True, ["web-2"]), (False, [])])
def test_what_pending_pods_require_is_read_for_a_rollout(rolls_out: bool, names: list[str]) -> None:
    pending = (POD % "web-2").replace("nodeName: n1", "")
    pods = build("deploy/web", f"{WEB}{POD % 'web-1'}{pending}", rolls_out=rolls_out).pods

    assert pods is not None
    assert list(pods.pending) == names


def test_the_next_pod_of_a_workload_counts_the_running_ones() -> None:
    target = build("deploy/web", WEB + PODS)

    assert (target.subject, target.runs_on) == ("the next pod of Deployment shop/web", "")
    assert (target.replicas, target.running) == (4, {"n1": 2})


def test_a_workload_that_has_no_replica_sets_is_its_own_owner() -> None:
    target = build("sts/web", WEB.replace("kind: Deployment", "kind: StatefulSet"))

    assert target.situation.pod.labels["app"] == "web"


@pytest.mark.parametrize(("policy", "parallel"), [("OrderedReady", False), ("Parallel", True)])
def test_new_pods_of_a_stateful_set_follow_its_ordinals(policy: str, parallel: bool) -> None:
    text = WEB.replace("kind: Deployment", "kind: StatefulSet").replace(
        "replicas: 4", f"podManagementPolicy: {policy}, ordinals: {{start: 5}}"
    )

    pods = build("sts/web", text).pods

    assert pods is not None
    assert pods.succession.is_parallel == parallel
    first = next(pods.succession.follow(build("sts/web", text).situation))[1].pod.labels
    assert first["statefulset.kubernetes.io/pod-name"] == "web-5"
    assert first["apps.kubernetes.io/pod-index"] == "5"


def test_a_job_has_as_many_replicas_as_its_controller_wants() -> None:
    spec = "parallelism: 4, completions: 9, template"
    job = WEB.replace("apps/v1\nkind: Deployment", "batch/v1\nkind: Job").replace(
        "containers: []", "containers: [{name: c}]"
    )
    failed = "status: {conditions: [{type: Failed, status: 'True'}]}\n---\n"
    ended = job.removesuffix("---\n") + failed

    assert build("job/web", job.replace("template", spec)).replicas == 4
    assert build("job/web", ended).replicas == 0
    assert build("job/web", ended).terms.closed == "the Job has ended (Failed)"


@pytest.mark.parametrize(("key", "order"), [(COMPLETION_INDEX, RemovalOrder.INDEX), ("x", None)])
def test_the_pods_of_an_indexed_job_have_indexes_if_its_constraints_name_them(
    key: str, order: RemovalOrder | None
) -> None:
    spread = (
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, "
        f"whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [{key}]}}]"
    )
    job = (
        WEB.replace("apps/v1\nkind: Deployment", "batch/v1\nkind: Job")
        .replace("replicas: 4", "completions: 4, completionMode: Indexed")
        .replace("containers: []", f"containers: [{{name: c}}], {spread}")
    )

    pods = build("job/web", job).pods

    assert (pods and pods.order) == order


def test_a_workload_without_a_number_of_replicas_has_one() -> None:
    assert build("deploy/web", WEB.replace("replicas: 4, ", "")).replicas == 1


def test_a_workload_without_a_selector_counts_pods_by_the_labels_of_its_template() -> None:
    without = WEB.replace("selector: {matchLabels: {app: web}}, ", "")

    assert build("deploy/web", without + PODS).running == {"n1": 2}


def test_a_daemon_set_has_its_pods_by_node_and_tolerates_cordons() -> None:
    pods = PODS.replace("kind: ReplicaSet, name: web-h1", "kind: DaemonSet, name: web")
    target = build("ds/web", WEB.replace("kind: Deployment", "kind: DaemonSet") + pods)

    assert (target.subject, target.name) == ("DaemonSet shop/web", "DaemonSet shop/web")
    assert target.daemon == DaemonPods({"n1": "web-1"})
    assert (target.pods, target.running) == (None, {"n1": 2})
    tolerations = target.situation.pod.demands.tolerations or ()
    assert "node.kubernetes.io/unschedulable" in {item.key for item in tolerations}


def test_new_nodes_have_the_pods_of_all_daemon_sets_but_that_which_is_explained() -> None:
    own = PODS.replace("kind: ReplicaSet, name: web-h1", "kind: DaemonSet, name: web")
    other = own.replace("name: web-", "name: agent-").replace("app: web", "app: agent")
    room = "spec: {}\nstatus: {allocatable: {pods: '9'}}\n---\n"
    text = WEB.replace("kind: Deployment", "kind: DaemonSet") + own + other
    cluster = cluster_of_text(NODES.replace("---\n", room) + text)
    builder = TargetBuilder(PLAIN, cluster, TargetOptions(now=NOW), replaces=False)
    (found,) = find("ds/web", "shop", TEMPLATES, cluster)

    target = builder.build(found)

    for scenario in (target.situation, target.present):
        added = AddNodes({}, like="n1").apply(scenario)
        assert added.census.count("shop", LabelSelector({"app": "web"})) == {"n1": 2}
        assert added.census.count("shop", LabelSelector({"app": "agent"})) == {"n1": 2, "new-1": 2}


def test_pods_of_a_workload_have_what_decides_on_their_removal() -> None:
    target = build("deploy/web", WEB + PODS)

    assert target.pods is not None
    assert [pod.metadata.name for pod in target.pods.pods] == ["web-1", "web-2"]
    assert target.pods.now == NOW


STATEFUL_SET = WEB.replace("kind: Deployment", "kind: StatefulSet").replace(
    "{replicas: 4,", "{replicas: 2, volumeClaimTemplates: [{metadata: {name: data}}],"
)
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data-web-%s
  namespace: shop
  annotations: {pv.kubernetes.io/bind-completed: "yes"}
spec: {volumeName: pv}
---
"""
VOLUME = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv, labels: {topology.kubernetes.io/zone: a}}
---
"""
CLAIMS = "".join(CLAIM % ordinal for ordinal in (0, 1, 2)) + VOLUME

# what is simulated, whether the volume of a pod is not considered
SIMULATED: dict[str, tuple[dict[str, Any], bool]] = {
    "the next pod": ({}, False),
    "missing pods": ({"simulates": True}, False),
    "more pods": ({"simulates": True, "scale": 3}, True),
}


@pytest.mark.parametrize(("options", "is_named"), SIMULATED.values(), ids=SIMULATED)
def test_the_claims_of_pods_that_are_placed_are_named_if_they_do_not_exist(
    options: dict[str, Any], is_named: bool
) -> None:
    target = build("sts/web", STATEFUL_SET + CLAIMS, **options)

    assert [volume.name for volume in target.situation.pod.volumes] == ["data-web-0"]
    assert (UNKNOWN_CLAIMS in target.caveats) is is_named


def test_the_new_pods_of_a_stateful_set_have_the_claims_of_their_ordinals() -> None:
    target = build("sts/web", STATEFUL_SET + CLAIMS, rolls_out=True)

    assert target.pods is not None
    assert target.pods.succession.build is not None
    assert target.rollout is not None
    builds = (
        target.pods.succession.build,
        target.rollout.revisions.old,
        target.rollout.revisions.new,
    )
    for build_pod in builds:
        names = [[one.name for one in build_pod(at).pod.volumes] for at in range(4)]
        assert names == [["data-web-0"], ["data-web-1"], ["data-web-2"], []]
    assert target.rollout.notes == ()


def test_the_volumes_of_a_rollout_may_be_unknown() -> None:
    target = build("sts/web", STATEFUL_SET, rolls_out=True)

    assert target.rollout is not None
    assert len(target.rollout.notes) == 1


def test_the_revision_below_a_partition_may_be_unknown() -> None:
    text = WEB.replace("kind: Deployment", "kind: StatefulSet").replace(
        "replicas: 4,", "replicas: 4, updateStrategy: {rollingUpdate: {partition: 2}},"
    )
    status = "status: {currentRevision: web-1, updateRevision: web-2}\n---\n"

    target = build("sts/web", text.removesuffix("---\n") + status)

    assert (target.terms.revision, target.unknown) == ("web-1", "web-1")


def test_new_pods_of_a_job_set_have_the_labels_of_their_jobs() -> None:
    target = build("jobset/js", JOB_SET)

    assert target.pods is not None
    upcoming = target.pods.succession.follow(target.situation)
    named = [(at, one.pod.labels["job-name"]) for at, one in islice(upcoming, 3)]
    assert named == [(1, "js-w-0"), (2, "js-w-1"), (3, "js-w-1")]


@pytest.mark.parametrize("simulates", [False, True])
def test_the_next_pod_of_a_job_awaits_one_of_the_ends(*, simulates: bool) -> None:
    job = WEB.replace("apps/v1\nkind: Deployment", "batch/v1\nkind: Job").replace(
        "replicas: 4", "parallelism: 2, podReplacementPolicy: Failed"
    )
    pods = (ENDING + ENDING.replace("web-3", "web-4")).replace(
        "kind: ReplicaSet, name: web-h1", "kind: Job, name: web"
    )

    target = build(
        "job/web",
        job.replace("containers: []", "containers: [{name: c}]") + pods,
        simulates=simulates,
    )

    assert target.replicas == 2
    assert target.terms.ending == EndingPods(("web-3", "web-4"), enough=1)


@pytest.mark.parametrize(("simulates", "present"), [(False, 3), (True, 2)])
def test_a_what_if_supposes_the_end_of_pods_that_are_being_deleted(
    simulates: bool, present: int
) -> None:
    target = build("deploy/web", WEB + PODS + ENDING, simulates=simulates)

    assert target.situation.cluster.usage("n1").pods == present
    assert target.terms.ending.simulated == (("web-3",) if simulates else ())


def test_a_daemon_set_awaits_the_end_of_its_pods() -> None:
    daemons = WEB.replace("kind: Deployment", "kind: DaemonSet")
    ending = ENDING.replace("kind: ReplicaSet, name: web-h1", "kind: DaemonSet, name: web")

    target = build("ds/web", daemons + ending)

    assert target.situation.cluster.usage("n1").pods == 0
    assert target.terms.ending.awaited == ("web-3",)
