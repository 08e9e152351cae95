from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, default, gates, pod, policy, profile, spread
from tests.policy.advice.subjects import (
    ROLLOUT,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    node,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import ADD_LABELS
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, SYSTEM_CONSTRAINTS, Mode, Policy
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME, ZONE, Constraint, GroupKind, Node

STOCK = policy()
NONE = policy(scheduler_defaults={DEFAULT_SCHEDULER: ()})
GIVING = policy(profile(constraints=(default(),)), scheduler_defaults={DEFAULT_SCHEDULER: ()})
RECOMMENDING = replace(GIVING, mode=Mode.RECOMMEND)
WEB = {"matchLabels": {"app": "web"}}
NODES = "kubernetes.io/hostname"
JOB = GroupKind("batch", "Job")
CLONE_SET = GroupKind("apps.kruise.io", "CloneSet")


def apart(required: bool = True, labels: Json | None = None, **term: Any) -> Subject:
    """Make a Deployment whose pods have one anti-affinity."""
    lacking = {"topologyKey": NODES, "labelSelector": WEB, **term}
    against = (
        {"requiredDuringSchedulingIgnoredDuringExecution": [lacking]}
        if required
        else {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": lacking}
            ]
        }
    )
    return deployed(labels=labels, template_spec={"affinity": {"podAntiAffinity": against}})


def ports(*listed: Json) -> Json:
    """Make the part of a specification that requests ports."""
    return {"containers": [{"name": "web", "image": "web", "ports": list(listed)}]}


def beside(key: str = NODES, **labels: str) -> Subject:
    """Make a Deployment whose pods must be where pods with some labels are."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    among = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return deployed(template_spec={"affinity": {"podAffinity": among}})


BARE: dict[str, tuple[Subject, Policy, bool]] = {
    "a Deployment of six": (deployed(), NONE, True),
    "a StatefulSet": (subject(workload(kind=STATEFUL_SET)), NONE, True),
    "a Job of four pods": (
        subject(workload(kind=GroupKind("batch", "Job"), replicas=None, parallelism=4)), NONE, True
    ),
    "a custom kind": (subject(workload(kind=ROLLOUT), ("spec", "template")), NONE, True),
    "a profile in recommend mode": (deployed(), RECOMMENDING, True),
    "an anti-affinity to others": (apart(labelSelector={"matchLabels": {"app": "x"}}), NONE, True),
    "an anti-affinity to no pod": (apart(labelSelector=None), NONE, True),
    "an anti-affinity over nothing": (apart(topologyKey=""), NONE, True),
    "an anti-affinity in another namespace": (apart(namespaces=["bank"]), NONE, True),
    "an anti-affinity to pods that differ in a label they all carry": (
        apart(mismatchLabelKeys=["app"]), NONE, True
    ),
    "an anti-affinity to pods that differ in a label they lack": (
        apart(mismatchLabelKeys=["tenant"]), NONE, False
    ),
    "pods that must be in the zone of others": (beside("zone", app="x"), NONE, True),
    "pods that must be together": (beside(app="web"), NONE, True),
    "pods that must be on the nodes of others": (beside(app="x"), NONE, False),
    "pods that require a port of the node": (replace(deployed(), alone_on_node=True), NONE, False),
    "a constraint": (deployed(spread()), NONE, False),
    "a soft constraint": (deployed(spread(whenUnsatisfiable="ScheduleAnyway")), NONE, False),
    "an anti-affinity": (apart(), NONE, False),
    "a preferred anti-affinity": (apart(required=False), NONE, False),
    "an anti-affinity in its namespace": (apart(namespaces=["bank", "shop"]), NONE, False),
    "an anti-affinity in some namespaces": (
        apart(namespaces=["bank"], namespaceSelector={}), NONE, False
    ),
    "a profile that gives it defaults": (deployed(), GIVING, False),
    "running pods that have constraints": (
        replace(deployed(), running=(running("a1", constraints=(spread(),)),)), NONE, False
    ),
    "a part, whose labels and constraints stand elsewhere": (deployed(labels={}), NONE, False),
    "a part that has an anti-affinity": (apart(labels={}), NONE, False),
    "a Job without labels, which is whole": (
        subject(workload(kind=GroupKind("batch", "Job"), replicas=None, parallelism=4, labels={})),
        NONE, True
    ),
    "one replica": (deployed(replicas=1), NONE, False),
    "replicas that are left to an autoscaler": (deployed(replicas=None), NONE, False),
    "a DaemonSet": (subject(workload(kind=DAEMON_SET)), NONE, False),
    "a Job of one pod": (
        subject(workload(kind=GroupKind("batch", "Job"), replicas=None)), NONE, False
    ),
    "a Pod": (subject(pod()), NONE, False),
    "a PodTemplate": (
        subject({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {}, "template": pod()}),
        NONE, False,
    ),
    "pods that are written for one node": (
        deployed(template_spec={"nodeName": "a1"}), NONE, False
    ),
    "pods that require one node by its label": (
        deployed(template_spec={"nodeSelector": {NODES: "a1"}}), NONE, False
    ),
    "pods that require one zone": (
        deployed(template_spec={"nodeSelector": {"topology.kubernetes.io/zone": "a"}}), NONE, True
    ),
    "a port of the node": (
        deployed(template_spec=ports({"containerPort": 80, "hostPort": 80})), NONE, False
    ),
    "a port of its own": (deployed(template_spec=ports({"containerPort": 80})), NONE, True),
    "a port of its own that is explicit": (
        deployed(template_spec=ports({"containerPort": 80, "hostPort": 0})), NONE, True
    ),
    "the network of the node, and a port": (
        deployed(template_spec={**ports({"containerPort": 80}), "hostNetwork": True}), NONE, False
    ),
    "the network of the node, and no port": (
        deployed(template_spec={**ports(), "hostNetwork": True}), NONE, True
    ),
    "a namespace that gets no defaults": (
        deployed(), replace(GIVING, exempt_namespaces=frozenset({"shop"})), True
    ),
    "pods that want no defaults": (
        deployed(labels={"app": "web", "evenspread.io/skip": "true"}), GIVING, True
    ),
    "an anti-affinity to pods of other tenants": (
        apart(labels={"app": "web", "tenant": "x"}, mismatchLabelKeys=["tenant"]), NONE, True
    ),
    "an anti-affinity to pods of its revision": (
        apart(matchLabelKeys=["pod-template-hash"]), NONE, False
    ),
    "an anti-affinity to tenants that it is none of": (
        apart(mismatchLabelKeys=["tenant"]), NONE, False
    ),
    "Kubernetes does not spread yet": (
        deployed(), policy(gates=gates(EvenPodsSpread=False)), False
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "config", "fires"), BARE.values(), ids=BARE.keys())
def test_a_workload_that_nothing_spreads(judged: Subject, config: Policy, fires: bool) -> None:
    assert bool(check_rule("TSC110", judged, admission(config=config))) is fires


def test_a_constraint_on_zones_and_one_on_nodes_are_to_be_written() -> None:
    (violation,) = check_rule("TSC110", deployed(replicas=3), admission())

    tail = (
        "whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [pod-template-hash], "
        "labelSelector: {matchLabels: {app: web}}}"
    )
    assert violation.field == "spec.template.spec.topologySpreadConstraints"
    assert violation.instead.splitlines() == [
        "topologySpreadConstraints:",
        f"- {{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, {tail}",
        f"- {{maxSkew: 1, topologyKey: kubernetes.io/hostname, {tail}",
    ]


@pytest.mark.parametrize(
    ("judged", "config"),
    [
        (replace(deployed(replicas=3), recreates=True), policy()),
        (deployed(replicas=3), policy(gates=gates(Version(1, 26)))),
        (subject(workload(kind=STATEFUL_SET, replicas=3)), policy()),
    ],
    ids=["no surge", "without the gate", "another kind"],
)
def test_revisions_are_distinguished_where_that_has_an_effect(
    judged: Subject, config: Policy
) -> None:
    (violation,) = check_rule("TSC110", judged, admission(config=config))

    assert "matchLabelKeys" not in violation.instead


def scaled(least: int, most: int, replicas: int | None = None) -> Subject:
    """Make a Deployment that an autoscaler scales."""
    return replace(
        deployed(replicas=replicas), scaling=ReplicaRange(least, most, "ScaledObject/web")
    )


def job(labels: Json | None = None) -> Subject:
    """Make a Job of two pods, which no controller that kube-scheduler knows controls."""
    return subject(workload(kind=JOB, replicas=None, parallelism=2, labels=labels))


LISTED = {DEFAULT_SCHEDULER: (Constraint(2, ZONE, DO_NOT_SCHEDULE),)}
OTHER = {"schedulerName": "volcano"}
HOST_ONLY = [node("a1"), node("a2")]

# subject, policy, a part of the problem; empty if the defaults are enough
DEFAULTED: dict[str, tuple[Subject, AdviceContext, str]] = {
    "two replicas": (
        deployed(replicas=2), admission(),
        ("only kube-scheduler's System defaults spread its 2 replicas: ScheduleAnyway over "
        "kubernetes.io/hostname with maxSkew 3 and ScheduleAnyway over topology.kubernetes.io/zone "
        "with maxSkew 5, which prefer emptier domains and keep no pod from any; a skew of 2, all "
        "on one node, is within all of them"),
    ),
    "as many as the smallest maxSkew": (deployed(replicas=3), admission(), "its 3 replicas: "),
    "more": (deployed(replicas=4), admission(), ""),
    "a StatefulSet": (
        subject(workload(kind=STATEFUL_SET, replicas=2)), admission(), "System defaults"
    ),
    "a Rollout, whose pods belong to a ReplicaSet": (
        subject(workload(kind=ROLLOUT, replicas=2), ("spec", "template")), admission(), "System"
    ),
    "a Job, which has no default": (
        job(), admission(), "since kube-scheduler's are only for pods of a Service, ReplicaSet, "
    ),
    "a Job with a Service": (job(), admission(services={"app": "web"}), "System defaults spread"),
    "another scheduler": (
        deployed(replicas=6, template_spec=OTHER), admission(),
        'since those of scheduler "volcano" are unknown',
    ),
    "another scheduler that is configured": (
        deployed(template_spec=OTHER),
        admission(config=policy(scheduler_defaults={"volcano": SYSTEM_CONSTRAINTS})), "",
    ),
    "defaults of a file": (
        deployed(replicas=2), admission(config=policy(scheduler_defaults=LISTED)),
        ('only the defaults of scheduler "default-scheduler" spread its 2 replicas: DoNotSchedule '
        "over topology.kubernetes.io/zone with maxSkew 2; a skew of 2"),
    ),
    "defaults of a file that suffice": (
        deployed(replicas=3), admission(config=policy(scheduler_defaults=LISTED)), ""
    ),
    "an empty list of defaults": (
        deployed(replicas=6), admission(config=NONE), 'since scheduler "default-scheduler" has none'
    ),
    "nodes without the key of the only default": (
        deployed(), admission(HOST_ONLY, config=policy(scheduler_defaults=LISTED)),
        "since no node has a key of kube-scheduler's",
    ),
    "nodes without zones": (
        deployed(replicas=2), admission(HOST_ONLY), "over kubernetes.io/hostname with maxSkew 3, "
    ),
    "a profile that allows all in one zone": (
        deployed(replicas=2),
        admission(config=policy(profile(constraints=(default(max_skew=2),)))),
        "only the defaults of profile cluster spread its 2 replicas",
    ),
    "a profile over a label of no node": (
        deployed(), admission(config=policy(profile(constraints=(default(topology_key="rack"),)))),
        "no default constraint applies, since no node has a key of the defaults of profile cluster",
    ),
    "a profile over one label of no node": (
        deployed(),
        admission(
            config=policy(profile(constraints=(default(topology_key="rack"), default())))
        ),
        "",
    ),
    "a profile that keeps all pods Pending, of TSC103": (
        deployed(),
        admission(
            config=policy(
                profile(
                    constraints=(
                        default(topology_key="rack", when_unsatisfiable="DoNotSchedule"),
                    )
                )
            )
        ),
        "",
    ),
    "an autoscaler that leaves two": (
        scaled(2, 9), admission(),
        "only kube-scheduler's System defaults spread its replicas (2 to 9 by ScaledObject/web)",
    ),
    "an autoscaler that leaves four": (scaled(4, 9), admission(), ""),
    "an autoscaler that leaves one": (scaled(1, 9), admission(), ""),
    "an autoscaler that leaves one of three": (scaled(0, 3), admission(), "System defaults"),
    "an autoscaler that has at most one": (scaled(0, 1, replicas=6), admission(), ""),
    "no default, and an autoscaler": (
        scaled(1, 9), admission(config=NONE), "nothing spreads its replicas (1 to 9 by Scaled"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "context", "problem"), DEFAULTED.values(), ids=DEFAULTED.keys())
def test_defaults_that_are_not_enough(
    judged: Subject, context: AdviceContext, problem: str
) -> None:
    violations = check_rule("TSC110", judged, context)

    assert len(violations) == (1 if problem else 0)
    assert all(problem in violation.problem for violation in violations)


SIX = deployed(replicas=6)

CROWDED: dict[str, tuple[list[str], str]] = {
    "one node": (["a1"] * 6, "all its 6 pods run on node a1"),
    "one zone": (["a1", "a2"], "all its 2 pods run in zone zone-a"),
    "two zones": (["a1", "a2", "b1"], ""),
    "one pod": (["a1"], ""),
    "pods without a node": (["", ""], ""),
    "a node that is gone": (["gone", "gone"], ""),
}


@pytest.mark.parametrize(("nodes", "crowd"), CROWDED.values(), ids=CROWDED.keys())
def test_pods_that_all_run_in_one_domain_in_spite_of_defaults(nodes: list[str], crowd: str) -> None:
    pods = [running(*nodes)]

    violations = check_rule("TSC110", replace(SIX, running=tuple(pods)), audit(THREE, pods))

    assert [violation.problem.rpartition("; ")[2] for violation in violations] == (
        [crowd] if crowd else []
    )


def test_pods_with_one_place_to_go_to_are_not_crowded() -> None:
    pods = [running("a1", "a1")]

    assert check_rule("TSC110", replace(SIX, running=tuple(pods)), audit(zones("a1"), pods)) == []


def test_pods_of_a_profile_are_a_matter_of_other_rules() -> None:
    pods = [running("a1", "a1")]
    judged = replace(SIX, running=tuple(pods))

    assert check_rule("TSC110", judged, audit(THREE, pods, config=GIVING)) == []


@pytest.mark.parametrize("field", ["schedulingGroup", "workloadRef"])
def test_a_gang_is_placed_by_its_group(field: str) -> None:
    gang = deployed(replicas=3, template_spec={field: {"podGroupName": "workers"}})

    assert check_rule("TSC110", gang, admission()) == []


def test_the_constraints_to_be_written_count_no_others() -> None:
    labels = {"app": "web", "part": "server"}
    context = audit(members={"Deployment/cache": {"app": "web", "part": "cache"}}, config=NONE)

    (violation,) = check_rule("TSC110", deployed(labels=labels), context)

    assert violation.instead.count("labelSelector: {matchLabels: {app: web, part: server}}") == 2


ZONELESS = Node("zoneless", {HOSTNAME: "zoneless"})


@pytest.mark.parametrize(
    ("nodes", "zones"), [((), 1), (THREE, 1), ((*THREE, ZONELESS), 0), ((ZONELESS,), 0)]
)
def test_no_zones_are_suggested_if_a_node_has_none(nodes: tuple[Node, ...], zones: int) -> None:
    (violation,) = check_rule("TSC110", deployed(), audit(nodes, config=NONE))

    assert violation.instead.count("topology.kubernetes.io/zone") == zones
    assert violation.instead.count("kubernetes.io/hostname") == 1


def test_no_constraints_are_suggested_for_pods_without_labels() -> None:
    set_of_pods = subject(workload(kind=CLONE_SET, labels={}), ("spec", "template"))

    (violation,) = check_rule("TSC110", set_of_pods, admission(config=NONE))

    assert violation.instead == ADD_LABELS


SYSTEM_SPREAD = (
    "(ScheduleAnyway over kubernetes.io/hostname with maxSkew 3 and ScheduleAnyway over "
    "topology.kubernetes.io/zone with maxSkew 5, which prefer emptier domains and keep no pod from "
    "any)"
)


def grouped(groups: int, size: int, part: str = "workerTemplate", **members: Any) -> Subject:
    """Read a LeaderWorkerSet without constraints."""
    metadata = {"name": "lws", "annotations": members.pop("annotations", {})}
    template = {"size": size, "workerTemplate": pod(), **members}
    obj: Json = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata,
        "spec": {"replicas": groups, "leaderWorkerTemplate": template},
    }
    return subject(obj, ("spec", "leaderWorkerTemplate", part))


UNSPREAD_GROUPS = {
    "leaders and workers": (grouped(10, 2), "20 replicas", 2),
    "workers": (grouped(10, 3, leaderTemplate=pod()), "20 replicas", 3),
}


@pytest.mark.parametrize(
    ("lws", "number", "together"), UNSPREAD_GROUPS.values(), ids=UNSPREAD_GROUPS
)
def test_the_system_defaults_spread_no_groups_of_workers(
    lws: Subject, number: str, together: int
) -> None:
    (found,) = check_rule("TSC110", lws, admission(config=STOCK))

    assert found.problem == (
        f"nothing spreads the groups of its {number}: for a worker, kube-scheduler's System "
        f"defaults count only the pods of its group {SYSTEM_SPREAD}; {together} pods, all on one "
        "node, are within all of them"
    )


SPREAD_GROUPS = {
    "large groups": grouped(10, 4),
    "workers of large groups": grouped(10, 4, leaderTemplate=pod()),
    "leaders": grouped(10, 2, "leaderTemplate", leaderTemplate=pod()),
    "leaders alone": grouped(10, 1),
    "one large group": grouped(1, 8),
    "groups that are kept apart": grouped(
        10, 2, annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": ZONE}
    ),
    "large groups without labels": grouped(10, 4, workerTemplate=pod(labels={})),
}


@pytest.mark.parametrize("lws", SPREAD_GROUPS.values(), ids=SPREAD_GROUPS)
def test_the_system_defaults_spread_large_groups(lws: Subject) -> None:
    assert not check_rule("TSC110", lws, admission(config=STOCK))


def test_a_small_number_of_leaders_is_spread_by_no_default() -> None:
    (found,) = check_rule("TSC110", grouped(3, 1), admission(config=STOCK))

    assert found.problem.startswith("only kube-scheduler's System defaults spread its 3 replicas: ")
