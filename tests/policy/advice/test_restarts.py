from functools import partial

import pytest
from msgspec.structs import replace

from tests.build import Json, gates, pod, spread
from tests.policy.advice.subjects import (
    NO_MATCH_LABEL_KEYS,
    ROLLOUT,
    deployed,
    partitioned,
    subject,
    workload,
)
from webhook.policy.advice.restarts import (
    describe_moving,
    suggest_adding,
    suggest_evening,
    suggest_moving,
    suggest_opening,
    suggest_placing,
    suggest_restart,
    suggest_within_zones,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gates
from webhook.policy.kinds import (
    CRON_JOB,
    DAEMON_SET,
    JOB,
    JOB_SET,
    LEADER_WORKER_SET,
    REPLICA_SET,
    STATEFUL_SET,
)
from webhook.policy.model import HOSTNAME, ZONE, GroupKind

DELETION = "# delete the pods one after another: those created in their place are spread anew"
WAIT = (
    "# wait until it ends, its next run creates pods anew: a pod that is deleted now counts as "
    "failed (backoffLimit)"
)

PARTITION = (
    "# delete the pods one after another, or lower the partition first: kubectl rollout restart "
    "replaces no pod below it"
)
LEADERS = (
    "# delete the pods of leaders one after another: the workers of each are deleted with it, and "
    "the pods of the group that is created in their place are spread anew"
)
WEB = "deployment/web -n shop"

ON_DELETE: Json = {"updateStrategy": {"type": "OnDelete"}}

RESTARTS: dict[str, tuple[Subject, str]] = {
    "a Deployment": (deployed(), f"# kubectl rollout restart {WEB}"),
    "a DaemonSet": (
        subject(workload(kind=DAEMON_SET)), "# kubectl rollout restart daemonset/web -n shop"
    ),
    "a StatefulSet": (
        subject(workload(kind=STATEFUL_SET)), "# kubectl rollout restart statefulset/web -n shop"
    ),
    "a StatefulSet with OnDelete": (
        subject(workload(kind=STATEFUL_SET, **ON_DELETE)),
        f"{DELETION} (updateStrategy OnDelete)",
    ),
    "a DaemonSet with OnDelete": (
        subject(workload(kind=DAEMON_SET, **ON_DELETE)),
        f"{DELETION} (updateStrategy OnDelete)",
    ),
    "a StatefulSet with a partition": (
        partitioned(pods=[]),
        PARTITION,
    ),
    "a Deployment that is paused": (
        deployed(paused=True),
        f"# kubectl rollout resume {WEB} && kubectl rollout restart {WEB}",
    ),
    "one of no known namespace": (
        replace(deployed(), namespace=""), "# kubectl rollout restart deployment/web"
    ),
    "a ReplicaSet": (subject(workload(kind=REPLICA_SET)), DELETION),
    "a Job": (subject(workload(kind=JOB)), WAIT),
    "a CronJob": (replace(deployed(), kind=CRON_JOB), WAIT),
    "a JobSet": (replace(deployed(), kind=JOB_SET), WAIT),
    "a LeaderWorkerSet": (
        replace(deployed(), kind=LEADER_WORKER_SET),
        LEADERS,
    ),
    "a Pod": (
        subject(pod()), "# create the pod anew: no controller creates another in its place"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "suggestion"), RESTARTS.values(), ids=RESTARTS.keys())
def test_how_to_make_pods_anew(judged: Subject, suggestion: str) -> None:
    assert suggest_restart(judged) == suggestion


COMMAND = "# if nodes have room: evenspread rebalance"
ALLOWED = "if PodDisruptionBudgets allow it"


def rebalance(workload: str) -> str:
    return f"{COMMAND} {workload} -n shop moves the fewest pods, {ALLOWED}; "


def in_full(workload: str) -> str:
    options = f"{workload} -n shop".lstrip()
    return (
        f"{COMMAND} {options} moves the fewest pods, {ALLOWED}; "
        "or delete pods in zone-a, zone-b one after another"
    )


def restart(workload: str) -> str:
    command = f"kubectl rollout restart {workload} -n shop"
    return f"{rebalance(workload)}{command} replaces all of them"


def add_key(key: str, then: str = "", workload: str = "deployment/web") -> str:
    return (
        f"{rebalance(workload)}or add {key} to matchLabelKeys, which replaces all of them{then}: a "
        "restart without it places new pods by where the old ones are"
    )


SET_IN_FULL = in_full("statefulset/web")
HASH = spread(matchLabelKeys=["pod-template-hash"])
REVISION = spread(matchLabelKeys=["controller-revision-hash"])
OLD = NO_MATCH_LABEL_KEYS
RECREATE: Json = {"type": "Recreate"}

# subject, gates, what to do
EVENINGS: dict[str, tuple[Subject, Gates, str]] = {
    "a Deployment": (deployed(spread()), gates(), add_key("pod-template-hash")),
    "a Deployment without matchLabelKeys": (deployed(spread()), OLD, in_full("deployment/web")),
    "a Deployment whose revisions count apart": (
        deployed(HASH), gates(), restart("deployment/web")
    ),
    "a Deployment whose old pods end first": (
        deployed(spread(), strategy=RECREATE), OLD, restart("deployment/web")
    ),
    "a Deployment that is paused": (
        deployed(spread(), paused=True), gates(),
        add_key("pod-template-hash", f", and kubectl rollout resume {WEB}"),
    ),
    "a Deployment with the template of a Rollout": (
        replace(deployed(spread()), creator=ROLLOUT, is_shared=True), gates(),
        add_key("pod-template-hash, rollouts-pod-template-hash"),
    ),
    "a Rollout": (
        subject(workload(spread(), kind=ROLLOUT), ("spec", "template")), gates(),
        add_key("rollouts-pod-template-hash", workload="rollout/web"),
    ),
    "a StatefulSet": (
        subject(workload(spread(), kind=STATEFUL_SET)), gates(),
        restart("statefulset/web"),
    ),
    "a StatefulSet with a larger maxSkew": (
        subject(workload(spread(maxSkew=2), kind=STATEFUL_SET)), gates(), SET_IN_FULL
    ),
    "a StatefulSet whose revisions count apart": (
        subject(workload({**REVISION, "maxSkew": 2}, kind=STATEFUL_SET)), gates(),
        restart("statefulset/web"),
    ),
    "a StatefulSet with OnDelete": (
        subject(workload(spread(), kind=STATEFUL_SET, **ON_DELETE)), gates(), SET_IN_FULL
    ),
    "a StatefulSet with a partition": (partitioned(spread(), pods=[]), gates(), SET_IN_FULL),
    "a ReplicaSet": (subject(workload(spread(), kind=REPLICA_SET)), gates(),
        in_full("replicaset/web")),
    "a DaemonSet": (
        subject(workload(spread(), kind=DAEMON_SET)), gates(),
        "# kubectl rollout restart daemonset/web -n shop",
    ),
    "a kind whose pods another controller owns": (
        replace(deployed(spread()), kind=GroupKind("example.com", "App")), OLD,
        in_full(""),
    ),
    "a Job": (subject(workload(spread(), kind=JOB)), gates(), WAIT),
    "a Pod": (subject(pod(spread())), gates(),
              "# create the pod anew: no controller creates another in its place"),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "known", "suggestion"), EVENINGS.values(), ids=EVENINGS.keys())
def test_how_to_make_pods_even(judged: Subject, known: Gates, suggestion: str) -> None:
    (constraint,) = judged.constraints

    full = ["zone-a", "zone-b"]

    assert suggest_evening(judged, constraint, full, known, restart_may_stop=False) == suggestion


def test_no_restart_is_suggested_that_may_stop() -> None:
    for constraint in HASH, spread():
        judged = deployed(constraint)
        (found,) = judged.constraints

        suggested = suggest_evening(judged, found, ["zone-a"], gates(), restart_may_stop=True)

        assert suggested == rebalance("deployment/web").removesuffix("; ")


def test_pods_with_volumes_of_several_zones_are_not_restarted() -> None:
    suggested = suggest_within_zones(subject(workload(spread(), kind=STATEFUL_SET)))

    assert suggested.startswith("# evenspread rebalance statefulset/web -n shop moves the fewest ")
    assert "rollout restart" not in suggested


def test_volumes_are_moved_rather_than_pods() -> None:
    hard, soft = suggest_moving("whenUnsatisfiable: ScheduleAnyway"), suggest_moving()

    assert "a pod that is deleted without its claim stays Pending" in hard
    assert hard.endswith(" or write whenUnsatisfiable: ScheduleAnyway")
    assert suggest_moving("a: b\nc: null").endswith(", or write a: b and c: null")
    assert suggest_moving("# remove it").endswith(", or remove it")
    assert soft.endswith("if the application can rebuild it")
    assert "Pending" not in soft
    assert "rollout restart" not in hard + soft


def test_closed_domains_are_to_be_opened_before_pods_are_moved() -> None:
    assert suggest_opening(["zone-c", "zone-d"], describe_moving(deployed())) == (
        "# no pod can go to zone-c, zone-d now: let a node there take pods, which is cordoned, not "
        "ready or tainted, and then run evenspread rebalance deployment/web -n shop"
    )


def test_further_domains_are_added_before_pods_are_moved() -> None:
    lowered, then = "write minDomains: 2", describe_moving(deployed())

    assert suggest_adding([], 2, lowered, then) == (
        "# add nodes that its pods can go to in 2 further domains, and then run evenspread "
        "rebalance deployment/web -n shop; or write minDomains: 2"
    )
    assert suggest_adding([], 0, lowered, then) == "# write minDomains: 2"
    assert suggest_adding(["zone-c"], 0, lowered, then) == (
        "# no pod can go to zone-c now: let a node there take pods, which is cordoned, not ready "
        "or tainted, and write minDomains: 2"
    )


@pytest.mark.parametrize("kind", [JOB, CRON_JOB, JOB_SET])
def test_no_plan_of_evictions_is_suggested_for_the_pods_of_jobs(kind: GroupKind) -> None:
    assert describe_moving(replace(deployed(), kind=kind)) == WAIT.removeprefix("# ")


def test_pods_that_are_not_placed_are_explained() -> None:
    job = subject(workload(kind=JOB))

    assert suggest_placing(deployed(), suffices=True).endswith(
        "see evenspread explain deployment/web -n shop"
    )
    assert suggest_placing(job, suffices=True).endswith("see evenspread explain job/web -n shop")
    assert suggest_placing(job, suffices=False).endswith("and audit again once they run")


@pytest.mark.parametrize(
    ("key", "when", "is_limited"),
    [
        (HOSTNAME, "DoNotSchedule", True),
        (ZONE, "DoNotSchedule", False),
        (HOSTNAME, "ScheduleAnyway", False),
    ],
)
def test_hard_constraints_may_prevent_what_a_soft_one_prefers(
    key: str, when: str, *, is_limited: bool
) -> None:
    soft = spread(whenUnsatisfiable="ScheduleAnyway")
    found = deployed(soft, spread(topologyKey=key, whenUnsatisfiable=when))
    preferred, other = found.constraints

    text = "if its hard constraints and PodDisruptionBudgets allow it"
    suggest = partial(suggest_evening, full=["zone-a"], gates=gates(), restart_may_stop=False)
    assert (text in suggest(found, preferred)) is is_limited
    assert text not in suggest(found, other)


def test_no_plan_of_evictions_is_suggested_for_pods_in_groups() -> None:
    workers = replace(deployed(), kind=LEADER_WORKER_SET)

    assert describe_moving(workers) == LEADERS.removeprefix("# ")
