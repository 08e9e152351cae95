"""The changes that are found equal what the server does under each policy."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apiserver import ApiServer, refuse
from tests.build import default, job_set, policy, profile, selector
from tests.cli.inputs.manifestclusters import cluster_of, workload
from webhook.admission.created_pods import build_created_pod
from webhook.admission.offline import answer_in_turn, build_creation
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.cluster import ClusterReader, open_cluster
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.inputs.policychange import PolicyChange
from webhook.cli.policycomparison import PolicyComparison
from webhook.cli.workloadchanges import WorkloadChange
from webhook.cluster.manifests import fill
from webhook.config.configuration import Configuration
from webhook.errors import ApiError
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import HOSTNAME, ZONE, LabelSelector, LabelSelectorRequirement
from webhook.policy.request import Hook
from webhook.policy.rule_entry import Action

GATES = policy().gates
SELECT_WEB = LabelSelector(
    match_expressions=(LabelSelectorRequirement(key="app", operator="In", values=("web",)),)
)


def named(name: str, kind: str = "Deployment", version: str = "apps/v1", **spec: Any) -> Any:
    """A workload of ``shop``, whose pods are labelled with its name."""
    obj = workload(kind, version, **spec)
    labels = {"app": name}
    obj["metadata"] = {"name": name, "namespace": "shop", "labels": labels}
    obj["spec"]["selector"] = {"matchLabels": labels}
    obj["spec"]["template"]["metadata"]["labels"] = labels
    return obj


def bare(name: str, **metadata: Any) -> Any:
    known = {"name": name, "namespace": "shop", "labels": {"app": name}, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": known, "spec": {"containers": []}}


def service(name: str, **pairs: str) -> Any:
    known = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": known, "spec": {"selector": pairs}}


def node(name: str, **labels: str) -> Any:
    known = {HOSTNAME: name, ZONE: name, **labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": known}}


def requested(*profiles: Profile) -> RequestedPolicy:
    return RequestedPolicy(Configuration(profiles=profiles), GATES)


SOFT = profile(name="soft", constraints=(default(),))
HARD = default(when_unsatisfiable="DoNotSchedule", topology_key="rack")
RACKS = profile(name="racks", constraints=(HARD,), object_selector=selector(app="web"))
CHANGE = PolicyChange(requested(SOFT), requested(RACKS, SOFT))


def compare(
    cluster: ClusterReader, change: PolicyChange = CHANGE, **options: Any
) -> tuple[PolicyComparison, list[WorkloadChange]]:
    comparison = PolicyComparison(change, cluster, **options)
    return comparison, list(comparison.compare("shop", lambda _found, _compared: None))


def names(changes: list[WorkloadChange]) -> list[str]:
    return [f"{change.kind}/{change.name}" for change in changes]


def test_workloads_of_other_profiles_do_not_change() -> None:
    comparison, changes = compare(cluster_of(named("web"), named("api"), node("n1")))

    assert names(changes) == ["Deployment/web"]
    assert (comparison.workloads, comparison.problems) == (2, [])
    (change,) = changes
    assert [one.pod.profile for one in (change.before, change.after)] == ["soft", "racks"]
    assert change.is_pending
    assert change.after.failed_scheduling == (
        "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing "
        "required label)."
    )


def test_without_nodes_no_pod_is_placed() -> None:
    comparison, (change,) = compare(cluster_of(named("web")))

    assert comparison.lacks_nodes
    assert (change.is_pending, change.after.failed_scheduling) == (False, None)


def test_labels_select_workloads() -> None:
    objects = (named("web"), named("api"), node("n1"))
    everything = PolicyChange(requested(), requested(SOFT))

    _, changes = compare(cluster_of(*objects), everything, labels=SELECT_WEB)

    assert names(changes) == ["Deployment/web"]


OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
NO_WORKLOADS: dict[str, Any] = {
    "a pod of a controller": bare("web", ownerReferences=[OWNER]),
    "a stored pod": bare("web", uid="1", resourceVersion="1"),
    "a pod with a node": {**bare("web"), "spec": {"nodeName": "n1", "containers": []}},
    "a pod template": {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "web", "namespace": "shop"},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
    },
    "an object of another namespace": {
        **named("web"),
        "metadata": {"name": "web", "namespace": "ops"},
    },
}


@pytest.mark.parametrize("obj", NO_WORKLOADS.values(), ids=NO_WORKLOADS.keys())
def test_no_workload(obj: Any) -> None:
    comparison, changes = compare(cluster_of(obj, node("n1")))

    assert (comparison.workloads, changes) == (0, [])


def test_a_pod_of_a_manifest_is_a_workload() -> None:
    _, (change,) = compare(cluster_of(bare("web"), service("web", app="web"), node("n1")))

    assert (change.kind, change.is_pending) == ("Pod", True)


COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1}


@pytest.mark.parametrize(("status", "found"), [({}, ["Job/web"]), (COMPLETE, [])])
def test_a_finished_job_creates_no_pod(status: Any, found: list[str]) -> None:
    job = {**named("web", "Job", "batch/v1"), "status": status}
    job["spec"]["template"]["spec"]["containers"] = [{"name": "main"}]
    objects = (job, service("web", app="web"), node("n1"))

    assert names(compare(cluster_of(*objects))[1]) == found


def test_each_template_of_a_workload_is_compared() -> None:
    everything = PolicyChange(requested(), requested(SOFT))

    services = [service(name, job=name) for name in "ab"]  # Jobs have no selector that counts
    objects = (job_set(a=[], b=[]), *services, node("n1"))

    comparison, changes = compare(cluster_of(*objects), everything)

    assert comparison.workloads == 1
    assert [change.template for change in changes] == [
        "spec.replicatedJobs[0].template.spec.template",
        "spec.replicatedJobs[1].template.spec.template",
    ]


def test_findings_are_about_the_workload() -> None:
    denying = profile(name="strict", constraints=(), actions={"TSC101": Action.DENY})
    own = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
    obj = named("web")
    obj["spec"]["template"]["spec"]["topologySpreadConstraints"] = [
        {**own, "labelSelector": {"matchLabels": {"app": "other"}}}
    ]

    _, (change,) = compare(cluster_of(obj), PolicyChange(requested(), requested(denying)))

    assert change.is_denied
    assert [(one.rule, one.before, one.after) for one in change.findings] == [
        ("TSC101", Action.WARN, Action.DENY)
    ]
    assert not change.changes_pod


def test_an_object_that_cannot_be_read_is_a_problem_and_no_obstacle() -> None:
    broken = named("bad")
    broken["spec"]["template"] = "none"

    comparison, changes = compare(cluster_of(broken, named("web"), node("n1")))

    assert names(changes) == ["Deployment/web"]
    assert len(comparison.problems) == 1
    assert str(comparison.problems[0]).startswith("Deployment shop/bad: ")


LIVE = ServerOptions(kubeconfig="kubeconfig")


def live(api: ApiServer, *objects: Any) -> None:
    api.add(*objects)


def test_a_live_cluster_is_compared_as_its_manifests(api: ApiServer) -> None:
    objects = [named("web"), named("api"), named("db", "ReplicaSet"), node("n1"), node("n2")]
    live(api, *objects)

    _, expected = compare(cluster_of(*objects))
    with open_cluster(LIVE, cluster_of(), (), everywhere=True) as cluster:
        comparison, changes = compare(cluster)

    assert changes == expected
    assert comparison.problems == []


def test_a_kind_that_may_not_be_listed_is_one_problem(api: ApiServer) -> None:
    live(api, named("web"), node("n1"))
    path = "/apis/batch/v1/namespaces/shop/jobs"
    api.answers[f"GET {path}"] = refuse("no", 403)

    with open_cluster(LIVE, cluster_of(), ()) as cluster:
        comparison = PolicyComparison(CHANGE, cluster)
        changes = [
            one for _ in range(2) for one in comparison.compare("shop", lambda _one, _two: None)
        ]

    assert names(changes) == ["Deployment/web"] * 2
    assert len(comparison.problems) == 1


@pytest.mark.parametrize(
    "path", ["/apis/batch/v1/namespaces/shop/jobs", "/api/v1/namespaces/shop/services"]
)
def test_a_server_that_fails_is_an_error(path: str, api: ApiServer) -> None:
    live(api, named("web"), node("n1"))
    api.answers[f"GET {path}"] = refuse("no", 500)

    with open_cluster(LIVE, cluster_of(), ()) as cluster, pytest.raises(ApiError):
        compare(cluster)


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    comparison = PolicyComparison(CHANGE, cluster_of(named("web"), named("api"), node("n1")))

    list(comparison.compare("shop", lambda found, compared: seen.append((found, compared))))

    assert seen == [(2, 0), (0, 1), (0, 1)]


KINDS = (("Deployment", "apps/v1"), ("StatefulSet", "apps/v1"), ("ReplicaSet", "apps/v1"))
profiles = st.lists(
    st.builds(
        profile,
        name=st.sampled_from("abc"),
        object_selector=st.sampled_from([None, selector(app="web"), selector(app="api")]),
        constraints=st.sampled_from([(), (default(),), (HARD,), (default(max_skew=4), HARD)]),
        owner_kinds=st.sampled_from([None, frozenset({"StatefulSet"}), frozenset({"ReplicaSet"})]),
    ),
    max_size=3,
    unique_by=lambda one: one.name,
)
workloads = st.lists(
    st.tuples(st.sampled_from(["web", "api"]), st.sampled_from(KINDS)), max_size=4, unique=True
)


@settings(max_examples=40, deadline=None)
@given(profiles, workloads)
def test_equal_policies_change_nothing(some: list[Profile], rows: Any) -> None:
    cluster = cluster_of(*(named(name, *kind) for name, kind in rows), node("n1"))

    change = PolicyChange(requested(*some), requested(*some))

    assert compare(cluster, change)[1] == []


@settings(max_examples=60, deadline=None)
@given(profiles, profiles, workloads)
def test_changes_are_what_the_server_does_under_each_policy(
    old: list[Profile], new: list[Profile], rows: Any
) -> None:
    """The reference builds pods as ``review`` does, and asks both webhooks in turn."""
    objects = [named(name, *kind) for name, kind in rows]
    change = PolicyChange(requested(*old), requested(*new))

    _, changes = compare(cluster_of(*objects, node("n1")), change)

    found = {
        (one.kind, one.name): tuple(list(side.pod.constraints) for side in (one.before, one.after))
        for one in changes
        if one.before.pod.constraints != one.after.pod.constraints
    }
    expected = {
        (obj["kind"], obj["metadata"]["name"]): pair
        for obj in objects
        if (pair := tuple(create(obj, side) for side in change))[0] != pair[1]
    }
    assert json.dumps(hide_hashes(found)) == json.dumps(hide_hashes(expected))


def create(obj: Any, side: RequestedPolicy) -> list[Any]:
    """The constraints of the pod that the server leaves in the first pod of a workload."""
    facts = cluster_of(obj).facts("shop")
    document = Document("web.yaml", obj, DocumentText("{}", 1, 0))
    made = build_created_pod(document, ("spec", "template"))
    assert made is not None
    assert not fill(facts, [made.controller])
    review = build_creation(made.document, "1")
    result = answer_in_turn(review, tuple(Hook), side.policy, facts)[0]
    found: list[Any] = result.after["spec"].get("topologySpreadConstraints", [])
    return found


def hide_hashes(found: Any) -> Any:
    """Replace the placeholders of hashes, which a controller would choose."""
    text = json.dumps([[list(key), value] for key, value in sorted(found.items())])
    pairs = (f'"pod-template-hash": "{word}"' for word in ("hash", "h1"))
    for pair in pairs:
        text = text.replace(pair, '"pod-template-hash": ""')
    return text


def test_the_reference_gives_defaults() -> None:
    assert len(create(named("web"), requested(SOFT))) == 1
