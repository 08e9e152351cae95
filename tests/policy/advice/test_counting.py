import pytest
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, gates, pod, requirement, selector, spread
from tests.policy.advice.subjects import (
    NO_MATCH_LABEL_KEYS,
    ROLLOUT,
    admission,
    audit,
    deployed,
    running,
    subject,
    workload,
)
from webhook.policy.advice.context import AdviceContext, resolve_valid
from webhook.policy.advice.counting import (
    build_added_pod,
    counts_itself,
    counts_no_pod,
    counts_own_revision,
    find_counting,
    hard_constraints,
    is_outdated,
    known_selectors,
    may_add,
    other_workloads,
    unmet_requirements,
)
from webhook.policy.advice.sharednodes import EVERYWHERE
from webhook.policy.api.gates import Gates
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands

HASH = "pod-template-hash"
PARTS = ("spec", "template")

HASHED = spread(matchLabelKeys=[HASH])

# subject, gates, whether its constraint counts the pods of one revision only
OWN_REVISION: dict[str, tuple[Json, Gates, bool]] = {
    "the label of the revision": (workload(HASHED), gates(), True),
    "no label": (workload(spread()), gates(), False),
    "another label": (workload(spread(matchLabelKeys=["app"])), gates(), False),
    "a label that the pods do not get": (workload(HASHED, kind=STATEFUL_SET), gates(), False),
    "a disabled gate": (workload(HASHED), NO_MATCH_LABEL_KEYS, False),
}


@pytest.mark.parametrize(
    ("obj", "known", "expected"), OWN_REVISION.values(), ids=OWN_REVISION.keys()
)
def test_pods_of_one_revision(obj: Json, known: Gates, expected: bool) -> None:
    judged = subject(obj)

    assert counts_own_revision(judged.constraints[0], judged, known) is expected


ADDED: dict[str, tuple[Json, str, bool]] = {
    "a Deployment adds the hash": (workload(), HASH, True),
    "a Deployment adds nothing else": (workload(), "tier", False),
    "a label that is there already": (workload(labels={HASH: "x"}), HASH, False),
    "a StatefulSet adds no hash of templates": (workload(kind=STATEFUL_SET), HASH, False),
    "a StatefulSet adds that of revisions": (
        workload(kind=STATEFUL_SET),
        "controller-revision-hash",
        True,
    ),
    "a DaemonSet adds that too": (workload(kind=DAEMON_SET), "controller-revision-hash", True),
    "a Job adds its name": (workload(kind=GroupKind("batch", "Job")), "job-name", True),
    "a Pod is as it is": (pod(), HASH, False),
}


@pytest.mark.parametrize(("obj", "key", "expected"), ADDED.values(), ids=ADDED.keys())
def test_labels_that_a_controller_may_add(obj: Json, key: str, expected: bool) -> None:
    assert may_add(subject(obj), key) is expected


def test_an_unknown_kind_may_add_any_label() -> None:
    assert may_add(subject(workload(kind=GroupKind("example.com", "Shards")), PARTS), "anything")


def test_the_fields_of_a_rollout_may_add_labels() -> None:
    strategy = {"blueGreen": {"activeMetadata": {"labels": {"role": "active"}}}}
    rollout = subject(workload(kind=ROLLOUT, strategy=strategy), PARTS)

    assert may_add(rollout, "role")
    assert not may_add(rollout, "tier")


def test_the_selectors_of_the_next_pod() -> None:
    judged = deployed(
        spread(),
        spread(labelSelector=None),
        spread(labelSelector={}),
        spread(labelSelector={"matchLabels": {"app": "shop"}}),
        spread(matchLabelKeys=["app"]),
        spread(matchLabelKeys=[HASH]),
    )

    web = selector(app="web")
    merged = selector(requirement("app", "In", "web"), app="web")
    assert known_selectors(judged, gates()) == [web, None, None, None, merged, None]
    assert known_selectors(judged, NO_MATCH_LABEL_KEYS)[4:] == [web, web]


def test_a_label_of_any_value_that_a_controller_adds_is_known() -> None:
    def exists(key: str) -> Json:
        return {"matchExpressions": [{"key": key, "operator": "Exists"}]}

    added = {"matchLabels": {"app": "web"}, **exists(HASH)}
    judged = deployed(
        spread(labelSelector=added),
        spread(labelSelector=exists(HASH)),
        spread(labelSelector=exists("tier")),
        spread(labelSelector={"matchLabels": {"app": "api"}, **exists(HASH)}),
    )

    both, alone, *others = known_selectors(judged, gates())

    assert both == selector(requirement(HASH, "Exists"), app="web")
    assert alone == selector(requirement(HASH, "Exists"))
    assert others == [None, None]


def test_constraints_of_bound_pods_count_nothing() -> None:
    bound = deployed(spread(), template_spec={"nodeName": "a1"})

    assert known_selectors(bound, gates()) == []
    assert hard_constraints(bound, admission()) == ()


SHOP = {"matchLabels": {"app": "shop"}}
HASHED = {"matchExpressions": [{"key": HASH, "operator": "Exists"}]}
UNKNOWN = {"matchExpressions": [{"key": "app", "operator": "Is"}]}

# constraint, whether it counts no pod, whether it counts the pods of a Deployment, what they lack
COUNTED: dict[str, tuple[Json, bool, bool, list[str]]] = {
    "its own label": (spread(), False, True, []),
    "null": (spread(labelSelector=None), True, False, []),
    "empty": (spread(labelSelector={}), True, False, []),
    "empty, with a key that it carries": (
        spread(labelSelector={}, matchLabelKeys=["app"]), False, True, []
    ),
    "empty, with a key that its controller adds": (
        spread(labelSelector={}, matchLabelKeys=[HASH]), False, True, []
    ),
    "empty, with a key that it lacks": (
        spread(labelSelector={}, matchLabelKeys=["tier"]), True, False, []
    ),
    "others": (spread(labelSelector=SHOP), False, False, ["app=shop"]),
    "a label that its controller adds": (spread(labelSelector=HASHED), False, True, []),
    "an operator that there is not": (spread(labelSelector=UNKNOWN), False, True, []),
    "all but its own": (
        spread(labelSelector={
            "matchLabels": {"tier": "x"},
            "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}],
        }),
        False, False, ["tier=x", "app notin (web)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "no_pod", "itself", "lacks"), COUNTED.values(), ids=COUNTED.keys()
)
def test_whom_a_constraint_counts(
    written: Json, no_pod: bool, itself: bool, lacks: list[str]
) -> None:
    judged = deployed(written)
    (entry,) = judged.constraints

    assert counts_no_pod(entry, judged, gates()) is no_pod
    assert counts_itself(entry, judged, gates()) is itself
    assert [
        what for what, _ in unmet_requirements(entry.label_selector or selector(), judged)
    ] == lacks


def test_without_match_label_keys_an_empty_selector_stays_empty() -> None:
    judged = deployed(spread(labelSelector={}, matchLabelKeys=["app"]))

    assert counts_no_pod(judged.constraints[0], judged, NO_MATCH_LABEL_KEYS)


def test_the_labels_of_the_next_pod_are_those_of_running_pods() -> None:
    judged = subject(
        workload(spread(matchLabelKeys=[HASH])),
        running=(running("a1", labels={"app": "web", HASH: "new"}),),
    )

    expected = selector(requirement(HASH, "In", "new"), app="web")
    assert known_selectors(judged, gates()) == [expected]


def test_strangers_are_the_others_that_are_counted() -> None:
    members = {"Deployment/web": {"app": "web"}, "Deployment/cache": {"app": "web"}}
    cluster = audit(members=members).cluster
    assert cluster is not None

    assert other_workloads(deployed(), selector(app="web"), cluster) == {"Deployment/cache": 1}
    assert other_workloads(deployed(), None, cluster) == {}


@pytest.mark.parametrize("context", [admission(), audit()], ids=["at admission", "in an audit"])
def test_hard_constraints_are_resolved_as_by_the_scheduler(context: AdviceContext) -> None:
    soft, wrong = spread(whenUnsatisfiable="ScheduleAnyway"), spread(maxSkew=0)
    judged = deployed(soft, wrong, spread(matchLabelKeys=["tier"]), spread(minDomains=0))

    assert [constraint.index for constraint in hard_constraints(judged, context)] == [2]
    assert hard_constraints(deployed(), context) == ()


def test_without_constraints_nothing_counts() -> None:
    assert known_selectors(deployed(), gates()) == []


@pytest.mark.parametrize(
    ("key", "value", "outdated"),
    [(HASH, "old", True), (HASH, "new", False), ("app", "web", False)],
)
def test_a_written_hash_is_outdated_unless_pods_have_it(
    key: str, value: str, outdated: bool
) -> None:
    pods = running("a1", labels={"app": "web", HASH: "new"})
    judged = replace(deployed(spread()), running=(pods,))

    assert is_outdated(key, value, judged) is outdated
    assert [what for what, _ in unmet_requirements(selector(**{key: value}), judged)] == (
        [f"{key}={value}"] if outdated else []
    )


def test_other_workloads_are_sorted_and_leave_out_the_subject() -> None:
    owners = {name: {"app": "web"} for name in ("Job/b", "Deployment/web", "Job/a")}
    cluster = audit(members=owners).cluster
    assert cluster is not None

    others = other_workloads(deployed(), selector(app="web"), cluster)

    assert (list(others.items()), len(others)) == ([("Job/a", 1), ("Job/b", 1)], 2)
    assert "Deployment/web" not in others


def test_workloads_with_the_same_selector_share_one_count() -> None:
    cluster = audit(members={"Job/a": {"app": "web"}}).cluster
    assert cluster is not None
    web = selector(app="web")

    assert cluster.count_members(NAMESPACE, web) is cluster.count_members(NAMESPACE, web)
    assert cluster.with_pods(cluster.census, Census()).count_members(NAMESPACE, web) == {}
    assert cluster.count_members(NAMESPACE, web) == {"Job/a": 1}


@pytest.mark.parametrize(
    ("kind", "own", "renewed"),
    [
        (DEPLOYMENT, {HASH: "abc"}, {HASH}),
        (ROLLOUT, {"rollouts-pod-template-hash": "abc"}, {"rollouts-pod-template-hash"}),
        (
            GroupKind("apps.kruise.io", "CloneSet"),
            {HASH: "abc", "controller-revision-hash": "web-abc"},
            {HASH, "controller-revision-hash"},
        ),
        (DEPLOYMENT, {"tier": "front"}, set()),
        (STATEFUL_SET, {"controller-revision-hash": "web-abc"}, {"controller-revision-hash"}),
    ],
)
def test_the_pod_beside_all_replicas_has_the_labels_of_a_new_revision(
    kind: GroupKind, own: dict[str, str], renewed: set[str]
) -> None:
    pods = running("a1", "b1", labels={"app": "web", **own})
    judged = replace(subject(workload(replicas=2)), kind=kind, running=(pods,))
    missing = replace(judged, replicas=3)

    labels = build_added_pod(judged).labels

    assert labels.keys() == pods.pod.labels.keys()
    assert {key for key, value in labels.items() if value != pods.pod.labels[key]} == renewed
    assert build_added_pod(missing).labels == pods.pod.labels


def test_a_written_hash_is_that_of_every_revision() -> None:
    labels = {"app": "web", HASH: "written"}
    judged = subject(workload(replicas=1, labels=labels))
    pods = running("a1", labels=labels)

    assert build_added_pod(replace(judged, running=(pods,))).labels == labels


@pytest.mark.parametrize(("max_skew", "counting"), [(1, Demands((), None, None)), (0, EVERYWHERE)])
def test_nodes_count_for_a_valid_constraint_by_its_policies(
    max_skew: int, counting: Demands
) -> None:
    judged = deployed(spread(maxSkew=max_skew))
    spreads = resolve_valid(judged.constraints, judged.next_labels, gates())

    assert find_counting(judged, 0, spreads) == counting


def test_affinity_restricts_the_nodes_that_count() -> None:
    judged = deployed(spread(), template_spec={"nodeSelector": {"pool": "web"}})

    spreads = resolve_valid(judged.constraints, judged.next_labels, gates())

    assert find_counting(judged, 0, spreads).pairs == (("pool", "web"),)
