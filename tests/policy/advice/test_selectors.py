import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, default, owned_by, pod, policy, profile, spread
from tests.policy.advice.subjects import (
    NO_MATCH_LABEL_KEYS,
    admission,
    audit,
    check_rule,
    deployed,
    job_set,
    running,
    subject,
    suggestions,
    worker_set,
    workload,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import ADD_LABELS
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.placement.nodes import Demands

HASH = "pod-template-hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"
WORKER = "leaderworkerset.sigs.k8s.io/worker-index"
JOB = GroupKind("batch", "Job")
PATH = ("spec", "template")


def selecting(*expressions: Json, **pairs: str) -> Json:
    return spread(labelSelector={"matchLabels": pairs, "matchExpressions": list(expressions)})


def expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


TEMPLATE = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "web"},
    "template": pod(selecting(revision="x")),
}

# subject, problem; None if there is none
ITSELF: dict[str, tuple[Subject, str | None]] = {
    "another value": (
        deployed(selecting(app="shop")),
        "requires app=shop, but the pod has app=web",
    ),
    "a label that is missing": (
        deployed(selecting(tier="x")),
        "requires tier=x, but the pod has no label tier",
    ),
    "an expression": (
        deployed(selecting(expression("app", "NotIn", "web"))),
        "requires app notin (web), but the pod has app=web",
    ),
    "the hash of an earlier revision": (
        subject(pod(selecting(expression(HASH, "In", "old")), labels={HASH: "new"})),
        f"requires {HASH}=old, but the pod has {HASH}=new",
    ),
    "a hash in the template of a StatefulSet": (
        subject(workload(selecting(expression(HASH, "Exists")), kind=STATEFUL_SET)),
        f"requires {HASH}, but the pod has no label {HASH}",
    ),
    "its own labels": (deployed(selecting(app="web")), None),
    "a part, whose labels stand elsewhere": (deployed(selecting(app="web"), labels={}), None),
    "no selector": (deployed(spread(labelSelector=None)), None),
    "an empty selector": (deployed(spread(labelSelector={})), None),
    "a hash that the controller will add": (
        deployed(selecting(expression(HASH, "Exists"), app="web")),
        None,
    ),
    "a label that the controller will add": (
        deployed(selecting({"key": HASH, "operator": "Exists", "values": []}, app="web")),
        None,
    ),
    "a label that an unknown controller may add": (
        subject(workload(selecting(revision="x"), kind=GroupKind("example.com", "Shards")), PATH),
        None,
    ),
    "matchLabelKeys that the pod carries": (deployed(spread(matchLabelKeys=["app"])), None),
    "matchLabelKeys that the pod lacks": (deployed(spread(matchLabelKeys=["tier"])), None),
    "an operator that there is not": (deployed(selecting(expression("app", "Is", "x"))), None),
    "a label that a StatefulSet gives each pod": (
        subject(
            workload(
                selecting(expression("apps.kubernetes.io/pod-index", "Exists"), app="web"),
                kind=STATEFUL_SET,
            )
        ),
        None,
    ),
    "a label that a Job gives its pods": (
        subject(workload(selecting(**{"job-name": "web"}), kind=JOB, parallelism=4)),
        None,
    ),
    "the name of another Job": (
        subject(workload(selecting(**{"job-name": "shop"}), kind=JOB, parallelism=4)),
        "requires job-name=shop, but the pod has job-name=web",
    ),
    "a pod that no group of a LeaderWorkerSet has": (
        worker_set(labelSelector={"matchLabels": {WORKER: "2"}}),
        (
            f"requires {WORKER}=2, but the pod has {WORKER}=<worker>, which differs by pod, "
            "from 0 to 1"
        ),
    ),
    "the name of a pod of another StatefulSet": (
        subject(workload(selecting(**{POD_NAME: "shop-0"}), kind=STATEFUL_SET)),
        (
            f"requires {POD_NAME}=shop-0, but the pod has {POD_NAME}=web-<ordinal>, "
            "which differs by pod"
        ),
    ),
    "a DaemonSet that counts its pods": (
        subject(workload(selecting(app="web"), kind=DAEMON_SET)),
        None,
    ),
    "a template that anything may use": (
        subject(TEMPLATE),
        None,
    ),
}


@pytest.mark.parametrize(("judged", "problem"), ITSELF.values(), ids=ITSELF.keys())
def test_a_selector_that_does_not_match_its_own_pod(judged: Subject, problem: str | None) -> None:
    violations = check_rule("TSC101", judged, admission())

    assert [violation.brief for violation in violations] == (
        [f"labelSelector {problem}"] if problem else []
    )


def test_the_selector_to_write_matches() -> None:
    (violation,) = check_rule("TSC101", deployed(spread(), selecting(app="shop")), admission())

    assert violation.field == "spec.template.spec.topologySpreadConstraints[1].labelSelector"
    assert violation.instead == "labelSelector: {matchLabels: {app: web}}"


CRON_JOB_WITHOUT_LABELS: Json = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "web"},
    "spec": {"jobTemplate": {"spec": {"parallelism": 3, "template": pod(spread(), labels={})}}},
}


def test_pods_without_labels_get_no_selector_that_misses_them() -> None:
    (violation,) = check_rule("TSC101", subject(CRON_JOB_WITHOUT_LABELS), admission())

    assert violation.instead == ADD_LABELS


def knative(*constraints: Json, **labels: str) -> Subject:
    template = pod(*constraints, labels=labels)
    del template["metadata"]["name"]
    head = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "web"}}
    return subject({**head, "spec": {"template": template}}, ("spec", "template"))


def test_pods_of_a_knative_service_carry_the_name_of_their_revision() -> None:
    named, revision = selecting(app="web"), selecting(app="web-00001")

    (violation,) = check_rule("TSC101", knative(named), admission())
    silent = [knative(revision), knative(named, app="web")]

    assert violation.brief == (
        "labelSelector requires app=web, but the pod has app=web-<revision>, which differs by "
        "revision"
    )
    assert [check_rule("TSC101", judged, admission()) for judged in silent] == [[], []]


NULL, EMPTY = spread(labelSelector=None), spread(labelSelector={})
COMPLETING = policy(profile(constraints=(default(),), complete_selectors=True))
NOT_COMPLETING = policy(profile(constraints=(default(),)))

COUNTED: dict[str, tuple[Subject, Policy, str | None]] = {
    "null": (deployed(NULL), policy(), "null"),
    "empty": (deployed(EMPTY), policy(), "empty"),
    "empty, with a key that no pod carries": (
        deployed(spread(labelSelector={}, matchLabelKeys=["tier"])), policy(), "empty"
    ),
    "empty, with the hash in a StatefulSet": (
        subject(workload(spread(labelSelector={}, matchLabelKeys=[HASH]), kind=STATEFUL_SET)),
        policy(), "empty",
    ),
    "empty, with a key, and its gate off": (
        deployed(spread(labelSelector={}, matchLabelKeys=["app"])),
        policy(gates=NO_MATCH_LABEL_KEYS), "empty",
    ),
    "null in a pod that runs": (subject(pod(NULL, nodeName="a1")), COMPLETING, "null"),
    "null, and a profile that leaves it": (deployed(NULL), NOT_COMPLETING, "null"),
    "null, in recommend mode": (
        deployed(NULL), policy(*COMPLETING.profiles, mode=Mode.RECOMMEND), "null"
    ),
    "null, of which nothing can be derived": (
        subject(pod(NULL, owner=owned_by("Job"))), COMPLETING, "null"
    ),
    "null, and a profile that completes it": (deployed(NULL), COMPLETING, None),
    "empty, with a key that the pod carries": (
        deployed(spread(labelSelector={}, matchLabelKeys=["app"])), policy(), None
    ),
    "empty, with the hash in a Deployment": (
        deployed(spread(labelSelector={}, matchLabelKeys=[HASH])), policy(), None
    ),
    "some selector": (deployed(spread()), policy(), None),
    "null in a part, whose selector may stand elsewhere": (
        deployed(NULL, labels={}), policy(), None
    ),
    "empty in a part": (deployed(EMPTY, labels={}), policy(), None),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "config", "word"), COUNTED.values(), ids=COUNTED.keys())
def test_a_selector_that_counts_no_pod(judged: Subject, config: Policy, word: str | None) -> None:
    violations = check_rule("TSC102", judged, admission(config=config))

    problem = f"labelSelector is {word} and counts no pod: the constraint spreads nothing"
    assert [violation.problem for violation in violations] == ([problem] if word else [])


OTHERS = {
    "Deployment/web": {"app": "web", "part": "server"},
    "Deployment/cache": {"app": "web", "part": "cache"},
    "Deployment/shop": {"app": "shop"},
}
SERVER = {"app": "web", "part": "server"}

STRANGERS: dict[str, tuple[Subject, str | None]] = {
    "another workload of the same label": (
        deployed(spread(), labels=SERVER),
        "labelSelector: {matchLabels: {app: web, part: server}}",
    ),
    "another workload of the same labels": (
        deployed(spread(), labels={"app": "web"}),
        "# give its pods a label that no others have, and add it to the labelSelector",
    ),
    "its own pods only": (deployed(selecting(**SERVER), labels=SERVER), None),
    "its own revision only": (deployed(spread(matchLabelKeys=[HASH]), labels=SERVER), None),
    "its own running revision only": (
        subject(
            workload(spread(matchLabelKeys=[HASH]), labels=SERVER),
            running=(running("a1", labels={**SERVER, HASH: "new"}),),
        ),
        None,
    ),
    "pods of others but not its own": (deployed(selecting(app="shop"), labels=SERVER), None),
    "no pod": (deployed(NULL, labels=SERVER), None),
    "one replica, which only others can be even with": (
        deployed(spread(), labels=SERVER, replicas=1),
        None,
    ),
    "a Pod, which only others can be even with": (subject(pod(spread(), labels=SERVER)), None),
    "pods that have their node": (
        deployed(spread(), labels=SERVER, template_spec={"nodeName": "a1"}),
        None,
    ),
}


@pytest.mark.parametrize(("judged", "instead"), STRANGERS.values(), ids=STRANGERS.keys())
def test_a_selector_that_counts_others(judged: Subject, instead: str | None) -> None:
    violations = check_rule("TSC113", judged, audit(members=OTHERS))

    assert [violation.instead for violation in violations] == ([instead] if instead else [])


FLEET = GroupKind("agones.dev", "GameServer")


@pytest.mark.parametrize(("nodes", "reported"), [(["a1"], False), (["a1", "b1"], True)])
def test_the_only_pod_of_an_unknown_controller_is_spread_with_others(
    nodes: list[str], *, reported: bool
) -> None:
    running_pods = running(*nodes, labels=SERVER)
    judged = subject(pod(spread(), labels=SERVER), kind=FLEET, running=(running_pods,))

    assert bool(check_rule("TSC113", judged, audit(members=OTHERS))) is reported


@pytest.mark.parametrize(("policy_of", "reported"), [(None, False), ("Ignore", True)])
def test_others_on_nodes_that_are_left_out_do_not_count(
    policy_of: str | None, *, reported: bool
) -> None:
    own = {"nodeSelector": {"pool": "web"}}
    judged = deployed(spread(nodeAffinityPolicy=policy_of), labels=SERVER, template_spec=own)
    elsewhere = {("shop", "Deployment/cache"): Demands(pairs=(("pool", "cache"),))}
    context = audit(members=OTHERS)
    assert context.cluster is not None
    known = context.cluster.with_pods(
        context.cluster.census, context.cluster.members.copy(), elsewhere
    )

    found = check_rule("TSC113", judged, dataclasses.replace(context, cluster=known))

    assert bool(found) is reported


def test_others_are_named() -> None:
    (violation,) = check_rule("TSC113", deployed(spread(), labels=SERVER), audit(members=OTHERS))

    assert violation.problem == "app=web also counts pods of Deployment/cache (1)"


@pytest.mark.parametrize("rule", ["TSC101", "TSC102"])
def test_the_selector_to_write_counts_no_others(rule: str) -> None:
    written = selecting(app="shop") if rule == "TSC101" else NULL
    own: Json = {"selector": {"matchLabels": SERVER}}
    advised = deployed(written, labels={"a": "b", **SERVER}, **own)
    served = "labelSelector: {matchLabels: {app: web, part: server}}"

    assert suggestions(rule, advised, admission()) == [served]
    for judged in (advised, deployed(written, labels=SERVER)):
        assert suggestions(rule, judged, audit(members=OTHERS)) == [served]


def test_an_admission_does_not_know_the_others() -> None:
    assert check_rule("TSC113", deployed(spread()), admission()) == []


HASHED = {"matchLabels": {"app": "web", "pod-template-hash": "6d4c"}}


@pytest.mark.parametrize("make", [admission, audit])
def test_a_written_hash_is_that_of_another_revision(make: Any) -> None:
    (violation,) = check_rule("TSC101", deployed(spread(labelSelector=HASHED)), make())

    assert violation.problem.endswith(
        "it requires pod-template-hash=6d4c, and the pod has another pod-template-hash in every "
        "revision; matchLabelKeys compares it"
    )
    assert violation.instead == "labelSelector: {matchLabels: {app: web}}"


# subject, what its constraint requires; what the pod has
ADDED: dict[str, tuple[Subject, str, str]] = {
    "a label that must be absent": (
        deployed(selecting(expression("pod-template-hash", "DoesNotExist"))),
        "!pod-template-hash",
        "pod-template-hash, which its controller adds",
    ),
    "another spelling": (
        job_set(labelSelector={"matchLabels": {"jobset.sigs.k8s.io/jobsetname": "js"}}),
        "jobset.sigs.k8s.io/jobsetname=js",
        "no label jobset.sigs.k8s.io/jobsetname, but jobset.sigs.k8s.io/jobset-name",
    ),
    "another spelling of a label that its pods do not have either": (
        deployed(spread(labelSelector={"matchLabels": {"Job-Name": "js"}})),
        "Job-Name=js",
        "no label Job-Name",
    ),
    "one of several Jobs": (
        job_set(labelSelector={"matchLabels": {"job-name": "js-w-0"}}),
        "job-name=js-w-0",
        "job-name=js-w-<index>, which differs by Job, from 0 to 2",
    ),
}


@pytest.mark.parametrize(("judged", "required", "has"), ADDED.values(), ids=ADDED)
def test_labels_of_controllers_are_named(judged: Subject, required: str, has: str) -> None:
    (violation,) = check_rule("TSC101", judged, admission())

    assert violation.problem.endswith(f"it requires {required}, and the pod has {has}")


def test_the_hash_of_the_running_pods_is_no_other() -> None:
    pods = running("a1", labels={"app": "web", "pod-template-hash": "6d4c"})
    judged = replace(deployed(spread(labelSelector=HASHED)), running=(pods,))

    assert check_rule("TSC101", judged, audit()) == []
