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
    running,
    subject,
    workload,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import ADD_LABELS
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, Mode, Policy
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, GroupKind, Node

NONE = policy(scheduler_defaults={DEFAULT_SCHEDULER: ()})
GIVING = policy(profile(constraints=(default(),)), scheduler_defaults={DEFAULT_SCHEDULER: ()})
RECOMMENDING = replace(GIVING, mode=Mode.RECOMMEND)
WEB = {"matchLabels": {"app": "web"}}
NODES = "kubernetes.io/hostname"
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


SIX = deployed(replicas=6)


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


@pytest.mark.parametrize(
    ("context", "zones"),
    [
        (audit(THREE, config=NONE), 0),
        (audit(THREE[:1], config=NONE), 1),
        (admission(THREE, config=NONE), 0),
    ],
    ids=["one of three", "the only one", "at admission"],
)
def test_no_zones_are_suggested_if_the_pods_can_go_to_one_only(
    context: AdviceContext, zones: int
) -> None:
    in_a = deployed(template_spec={"nodeSelector": {ZONE: "zone-a"}})

    (violation,) = check_rule("TSC110", in_a, context)

    assert violation.instead.count("topologyKey: topology.kubernetes.io/zone") == zones
    assert violation.instead.count("topologyKey: kubernetes.io/hostname") == 1


def test_no_constraints_are_suggested_for_pods_without_labels() -> None:
    set_of_pods = subject(workload(kind=CLONE_SET, labels={}), ("spec", "template"))

    (violation,) = check_rule("TSC110", set_of_pods, admission(config=NONE))

    assert violation.instead == ADD_LABELS
