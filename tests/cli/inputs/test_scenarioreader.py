from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.inputs.manifestclusters import cluster_of_text, documents
from tests.cli.inputs.targetcases import (
    ENDING,
    NODES,
    NOW,
    PLAIN,
    POD,
    PODS,
    REVISION,
    SERVICE,
    TEMPLATES,
    WEB,
    build,
    read_defaults,
)
from webhook.cli.inputs.placementtargets import PlacementTarget, TargetOptions
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.inputs.revisions import find_revision
from webhook.cli.inputs.scenarioreader import ScenarioReader, create_unadmitted
from webhook.cli.inputs.storagescope import NO_CLAIMS
from webhook.cli.inputs.subjects import find, find_in_manifests
from webhook.cli.inputs.targets import TargetBuilder
from webhook.cluster.scheduling.podobjects import ApiPod, UniqueMeta
from webhook.config.policyobjects import check_spread_policy
from webhook.config.spreadpolicies import add_policies
from webhook.explain.endingpods import EndingPods
from webhook.policy.defaulting.forecast import ForecastFacts
from webhook.policy.firstlabels import HASH
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.kinds import POD as POD_KIND

CONFIG = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: zones
  defaultConstraints:
  - {maxSkew: 7, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
"""
ZONES = {"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: PodTopologySpreadArgs
defaultingType: List
defaultConstraints:
- {maxSkew: 9, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
"""


@pytest.mark.parametrize(("revision", "is_foreseen"), [("", True), (REVISION, False)])
def test_a_pod_before_its_admission_has_no_defaults(revision: str, is_foreseen: bool) -> None:
    text = WEB + (revision % ("h1", 1, "web") if revision else "")
    cluster = cluster_of_text(NODES + text)
    (subject,) = find("deploy/web", "shop", TEMPLATES, cluster)
    known = cluster.facts("shop")

    pod, facts = create_unadmitted(find_revision(subject, cluster), (), known)

    assert not pod.constraints
    assert pod.labels["app"] == "web"
    assert isinstance(facts, ForecastFacts) is is_foreseen


@pytest.mark.parametrize("written", ["true", "false", "null"])
def test_a_scenario_knows_whether_ports_are_host_ports_by_host_network(written: str) -> None:
    pod = WEB.replace("containers: []", f"hostNetwork: {written}, containers: []")

    assert build("deploy/web", pod).situation.host_network == (written == "true")


@pytest.fixture
def configured(folder: Path) -> RequestedPolicy:
    """The policy of CONFIG."""
    (folder / "config.yaml").write_text(CONFIG)
    return read_defaults(feature_gates="", config="config.yaml")


def skews(target: PlacementTarget) -> list[int]:
    spreads = target.situation.spreads
    return [constraint.max_skew for constraint in (*spreads.hard, *spreads.soft)]


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

    target = TargetBuilder(configured, cluster, TargetOptions(now=NOW), replaces=False).build(
        unbound
    )

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


def test_the_new_pods_of_a_rollout_have_constraints_of_their_own() -> None:
    plan = build("deploy/web", WEB + SERVICE, rolls_out=True).rollout

    assert plan is not None
    foreseen = plan.revisions.new(0)
    assert foreseen.pod.labels == {"app": "web", "pod-template-hash": "new"}
    assert [spread.max_skew for spread in foreseen.spreads.soft] == [3, 5]


def test_spread_policies_alone_have_a_server_too() -> None:
    policy = check_spread_policy(
        {
            "apiVersion": "evenspread.io/v1alpha1",
            "kind": "SpreadPolicy",
            "metadata": {"name": "zones"},
            "spec": {"defaultConstraints": [{**ZONES, "maxSkew": 6}]},
        }
    )
    configuration = add_policies(PLAIN.configuration, {"zones": policy})

    target = build("deploy/web", WEB, PLAIN._replace(configuration=configuration))

    assert skews(target) == [6]


def test_pods_that_are_being_deleted_have_ended_before_a_new_pod() -> None:
    reader = ScenarioReader(PLAIN, cluster_of_text(NODES + PODS + ENDING), replaces=False)
    scope = reader.read_scope(ApiPod(UniqueMeta(namespace="shop")), "shop")

    same, none = reader.end_pods(scope)
    cluster, names = reader.end_pods(scope, ["web-3"])

    assert (same, none) == (scope.present, EndingPods())
    assert (cluster.usage("n1").pods, names) == (2, EndingPods(("web-3",)))


def test_a_stored_pod_has_its_own_labels() -> None:
    cluster = cluster_of_text(NODES + POD % "web-1")
    (stored,) = cluster.decode_objects(POD_KIND, ApiPod, "shop")

    found = ScenarioReader(PLAIN, cluster, replaces=False).read_stored(stored, "shop")

    assert found.pod.labels == {"app": "web", "pod-template-hash": "h1"}


def test_what_a_pending_pod_requires_has_its_labels_and_not_its_name() -> None:
    metadata = UniqueMeta(name="web-9", namespace="shop", uid="u", labels={"revision": "old"})
    reader = ScenarioReader(PLAIN, cluster_of_text(NODES), replaces=False)

    found = reader.read_pending(ApiPod(metadata), "shop", NO_CLAIMS)

    assert (found.pod.name, found.pod.uid) == ("", "")
    assert found.pod.labels == {"revision": "old"}
    assert not found.spreads.hard
