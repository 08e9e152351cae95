from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    custom,
    default,
    deployment,
    facts,
    owned_by,
    pod,
    policy,
    profile,
    request,
    selector,
    spread,
    template,
    workload,
)
from webhook.policy.defaulting.forecast import (
    POD_CONTROLLERS,
    ForecastFacts,
    describe_additions,
    find_labels,
    first_pod,
    forecast_defaults,
    forecast_injection,
)
from webhook.policy.defaulting.inject import InjectedConstraint, Injection, SkipReason, inject
from webhook.policy.defaulting.profiles import Mode, Policy, ScaleDown
from webhook.policy.kinds import (
    BUILT_IN_TEMPLATES,
    JOB_SET,
    LEADER_WORKER_SET,
    POD,
    POD_TEMPLATE,
    ROLLOUT,
)
from webhook.policy.model import ZONE, Constraint, GroupKind, LabelSelector, Node, Taint
from webhook.policy.paths import CONSTRAINTS_IN_POD
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.request import AdmissionRequest


def recommending(**changes: Any) -> Policy:
    """Build a policy with a profile that only recommends its defaults."""
    changes = {"constraints": (default(),), "mode": Mode.RECOMMEND, **changes}
    return policy(profile(**changes))


DEFAULTS = recommending()
WARNING = (
    "evenspread would give its pods the defaults of profile cluster: "
    "topology.kubernetes.io/zone (maxSkew 1, ScheduleAnyway)"
)

WEB = facts(app="web")
NOTHING = FakeFacts()

SELECTING = {"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}


def test_pods_have_a_controller_of_their_workloads_kind_or_of_one_that_it_creates() -> None:
    assert {kind.kind: row.kind for kind, row in POD_CONTROLLERS.items()} == {
        "CronJob": "Job",
        "DaemonSet": "DaemonSet",
        "Deployment": "ReplicaSet",
        "DeploymentConfig": "ReplicationController",
        "Job": "Job",
        "JobSet": "Job",
        "LeaderWorkerSet": "StatefulSet",
        "ReplicaSet": "ReplicaSet",
        "ReplicationController": "ReplicationController",
        "Rollout": "ReplicaSet",
        "Service": "ReplicaSet",
        "StatefulSet": "StatefulSet",
    }


@pytest.mark.parametrize("kind", [kind for kind in BUILT_IN_TEMPLATES if kind != POD], ids=str)
def test_the_pods_of_a_kind_are_selected_by_their_controller(kind: GroupKind) -> None:
    warned = forecast_defaults(request(workload(kind)), DEFAULTS, NOTHING)

    assert warned == ((WARNING,) if kind.kind in SELECTING else ())


@pytest.mark.parametrize("kind", [kind for kind in BUILT_IN_TEMPLATES if kind != POD], ids=str)
def test_the_pods_of_every_kind_are_selected_by_a_service(kind: GroupKind) -> None:
    assert forecast_defaults(request(workload(kind)), DEFAULTS, WEB) == (WARNING,)


def test_every_kind_with_a_controller_is_known() -> None:
    built_in = BUILT_IN_TEMPLATES.keys() - {POD, GroupKind("", "PodTemplate")}

    assert POD_CONTROLLERS.keys() >= built_in | {ROLLOUT, JOB_SET, LEADER_WORKER_SET}


def owned_only(*kinds: str) -> Policy:
    return recommending(owner_kinds=frozenset(kinds))


FORECASTS: dict[str, tuple[AdmissionRequest, Policy, bool]] = {
    "a Deployment is new": (request(deployment()), DEFAULTS, True),
    "a custom kind is new": (custom(deployment()), DEFAULTS, True),
    "its pods have the required owner": (
        request(deployment()),
        owned_only("ReplicaSet"),
        True,
    ),
    "a Deployment changes": (request(deployment(), old=deployment()), DEFAULTS, False),
    "a pod is new": (request(pod()), DEFAULTS, False),
    "a controller made the object": (
        request(workload(GroupKind("apps", "ReplicaSet"), owner=owned_by("Deployment"))),
        DEFAULTS,
        False,
    ),
    "there is no template": (request(deployment(), template=None), DEFAULTS, False),
    "its pods have their own": (request(deployment(spread())), DEFAULTS, False),
    "its pods have another owner": (request(deployment()), owned_only("Deployment"), False),
    "a Rollout is new": (custom(deployment()), owned_only("ReplicaSet"), True),
    "the owner of its pods is not known": (
        replace(custom(deployment()), kind=GroupKind("apps.kruise.io", "CloneSet")),
        owned_only("ReplicaSet"),
        False,
    ),
    "no profile fits": (request(deployment()), policy(), False),
    "the profile applies": (request(deployment()), recommending(mode=Mode.APPLY), False),
    "the profile applies in a policy that recommends": (
        request(deployment()),
        replace(recommending(mode=Mode.APPLY), mode=Mode.RECOMMEND),
        True,
    ),
    "another profile recommends": (
        request(deployment()),
        policy(profile(constraints=(default(),)), profile(name="later", mode=Mode.RECOMMEND)),
        False,
    ),
    "it holds a bare list of constraints": (
        custom(deployment(), path=CONSTRAINTS_IN_POD),
        DEFAULTS,
        False,
    ),
}


@pytest.mark.parametrize(("creation", "config", "warned"), FORECASTS.values(), ids=FORECASTS.keys())
def test_a_warning_is_given_if(creation: AdmissionRequest, config: Policy, warned: bool) -> None:
    assert forecast_defaults(creation, config, WEB) == ((WARNING,) if warned else ())


def test_the_constraints_of_a_warning_are_a_list() -> None:
    both = recommending(constraints=(default(), default(topology_key="rack", max_skew=2)))

    (warned,) = forecast_defaults(request(deployment()), both, WEB)

    assert warned == f"{WARNING}, rack (maxSkew 2, ScheduleAnyway)"


@pytest.mark.parametrize("kind", [kind for kind in BUILT_IN_TEMPLATES if kind != POD], ids=str)
@pytest.mark.parametrize("own", [(), (spread(),)])
def test_the_label_of_a_scale_down_is_forecast(kind: GroupKind, own: tuple[Json, ...]) -> None:
    keeping = recommending(scale_down=ScaleDown.KEEP_SPREAD)

    warned = forecast_defaults(request(workload(kind, *own)), keeping, WEB)

    ranked = kind.kind in {"Deployment", "ReplicaSet", "ReplicationController"}
    label = ("evenspread would label its pods evenspread.io/scale-down: keep-spread",)
    assert warned == (() if own else (WARNING,)) + (label if ranked else ())


CLONE_SET = GroupKind("apps.kruise.io", "CloneSet")
OTHER_SET = GroupKind("apps.kruise.io", "StatefulSet")


@pytest.mark.parametrize(
    ("kind", "injects"),
    [(CLONE_SET, True), (OTHER_SET, False), (POD, False), (POD_TEMPLATE, False)],
    ids=str,
)
def test_a_workload_of_a_custom_kind_selects_its_pods_if_its_selector_is_known(
    kind: GroupKind, injects: bool
) -> None:
    """OpenKruise's StatefulSet is not the one that kube-scheduler knows."""
    owners = {
        (NAMESPACE, "apps.kruise.io/v1", "CloneSet", "web"): selector(app="web"),
        (NAMESPACE, "v1", "Pod", "web"): selector(app="web"),
    }
    created = first_pod(kind, "web", template(pod()))

    injection = forecast_injection(
        created, NAMESPACE, policy(profile(constraints=(default(),))), FakeFacts(owners=owners)
    )

    assert bool(injection.entries) is injects


def test_the_facts_of_the_cluster_are_passed_on() -> None:
    nodes = [Node("n", {"zone": "a"}, (Taint("k", "v", "NoSchedule"),)), Node("m", {})]
    excepted = {NAMESPACE: [PolicyException(namespace=NAMESPACE, name="a", reason="b")]}
    known = FakeFacts(WEB.services_of, {}, {NAMESPACE: {"a": "b"}}, nodes, excepted)

    forecast = ForecastFacts(known, LabelSelector({"app": "web"}))

    assert forecast.exceptions(NAMESPACE) == excepted[NAMESPACE]
    assert forecast.services(NAMESPACE, {"app": "web"}) == known.services_of[NAMESPACE]
    assert forecast.namespace_labels(NAMESPACE) == {"a": "b"}
    assert (forecast.schedulable_nodes(), forecast.nodes_with("zone")) == (2, 1)
    assert (set(forecast.domains("zone")), forecast.label_keys()) == ({"a"}, {"zone"})
    assert forecast.tainted_domains("zone") == known.tainted_domains("zone") != []


def test_a_template_without_metadata_has_pods_without_labels() -> None:
    bare = deployment()
    del bare["spec"]["template"]["metadata"]
    every = FakeFacts(services_of={NAMESPACE: []})

    assert forecast_defaults(request(bare), DEFAULTS, every) == ()


def test_a_namespace_is_looked_at_as_for_pods() -> None:
    asking = recommending(namespace_selector=selector(tier="prod"))
    known = FakeFacts(services_of=WEB.services_of, namespaces={NAMESPACE: {"tier": "prod"}})

    assert forecast_defaults(request(deployment()), asking, known) == (WARNING,)
    assert forecast_defaults(request(deployment()), asking, WEB) == ()


@pytest.mark.parametrize("labelled", [False, True])
def test_what_a_new_pod_would_get_is_described(labelled: bool) -> None:
    label = ["evenspread would label it evenspread.io/scale-down: keep-spread"]

    assert [*describe_additions(None, labelled=labelled)] == (label if labelled else [])
    nothing = Injection(skip=SkipReason.NO_PROFILE)
    assert [*describe_additions(nothing, labelled=labelled)] == (label if labelled else [])
    zone = InjectedConstraint(Constraint(1, ZONE, "DoNotSchedule"), msgspec.Raw(), "")
    rack = InjectedConstraint(Constraint(1, "rack", "DoNotSchedule"), msgspec.Raw(), "")
    some = Injection(skip=SkipReason.NONE, profile="a", entries=(zone, rack), keys=(ZONE, "rack"))
    defaults = f"evenspread would add the defaults of profile a: {ZONE}, rack"
    assert [*describe_additions(some, labelled=labelled)] == [defaults, *label][: 1 + labelled]


KEEPING = policy(profile(constraints=(default(),), scale_down=ScaleDown.KEEP_SPREAD))

# pod, policy, whether it has labels; None if it gets no label of a rank
RANKED: dict[str, tuple[Json, Policy, bool | None]] = {
    "a pod with labels": (pod(spread(), owner=owned_by()), KEEPING, True),
    "a pod without labels": (pod(spread(), owner=owned_by(), labels={}), KEEPING, False),
    "the spread is not kept": (pod(spread(), owner=owned_by()), policy(profile()), None),
    "it has no constraints": (pod(owner=owned_by()), KEEPING, None),
    "no controller removes it": (pod(spread()), KEEPING, None),
}


@pytest.mark.parametrize(("new", "config", "labels"), RANKED.values(), ids=RANKED.keys())
def test_a_pod_that_gets_the_label_of_a_rank_has_labels_or_not(
    new: Json, config: Policy, labels: bool | None
) -> None:
    created, known = template(new), FakeFacts(services_of={NAMESPACE: []})
    injection = inject(created, NAMESPACE, config, known)

    assert find_labels(injection, created, NAMESPACE, known) is labels
