import msgspec
import pytest
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, owned_by, pod, spread
from tests.policy.advice.subjects import ROLLOUT, deployed, running, subject, worker_set, workload
from webhook.policy.advice.podaffinity import PodAntiAffinity
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import ADVISED_CONSTRAINTS, Subject
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.runtimeclasses import RuntimeClass
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.podlabels import JOB_NAME, WORKER_INDEX, WORKER_SET_NAME
from webhook.policy.rolloutlimits import DOUBLING

JOB = GroupKind("batch", "Job")


def test_a_subject_names_itself_and_its_fields() -> None:
    found = deployed(spread(), spread(maxSkew=2))

    assert str(found) == "Deployment/web"
    assert found.labels == found.next_labels == {"app": "web"}
    assert [one_term.max_skew for one_term in found.constraints] == [1, 2]
    assert found.field(1) == "spec.template.spec.topologySpreadConstraints[1]"
    assert found.field(1, "maxSkew") == "spec.template.spec.topologySpreadConstraints[1].maxSkew"
    assert found.namespace == NAMESPACE
    assert found.demands == Demands()
    assert found.anti_affinity == ()


def test_a_pod_that_has_no_name_yet_is_named_by_its_prefix() -> None:
    obj = pod()
    obj["metadata"] = {"generateName": "web-"}

    assert str(subject(obj)) == "Pod/web-"


def test_pod_anti_affinity_is_read() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    against = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    found = deployed(template_spec={"affinity": {"podAntiAffinity": against}})

    assert [one_term.topology_key for one_term in found.anti_affinity] == ["zone"]


def test_pod_affinity_is_read_as_far_as_it_is_required() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    among = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}],
    }
    found = deployed(template_spec={"affinity": {"podAffinity": among}})

    assert [one_term.topology_key for one_term in found.companions] == ["zone"]
    assert deployed(template_spec={"affinity": {"podAffinity": {}}}).companions == ()
    assert subject(workload()).companions == ()


def test_affinity_without_pods_is_no_anti_affinity() -> None:
    assert deployed(template_spec={"affinity": {}}).anti_affinity == ()


ALONE: dict[str, tuple[Json, bool]] = {
    "a Deployment of two": (workload(replicas=2), False),
    "a Deployment of one": (workload(replicas=1), True),
    "a Deployment of none": (workload(replicas=0), True),
    "a Deployment left to an autoscaler": (workload(replicas=None), False),
    "a DaemonSet": (workload(kind=DAEMON_SET, replicas=None), True),
    "a Job of one pod": (workload(kind=JOB, replicas=None), True),
    "a StatefulSet of three": (workload(kind=STATEFUL_SET, replicas=3), False),
    "a Pod": (pod(), False),
}


@pytest.mark.parametrize(("obj", "expected"), ALONE.values(), ids=ALONE.keys())
def test_a_subject_that_never_has_two_pods_is_alone(obj: Json, expected: bool) -> None:
    assert subject(obj).is_alone is expected


def test_the_most_replicas_are_those_of_an_autoscaler() -> None:
    scaled = replace(deployed(replicas=1), scaling=ReplicaRange(1, 6, "ScaledObject/web"))

    assert (scaled.most_replicas, scaled.is_alone) == (6, False)
    assert (deployed(replicas=1).most_replicas, deployed(replicas=None).most_replicas) == (1, None)


def test_the_kind_of_the_creator_is_that_of_the_object_or_of_one_that_refers_to_it() -> None:
    assert deployed().pods_kind == DEPLOYMENT
    assert replace(deployed(), creator=ROLLOUT).pods_kind == ROLLOUT


def test_a_list_without_a_template_is_bare() -> None:
    path = ("spec", "topologySpreadConstraints")

    assert replace(deployed(), path=path).is_bare
    assert not deployed().is_bare


def test_an_object_created_by_a_controller_is_controlled() -> None:
    assert subject(pod(owner=owned_by())).controlled
    assert not subject(pod()).controlled


def test_the_number_of_judged_constraints_is_bounded() -> None:
    many = [spread(topologyKey=f"rack-{i}") for i in range(ADVISED_CONSTRAINTS + 1)]

    assert len(deployed(*many).constraints) == ADVISED_CONSTRAINTS


def test_another_kind_may_create_its_pods() -> None:
    assert deployed().pods_kind == DEPLOYMENT
    assert replace(deployed(), creator=ROLLOUT).pods_kind == ROLLOUT


def test_constraints_can_be_replaced() -> None:
    (number,) = subject(pod(spread(topologyKey="rack"))).constraints

    assert subject(pod(spread())).with_constraints((number,)).constraints == (number,)
    without = subject(workload() | {"spec": {"template": {"metadata": {}}}})
    assert without.with_constraints((number,)) is without


def test_the_next_pod_has_the_labels_of_most() -> None:
    old = running("a1", labels={"app": "web", "pod-template-hash": "old"})
    new = running("a1", "b1", labels={"app": "web", "pod-template-hash": "new"})

    found = subject(workload(), running=(old, new))

    assert found.next_labels == {"app": "web", "pod-template-hash": "new"}
    assert found.next_pod == IncomingPod(NAMESPACE, found.next_labels, found.demands)
    assert replace(found, running=()).next_pod.labels == {"app": "web"}, "nothing is kept"
    assert new.number == 2


BOUND: dict[str, tuple[Subject, bool]] = {
    "a template that names a node": (deployed(template_spec={"nodeName": "a1"}), True),
    "a template that names none": (deployed(), False),
    "a Pod that has its node": (subject(pod(nodeName="a1")), True),
    "a Pod that waits": (subject(pod()), False),
    "a template without a specification": (subject({**pod(), "spec": None}), False),
    "a pod that stands for the template of a controller": (
        subject(pod(nodeName="a1"), kind=ROLLOUT),
        False,
    ),
}


@pytest.mark.parametrize(("judged", "expected"), BOUND.values(), ids=BOUND.keys())
def test_pods_that_bypass_the_scheduler_are_bound(judged: Subject, expected: bool) -> None:
    assert judged.is_bound is expected


HERE, WAITING = running("a1", "b1"), running("a1", "")

# workload of two replicas, its pods
COMPLETE: dict[str, tuple[Json, list[RunningPods], bool]] = {
    "a StatefulSet": (workload(kind=STATEFUL_SET, replicas=2), [HERE], True),
    "a ReplicaSet": (workload(kind=GroupKind("apps", "ReplicaSet"), replicas=2), [HERE], True),
    "a Job": (workload(kind=JOB, replicas=None, parallelism=2), [HERE], True),
    "a Deployment that lets old pods go first": (
        workload(replicas=2, strategy={"type": "Recreate"}),
        [HERE],
        True,
    ),
    "a Deployment without surge": (
        workload(replicas=2, strategy={"rollingUpdate": {"maxSurge": 0}}),
        [HERE],
        True,
    ),
    "a Deployment that makes new ones first": (workload(replicas=2), [HERE], False),
    "more than it wants": (workload(kind=STATEFUL_SET, replicas=1), [HERE], True),
    "too few": (workload(kind=STATEFUL_SET, replicas=3), [HERE], False),
    "one that waits for a node": (workload(kind=STATEFUL_SET, replicas=2), [WAITING], False),
    "one in another group": (workload(kind=STATEFUL_SET, replicas=3), [WAITING, HERE], True),
    "an autoscaler decides": (workload(kind=STATEFUL_SET, replicas=None), [HERE], False),
    "no pod": (workload(kind=STATEFUL_SET, replicas=2), [], False),
}


@pytest.mark.parametrize(("obj", "pods", "expected"), COMPLETE.values(), ids=COMPLETE.keys())
def test_whether_all_pods_have_a_node(obj: Json, pods: list[RunningPods], expected: bool) -> None:
    assert subject(obj, running=tuple(pods)).is_complete is expected


def test_whether_a_rollout_doubles_the_pods() -> None:
    rolling = subject(workload())

    assert not rolling.doubles
    assert not replace(rolling, limits=None).doubles
    assert replace(rolling, limits=DOUBLING).doubles


PARTIAL: dict[str, tuple[Json, bool]] = {
    "a Deployment without labels": (workload(labels={}), True),
    "a StatefulSet without labels": (workload(kind=STATEFUL_SET, labels={}), True),
    "a Deployment": (workload(), False),
    "a Job without labels": (workload(kind=JOB, labels={}), False),
    "a Pod without labels": (pod(labels={}), False),
}


@pytest.mark.parametrize(("obj", "expected"), PARTIAL.values(), ids=PARTIAL.keys())
def test_a_part_of_a_workload_is_partial(obj: Json, expected: bool) -> None:
    assert subject(obj).is_partial is expected
    assert subject(obj, running=(HERE,)).is_partial is expected


REQUIRED = '"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]'
PREFERRED = (
    '"preferredDuringSchedulingIgnoredDuringExecution": '
    '[{"weight": 1, "podAffinityTerm": {"topologyKey": "b"}}, {"weight": 1}]'
)

TERMS = {
    "none": ("{}", []),
    "required": (f"{{{REQUIRED}}}", ["a"]),
    "preferred, one of them without a term": (f"{{{PREFERRED}}}", ["b"]),
    "both": (f"{{{REQUIRED}, {PREFERRED}}}", ["a", "b"]),
}


@pytest.mark.parametrize(("text", "keys"), TERMS.values(), ids=TERMS.keys())
def test_required_and_preferred_terms_are_terms(text: str, keys: list[str]) -> None:
    read = msgspec.json.decode(text, type=PodAntiAffinity)

    assert [term.topology_key for term in read.terms] == keys


OLD_PODS = running("a1", "a2", labels={"app": "web", "hash": "old"})
NEW_PODS = running("b1", labels={"app": "web", "hash": "new"})
REVISION = {"hash": "new"}

# running pods, known revision, hash of the next pod
NEXT_HASHES: dict[str, tuple[tuple[RunningPods, ...], dict[str, str], str | None]] = {
    "no pod, and none known": ((), {}, None),
    "no pod of a known revision": ((), REVISION, None),
    "the largest group": ((OLD_PODS, NEW_PODS), {}, "old"),
    "a group that is not replaced": ((replace(OLD_PODS, replaced=True), NEW_PODS), {}, "new"),
    "replaced pods only": ((replace(OLD_PODS, replaced=True),), {}, "old"),
    "a revision without pods": ((OLD_PODS,), REVISION, "new"),
    "a revision with pods": ((NEW_PODS,), REVISION, "new"),
}


@pytest.mark.parametrize(
    ("pods", "revision", "expected"), NEXT_HASHES.values(), ids=NEXT_HASHES.keys()
)
def test_the_next_pod_has_the_newest_revision(
    pods: tuple[RunningPods, ...], revision: dict[str, str], expected: str | None
) -> None:
    found = subject(workload(), running=pods, revision=revision)

    assert found.next_labels.get("hash") == expected


def test_the_next_pod_has_an_index_of_its_own() -> None:
    key = "apps.kubernetes.io/pod-index"
    pods = tuple(running("a1", labels={"app": "web", key: str(index)}) for index in (0, 2))

    stateful = subject(workload(kind=STATEFUL_SET), running=pods)

    assert stateful.next_labels == {"app": "web", key: "1"}
    assert subject(workload(), running=pods).next_labels[key] == "0", "no label of its controller"


NAMES = {"job-name": "web", JOB_NAME: "web"}

# subject, the labels that its controller gives to all pods
COMMON: dict[str, tuple[Subject, dict[str, str]]] = {
    "a Job": (subject(workload(kind=JOB)), NAMES),
    "a Job that writes one of them": (
        subject(workload(kind=JOB, labels={JOB_NAME: "db"})), {"job-name": "web"}
    ),
    "a Job of another kind of object": (subject(workload(kind=JOB), creator=ROLLOUT), {}),
    "a Deployment": (deployed(), {}),
    "an unknown kind": (subject(workload(kind=JOB), kind=GroupKind("example.com", "Shards")), {}),
    "a LeaderWorkerSet": (worker_set(), {WORKER_SET_NAME: "lws"}),
    "a LeaderWorkerSet without workers": (
        replace(worker_set(), members=range(1)), {WORKER_SET_NAME: "lws", WORKER_INDEX: "0"}
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "added"), COMMON.values(), ids=COMMON)
def test_labels_that_all_pods_have(found: Subject, added: dict[str, str]) -> None:
    assert found.common_labels == found.next_labels == {**found.labels, **added}


def test_the_labels_of_pods_as_far_as_they_are_foreseen() -> None:
    hashed, named = deployed(), subject(workload(kind=STATEFUL_SET))

    assert hashed.foreseen_labels == {**hashed.labels, "pod-template-hash": "<hash>"}
    assert named.foreseen_labels["statefulset.kubernetes.io/pod-name"] == "web-<ordinal>"
    assert subject(workload(kind=JOB, labels={JOB_NAME: "db"})).foreseen_labels[JOB_NAME] == "db"


def test_the_nodes_of_a_template_depend_on_its_runtime_class() -> None:
    plain, named = deployed(), deployed(template_spec={"runtimeClassName": "kata"})
    created = subject(pod(runtimeClassName="kata"), ())
    kata = RuntimeClass(name="kata", node_selector={"pool": "kata"})

    known = replace(named, runtime_class=kata)

    lacking = [one.lacks_runtime_class for one in (plain, named, created, known)]
    assert lacking == [False, True, False, False]
    assert (named.demands, known.demands) == (Demands(), Demands((("pool", "kata"),)))


def test_pods_of_a_daemon_set_tolerate_what_its_controller_adds() -> None:
    daemons = subject(workload(kind=DAEMON_SET))

    assert daemons.demands == daemon_demands(Demands(), host_network=False)
