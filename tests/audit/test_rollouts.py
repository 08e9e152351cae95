import json
from typing import Any

import pytest

from tests.audit import world
from tests.audit.world import gather, inventory, pod
from webhook.audit.groups import ObjectKey
from webhook.audit.rollouts import mark_replaced
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import POD
from webhook.policy.model import ObjectMeta, PodTemplate

REVISION = "deployment.kubernetes.io/revision"
OF_ROLLOUTS = "rollout.argoproj.io/revision"


def replica_set(name: str, revision: str = "", key: str = REVISION) -> str:
    """Write a ReplicaSet of the Deployment web."""
    metadata = f"  annotations: {{{key}: '{revision}'}}\n" if revision else ""
    return world.REPLICA_SET.replace("name: web-1\n", f"name: {name}\n{metadata}").replace(
        "h1", name
    )


def pods(name: str, *nodes: str) -> str:
    """Write pods of a ReplicaSet."""
    return "".join(
        pod(f"{name}-{i}", node, f"ReplicaSet/{name}").replace("h1", name)
        for i, node in enumerate(nodes)
    )


def audited(text: str, deployment: str = world.DEPLOYMENT) -> Subject:
    """Return the Deployment web with its running pods."""
    found = inventory(gather(world.NODES + deployment + text).snapshot)
    return next(item.subject for item in found.audited if str(item.subject) == "Deployment/web")


def replaced(text: str) -> set[str]:
    """List the ReplicaSets whose pods are marked."""
    owners = (group.pod.metadata for group in audited(text).running if group.replaced)
    return {owner.controller.name for owner in owners if owner and owner.controller}


OLD, NEW = pods("old", "node-a", "node-b"), pods("new", "node-c")

REPLACED: dict[str, tuple[str, set[str]]] = {
    "a rollout that runs": (
        replica_set("old", "9") + replica_set("new", "10") + OLD + NEW, {"old"}
    ),
    "a rollback, which numbers the old one anew": (
        replica_set("old", "11") + replica_set("new", "10") + OLD + NEW, {"new"}
    ),
    "a canary": (
        replica_set("old", "1", OF_ROLLOUTS) + replica_set("new", "2", OF_ROLLOUTS) + OLD + NEW,
        {"old"},
    ),
    "two older ones": (
        replica_set("older", "1") + replica_set("old", "2") + replica_set("new", "3")
        + pods("older", "node-a") + OLD + NEW,
        {"older", "old"},
    ),
    "a rollout whose new pods do not exist yet": (
        replica_set("older", "1") + replica_set("old", "2") + replica_set("new", "3")
        + pods("older", "node-a") + OLD,
        set(),
    ),
    "one revision": (replica_set("new", "2") + NEW, set()),
    "revisions without numbers": (replica_set("old") + replica_set("new") + OLD + NEW, set()),
    "a number that is none": (
        replica_set("old", "x") + replica_set("new", "2") + OLD + NEW, set()
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "names"), REPLACED.values(), ids=REPLACED.keys())
def test_the_pods_of_older_replica_sets_are_marked(text: str, names: set[str]) -> None:
    assert replaced(text) == names


def test_a_paused_deployment_replaces_no_pods_and_none_of_the_newest_revision_is_next() -> None:
    text = replica_set("old", "9") + replica_set("new", "10") + OLD + NEW
    paused = world.DEPLOYMENT.replace("spec:\n", "spec:\n  paused: true\n", 1)

    found, rolling = audited(text, paused), audited(text)

    assert [group.replaced for group in found.running] == [False, False]
    assert (found.revision, rolling.revision) == ({}, {"pod-template-hash": "new"})
    assert found.next_labels["pod-template-hash"] == "old"


def named(revision: str, node: str) -> str:
    """Write a pod whose ReplicaSet has the name that the Deployment web gives it."""
    return pod(f"{revision}-{node}", node, f"ReplicaSet/web-{revision}", revision=revision)


@pytest.mark.parametrize(("revision", "unordered"), [("b", True), ("a", False)])
def test_without_replica_sets_the_newest_revision_is_unknown(
    revision: str, unordered: bool
) -> None:
    subject = audited(named("a", "node-a") + named(revision, "node-b"))

    assert sum(group.number for group in subject.running) == 2
    assert {(group.replaced, group.unordered) for group in subject.running} == {(False, unordered)}


def test_without_replica_sets_a_rollout_is_not_uneven() -> None:
    nodes = ["node-a", "node-b", "node-b", "node-b"]
    text = "".join(
        named(revision, node).replace(f"{revision}-{node}", f"{revision}-{i}")
        for i, (revision, node) in enumerate(zip("abbb", nodes, strict=True))
    )

    report = world.audit(world.NODES + world.DEPLOYMENT + text)

    assert {rule for _, rule in world.rules(report)}.isdisjoint({"TSC113", "TSC114"})
    assert (report.summary.workloads, report.summary.uneven) == (1, 0)


def test_pods_without_a_controller_are_not_marked() -> None:
    key = ObjectKey("shop", POD, "web")
    bare = (RunningPods(PodTemplate(), {"a": 1}), RunningPods(PodTemplate(ObjectMeta()), {"a": 1}))

    assert mark_replaced({key: bare}, []) == {key: bare}


def test_an_audit_leaves_out_the_pods_that_a_rollout_replaces() -> None:
    sets = replica_set("old", "1") + replica_set("new", "2")
    uneven = pods("old", "node-a", "node-a", "node-a")
    even = pods("new", "node-a", "node-b", "node-c")

    def rules(text: str) -> set[str]:
        report = world.audit(world.NODES + world.DEPLOYMENT + text)
        return {rule for _, rule in world.rules(report)}

    assert "TSC114" not in rules(sets + uneven + even)
    assert "TSC114" in rules(sets + uneven)


CORDONED = world.NODES + "spec: {unschedulable: true}\n"  # the last node
STATEFUL_ROLLOUT = (
    world.DEPLOYMENT.replace("Deployment", "StatefulSet")
    .replace("pod-template-hash", "controller-revision-hash")
    .replace("replicas: 4", "replicas: 3")
    + "status: {currentRevision: old, updateRevision: new}\n"
)


def of_set(partition: int = 0, *ordinals: int) -> str:
    """
    Write a StatefulSet that is being updated, and two pods of its old revision.

    Pods with ordinals carry their names as labels.
    """
    strategy = f"spec:\n  updateStrategy: {{rollingUpdate: {{partition: {partition}}}}}\n"
    text = STATEFUL_ROLLOUT.replace("spec:\n", strategy, 1)
    for i, zone in zip(ordinals or (0, 1), "ab", strict=True):
        name = f'","statefulset.kubernetes.io/pod-name":"web-{i}' if ordinals else ""
        written = pod(f"web-{i}", f"node-{zone}", "StatefulSet/web")
        text += written.replace('pod-template-hash":"h1', f'controller-revision-hash":"old{name}')
    return text


def rolled_out(old: str, new: str, *, labelled: bool = False, **spec: Any) -> str:
    """
    Write a StatefulSet that is being updated, and its pods, in zones by their letters.

    Args:
        old: The zones of the pods of the old revision, which have the first ordinals.
        labelled: Whether pods carry their names as labels, as a StatefulSet writes them.
        spec: Further members of the specification.
    """
    members = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in spec.items())
    text = STATEFUL_ROLLOUT.replace("spec:\n", f"spec:\n{members}", 1)
    text = text.replace("replicas: 3", f"replicas: {len(old + new)}")
    for i, zone in enumerate(old + new):
        revision = "old" if i < len(old) else "new"
        name = f'","statefulset.kubernetes.io/pod-name":"web-{i}' if labelled else ""
        written = pod(f"web-{i}", f"node-{zone}", "StatefulSet/web", revision=revision + "%")
        text += written.replace("pod-template-hash", HASH).replace("%", name)
    return text


HASH = "controller-revision-hash"
UPDATED = rolled_out("abc", "aa")


def partition(number: int) -> dict[str, Any]:
    """Write an update strategy with a partition."""
    return {"rollingUpdate": {"partition": number}}


# manifests, number of pods that the rollout is about to delete
STATEFUL: dict[str, tuple[str, int]] = {
    "a rollout that runs": (UPDATED, 3),
    "a rollout whose new pods do not exist yet": (rolled_out("abcaa", ""), 0),
    "one revision": (rolled_out("", "abcaa"), 0),
    "a revision that is not known": (UPDATED.replace("updateRevision", "other"), 0),
    "pods without a revision": (UPDATED.replace(f'"{HASH}":"old"', '"tier":"web"'), 0),
    "OnDelete": (rolled_out("abc", "aa", updateStrategy={"type": "OnDelete"}), 0),
    "pods that return to their volumes": (rolled_out("abc", "aa", volumeClaimTemplates=[{}]), 0),
    "a partition": (rolled_out("abc", "aa", labelled=True, updateStrategy=partition(1)), 2),
    "a partition that starts elsewhere": (
        rolled_out("abc", "aa", labelled=True, updateStrategy=partition(1), ordinals={"start": 1}),
        1,
    ),
    "pods below a partition": (
        rolled_out("abc", "aa", labelled=True, updateStrategy=partition(3)), 0
    ),
    "a partition, and pods whose ordinals are not known": (
        rolled_out("abc", "aa", updateStrategy=partition(1)), 0
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "number"), STATEFUL.values(), ids=STATEFUL.keys())
def test_the_pods_of_older_revisions_of_a_stateful_set_are_marked(text: str, number: int) -> None:
    found = inventory(gather(world.NODES + text).snapshot)
    (subject,) = (item.subject for item in found.audited)

    assert sum(group.number for group in subject.running) == 5
    assert sum(group.number for group in subject.running if group.replaced) == number


@pytest.mark.parametrize(
    ("text", "uneven"), [(UPDATED, 0), (rolled_out("a", "aaaa"), 1), (rolled_out("aaab", "a"), 0)]
)
def test_a_stateful_set_is_uneven_if_its_rollout_leaves_it_so(text: str, uneven: int) -> None:
    report = world.audit(world.NODES + text)

    assert report.summary.uneven == uneven
    assert ("TSC114" in {rule for _, rule in world.rules(report)}) is bool(uneven)


SETS = replica_set("old", "1") + replica_set("new", "2")

# manifests, whether the next pod has no node
NEXT_PODS: dict[str, tuple[str, bool]] = {
    "a pending pod of the new ReplicaSet": (world.DEPLOYMENT + SETS + OLD + pods("new", ""), False),
    "no pod of the new ReplicaSet": (world.DEPLOYMENT + SETS + OLD, False),
    "a ReplicaSet without a hash": (
        world.DEPLOYMENT + SETS.replace("pod-template-hash: new", "other: new") + OLD, True
    ),
    "one revision": (world.DEPLOYMENT + replica_set("old", "1") + OLD, True),
    "a StatefulSet": (of_set(), False),
    "a partition, and pods whose ordinals are not known": (of_set(2), True),
    "a pod above a partition": (of_set(2, 0, 1), False),
    "a pod below a partition": (of_set(2, 0, 2), True),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reported"), NEXT_PODS.values(), ids=NEXT_PODS.keys())
def test_the_next_pod_has_the_revision_that_is_rolled_out(text: str, reported: bool) -> None:
    found = world.audit(CORDONED + text).findings()

    problems = [finding.problem for _, finding in found if finding.rule == "TSC106"]
    assert any("the next pod" in problem for problem in problems) is reported
