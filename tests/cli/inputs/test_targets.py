from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.inputs.manifestclusters import cluster_of_text, documents
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.inputs.schedulingscope import NODE_RESOURCES
from webhook.cli.inputs.storagescope import UNKNOWN_CLAIMS
from webhook.cli.inputs.subjects import find, find_in_manifests
from webhook.cli.inputs.targets import PlacementTarget, TargetBuilder
from webhook.explain.caveats import ALWAYS_IGNORED, NEW_VOLUMES
from webhook.explain.daemons import DaemonPods
from webhook.explain.nodeedits import AddNodes
from webhook.policy.firstlabels import HASH
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.model import LabelSelector

NODES = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: n1}}
---
"""
TEMPLATE = "{metadata: {labels: {app: web}}, spec: {containers: []}}"
HASHED = "{metadata: {labels: {app: web, pod-template-hash: h1}}, spec: {containers: []}}"
WEB = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec: {{replicas: 4, selector: {{matchLabels: {{app: web}}}}, template: {TEMPLATE}}}
---
"""
REVISION = f"""\
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-%s
  namespace: shop
  annotations: {{deployment.kubernetes.io/revision: "%s"}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: %s, controller: true}}]
spec: {{selector: {{matchLabels: {{app: web}}}}, template: {HASHED}}}
---
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: %s
  namespace: shop
  labels: {app: web, pod-template-hash: h1}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-h1, controller: true}]
spec: {nodeName: n1}
---
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}}
"""
PODS = POD % "web-1" + POD % "web-2"
CONFIG = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: zones
  defaultConstraints:
  - {maxSkew: 7, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
"""
SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: PodTopologySpreadArgs
defaultingType: List
defaultConstraints:
- {maxSkew: 9, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
"""


NOW = 1_800_000_000.0
TEMPLATES = {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES}

read_defaults = partial(read_policy, kube_version="", allow_locked_gates=True)
PLAIN = read_defaults(feature_gates="", config="")


@pytest.fixture
def configured(folder: Path) -> RequestedPolicy:
    """The policy of CONFIG."""
    (folder / "config.yaml").write_text(CONFIG)
    return read_defaults(feature_gates="", config="config.yaml")


def build(
    subject: str,
    text: str,
    policy: RequestedPolicy = PLAIN,
    *,
    replaces: bool = False,
    **options: Any,
) -> PlacementTarget:
    """Build the target of an object of this cluster."""
    cluster = cluster_of_text(NODES + text)
    builder = TargetBuilder(policy, cluster, replaces=replaces, now=NOW, **options)
    (found,) = find(subject, "shop", TEMPLATES, cluster)
    return builder.build(found)


def skews(target: PlacementTarget) -> list[int]:
    spreads = target.situation.spreads
    return [constraint.max_skew for constraint in (*spreads.hard, *spreads.soft)]


def test_a_pod_is_placed_without_itself() -> None:
    target = build("web-1", WEB + PODS)

    assert (target.subject, target.runs_on) == ("Pod shop/web-1", "n1")
    assert (target.replicas, target.running) == (2, {"n1": 2})
    census = target.situation.census, target.present.census
    assert [one.count("shop", LabelSelector({"app": "web"})) for one in census] == [
        {"n1": 1}, {"n1": 2}
    ]  # fmt: skip


@pytest.mark.parametrize("owned", [True, False])
def test_the_old_pods_of_a_rollout_are_those_of_the_present_revision(owned: bool) -> None:
    replica_set = REVISION % ("h1", "1", "web") if owned else ""

    plan = build("deploy/web", f"{WEB}{replica_set}{PODS}", rolls_out=True).rollout

    assert plan is not None
    old, new = plan.revisions.old(0).pod.labels, plan.revisions.new(0).pod.labels
    assert (old.get("pod-template-hash"), new["pod-template-hash"]) == ("h1", "new")


def test_a_rollout_is_read_on_request() -> None:
    assert build("deploy/web", WEB + PODS).rollout is None


def test_a_pod_without_labels_has_no_others_like_it() -> None:
    target = build("web-1", PODS.replace("  labels: {app: web, pod-template-hash: h1}\n", ""))

    assert (target.replicas, target.running) == (1, {"n1": 1})


# changes of the pod web-1, number of pods like it that run
ABSENT = {
    "Pending": ("spec: {nodeName: n1}", "spec: {}"),
    "finished": ("spec: {nodeName: n1}", "spec: {nodeName: n1}\nstatus: {phase: Failed}"),
}


@pytest.mark.parametrize(("old", "new"), ABSENT.values(), ids=ABSENT.keys())
def test_a_pod_that_does_not_count_on_a_node_is_missing(old: str, new: str) -> None:
    target = build("web-1", (POD % "web-1").replace(old, new) + POD % "web-2")

    assert (target.replicas, target.running) == (2, {"n1": 1})


def test_a_pod_without_a_spec_runs_nowhere() -> None:
    assert build("web-1", PODS.replace("spec: {nodeName: n1}\n", "")).runs_on == ""


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


def test_a_workload_without_a_number_of_replicas_has_one() -> None:
    assert build("deploy/web", WEB.replace("replicas: 4, ", "")).replicas == 1


def test_a_workload_without_a_selector_counts_pods_by_the_labels_of_its_template() -> None:
    without = WEB.replace("selector: {matchLabels: {app: web}}, ", "")

    assert build("deploy/web", without + PODS).running == {"n1": 2}


# ReplicaSets, hash in the labels of the next pod
REVISIONS: dict[str, tuple[str, str]] = {
    "no ReplicaSet yet": ("", HASH),
    "a ReplicaSet with the same template": (REVISION % ("h1", 1, "web"), "h1"),
    "a ReplicaSet of another Deployment": (REVISION % ("h1", 1, "other"), HASH),
    "a ReplicaSet with another template": (
        (REVISION % ("h1", 1, "web")).replace("containers: []", "containers: [], nodeName: x"),
        HASH,
    ),
    "the newest of two": (
        REVISION % ("h1", 1, "web")
        + (REVISION % ("h2", 2, "web")).replace("pod-template-hash: h1", "pod-template-hash: h2"),
        "h2",
    ),
}


@pytest.mark.parametrize(("text", "label"), REVISIONS.values(), ids=REVISIONS.keys())
def test_the_next_pod_is_one_of_the_newest_replica_set(text: str, label: str) -> None:
    incoming = build("deploy/web", WEB + text).situation.pod

    assert incoming.labels.get("pod-template-hash") == label


# gates, option, its file, maxSkew of the constraints in force
CONSTRAINTS = {
    "the defaults of kube-scheduler": ("", "", "", [3, 5]),
    "no defaults without their gate": ("DefaultPodTopologySpread=false", "", "", []),
    "the defaults of our webhook": ("", "config", CONFIG, [7]),
    "a configuration of kube-scheduler": ("", "scheduler_config", SCHEDULER, [9]),
}


@pytest.mark.parametrize(
    ("gates", "option", "text", "expected"), CONSTRAINTS.values(), ids=CONSTRAINTS.keys()
)
def test_defaults_come_from_the_configuration(
    gates: str, option: str, text: str, expected: list[int], folder: Path
) -> None:
    (folder / "file.yaml").write_text(text)
    config, scheduler_config = (
        "file.yaml" if option == name else "" for name in ("config", "scheduler_config")
    )
    policy = read_defaults(feature_gates=gates, config=config, scheduler_config=scheduler_config)

    target = build("deploy/web", WEB, policy, replaces=bool(scheduler_config))

    assert skews(target) == expected


def test_a_scheduler_configuration_without_profiles_has_no_defaults() -> None:
    assert skews(build("deploy/web", WEB, PLAIN, replaces=True)) == []


def test_our_webhook_does_not_patch_pods_that_exist(configured: RequestedPolicy) -> None:
    # without a Service, kube-scheduler has no defaults for them either
    assert skews(build("web-1", PODS, configured)) == []


def test_our_webhook_patches_a_pod_of_a_manifest(configured: RequestedPolicy) -> None:
    cluster = cluster_of_text(NODES + SERVICE)
    pod = next(find_in_manifests(documents(POD % "web-3"), "", "shop", BUILT_IN_TEMPLATES))
    unbound = replace(pod, value={**pod.value, "spec": {}})

    target = TargetBuilder(configured, cluster, replaces=False, now=NOW).build(unbound)

    assert skews(target) == [7]


@pytest.mark.parametrize(("written", "keeps"), [("KeepSpread", True), ("None", False)])
def test_the_profile_of_a_workload_may_keep_its_spread(
    written: str, keeps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ranks.yaml").write_text(f"{CONFIG}  scaleDown: {written}\n")
    policy = read_defaults(feature_gates="", config="ranks.yaml")

    assert build("deploy/web", WEB, policy).keeps_spread is keeps
    assert not build("deploy/web", WEB).keeps_spread


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
    builder = TargetBuilder(PLAIN, cluster, replaces=False, now=NOW)
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


def test_what_the_pod_uses_is_a_caveat() -> None:
    claims = WEB.replace("kind: Deployment", "kind: StatefulSet").replace(
        "{replicas: 4,", "{replicas: 4, volumeClaimTemplates: [{metadata: {name: data}}],"
    )

    assert build("deploy/web", WEB).caveats == (*ALWAYS_IGNORED, NODE_RESOURCES)
    assert build("sts/web", claims).caveats == (*ALWAYS_IGNORED, NODE_RESOURCES, UNKNOWN_CLAIMS)


def test_volumes_of_other_kinds_with_claim_templates_are_new() -> None:
    clone_set = WEB.replace("apps/v1", "apps.kruise.io/v1alpha1").replace(
        "kind: Deployment", "kind: CloneSet"
    )
    claims = clone_set.replace("{replicas: 4,", "{volumeClaimTemplates: [{metadata: {name: d}}],")

    assert build("cloneset/web", claims).caveats == (*ALWAYS_IGNORED, NEW_VOLUMES, NODE_RESOURCES)


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
