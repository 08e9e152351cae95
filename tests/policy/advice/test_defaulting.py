from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, default, gates, owned_by, pod, policy, profile, spread
from tests.policy.advice.subjects import (
    ROLLOUT,
    admission,
    audit,
    check_rule,
    deployed,
    running,
    subject,
    workload,
)
from webhook.policy.advice.defaulting import completes_selectors
from webhook.policy.advice.subject import RunningPods, Subject
from webhook.policy.defaulting.inject import inject
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.model import GroupKind, PodTemplate
from webhook.policy.selectors import merge_match_label_keys

NONE = policy()
GIVING = policy(profile(constraints=(default(),)))
RECOMMENDING = replace(GIVING, mode=Mode.RECOMMEND)
WEB = {"matchLabels": {"app": "web"}}
NODES = "kubernetes.io/hostname"


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
    (violation,) = check_rule("TSC110", deployed(), admission())

    tail = "whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}"
    assert violation.field == "spec.template.spec.topologySpreadConstraints"
    assert violation.instead.splitlines() == [
        "topologySpreadConstraints:",
        f"- {{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, {tail}",
        f"- {{maxSkew: 1, topologyKey: kubernetes.io/hostname, {tail}",
    ]


WITH_KEYS = policy(profile(constraints=(default(match_label_keys=("rev",)),)))
LABELS = {"app": "web", "rev": "1"}


def injected(config: Policy, labels: Json, *, merged: bool = False) -> PodTemplate:
    """Make a pod that got its defaults, as the API server stores it."""
    raw = pod(labels=labels, owner=owned_by())
    bare = subject(raw).pod
    context = admission(config=config, services={"app": "web"})
    given = inject(bare, "shop", config, context.facts)
    constraints = tuple(
        replace(
            violation.constraint,
            label_selector=subject(pod(spread())).constraints[0].label_selector,
        )
        for violation in given.entries
    )
    assert bare.metadata is not None
    assert bare.spec is not None
    annotations = {"evenspread.io/defaults": given.annotation}
    stored = merge_match_label_keys(constraints, labels) if merged else constraints
    return PodTemplate(
        replace(bare.metadata, annotations=annotations),
        replace(bare.spec, topology_spread_constraints=stored, node_name="a1"),
    )


BARE_POD = running("a1", "b1")
OWN = running("a1", constraints=(spread(),))
GIVEN = RunningPods(injected(GIVING, LABELS), {"a1": 3})
MERGED = RunningPods(injected(WITH_KEYS, LABELS, merged=True), {"a1": 3})
UNMERGED = RunningPods(injected(WITH_KEYS, LABELS), {"a1": 3})
WITHOUT_MERGE = replace(
    WITH_KEYS, gates=gates(MatchLabelKeysInPodTopologySpreadSelectorMerge=False)
)

# running pods, policy, Services, how many lack what
LACKING: dict[str, tuple[list[RunningPods], Policy, Json, str]] = {
    "pods older than the profile": ([BARE_POD], GIVING, {"app": "web"}, "2 of 2"),
    "some of them": ([BARE_POD, GIVEN], GIVING, {"app": "web"}, "2 of 5"),
    "pods older than a Service": ([GIVEN], GIVING, {"app": "web", "rev": "1"}, "3 of 3"),
    "pods that have what they should": ([GIVEN], GIVING, {"app": "web"}, ""),
    "the API server merged their keys": ([MERGED], WITH_KEYS, {"app": "web"}, ""),
    "the API server does not merge keys": ([UNMERGED], WITHOUT_MERGE, {"app": "web"}, ""),
    "it merges, but did not when they came": ([UNMERGED], WITH_KEYS, {"app": "web"}, ""),
    "pods with constraints of their own": ([OWN], GIVING, {"app": "web"}, ""),
    "one whose selector is null": (
        [running("a1", constraints=(spread(labelSelector=None, matchLabelKeys=["app"]),))],
        GIVING, {"app": "web"}, "",
    ),
    "no profile": ([BARE_POD], NONE, {"app": "web"}, ""),
    "a profile that is gone": ([GIVEN], NONE, {"app": "web"}, ""),
    "nothing to select them by": ([BARE_POD], GIVING, {"app": "shop"}, ""),
    "no pods": ([], GIVING, {"app": "web"}, ""),
    "recommend mode": ([BARE_POD], RECOMMENDING, {"app": "web"}, ""),
    "a namespace that gets no defaults": (
        [BARE_POD], replace(GIVING, exempt_namespaces=frozenset({"shop"})), {"app": "web"}, ""
    ),
    "pods that want no defaults": (
        [running("a1", labels={"app": "web", "evenspread.io/skip": "true"})],
        GIVING, {"app": "web"}, "",
    ),
    "pods without a specification": (
        [RunningPods(PodTemplate(), {"": 1})], GIVING, {"app": "web"}, ""
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("pods", "config", "services", "lacking"), LACKING.values(), ids=LACKING.keys()
)
def test_pods_that_lack_their_defaults(
    pods: list[RunningPods], config: Policy, services: Json, lacking: str
) -> None:
    judged = replace(deployed(), running=tuple(pods))

    violations = check_rule("TSC115", judged, audit(pods=pods, config=config, services=services))

    expected = [f"{lacking} pods lack the defaults of profile cluster"] if lacking else []
    assert [violation.brief for violation in violations] == expected


NULL = spread(labelSelector=None)
COMPLETING = policy(profile(constraints=(default(),), complete_selectors=True))

COMPLETED: dict[str, tuple[Subject, Policy, bool]] = {
    "a profile completes it": (deployed(NULL), COMPLETING, True),
    "a profile leaves it": (deployed(NULL), GIVING, False),
    "no profile": (deployed(NULL), NONE, False),
    "recommend mode": (deployed(NULL), replace(COMPLETING, mode=Mode.RECOMMEND), False),
    "a pod that has its node": (subject(pod(NULL, nodeName="a1")), COMPLETING, False),
    "nothing to complete it by": (subject(pod(NULL)), COMPLETING, False),
}


@pytest.mark.parametrize(("judged", "config", "expected"), COMPLETED.values(), ids=COMPLETED.keys())
def test_whether_selectors_will_be_completed(
    judged: Subject, config: Policy, expected: bool
) -> None:
    assert completes_selectors(judged, admission(config=config)) is expected
