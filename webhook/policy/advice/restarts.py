"""
Suggestions for running pods that should be placed anew: what replaces them.

``suggest_evening`` and ``suggest_restart`` are the entry points; for pods that their volumes keep
in a zone, ``suggest_moving``. The command or the action depends on the controller. A Job counts a
deleted pod as failed. OnDelete, a partition and a pause keep a restart from replacing pods.

A restart does not make pods even if new pods are placed by where old ones are: a Deployment whose
three pods are in one of three zones can end with two of them in one zone, although each new pod
satisfies maxSkew 1 when it is placed. Deleting pods of the domains that are too full always does:
none can return there.

Source: k8s.io kubectl pkg/polymorphichelpers/objectrestarter.go; kubernetes pkg/controller/job;
sigs.k8s.io/lws pkg/controllers/pod_controller.go ``handleRestartPolicy``.
"""

from collections.abc import Sequence

from webhook.policy.advice.counting import list_revision_keys
from webhook.policy.advice.fields import compares_revisions, counts_revisions_together
from webhook.policy.advice.findings import count_of, join_names
from webhook.policy.advice.podcount import JOBS
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    DEPLOYMENT_CONFIG,
    JOB_SET,
    LEADER_WORKER_SET,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    ROLLOUT,
    STATEFUL_SET,
)
from webhook.policy.model import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, Constraint

RESTARTABLE = frozenset({DEPLOYMENT, DAEMON_SET, STATEFUL_SET})  # by ``kubectl rollout restart``

_NOT_EVICTED = frozenset({POD, JOB_SET, DAEMON_SET, LEADER_WORKER_SET})
"""Kinds besides those of Jobs whose pods no plan of evictions moves."""

_NAMED = frozenset(
    {
        DEPLOYMENT,
        DEPLOYMENT_CONFIG,
        STATEFUL_SET,
        REPLICA_SET,
        REPLICATION_CONTROLLER,
        ROLLOUT,
    }
)
"""Kinds by which a plan names the workload of a pod; others may own its controller."""

_RECREATE = "# create the pod anew: no controller creates another in its place"
_DELETE = "# delete the pods one after another: those created in their place are spread anew"
_DELETE_LEADERS = (
    "# delete the pods of leaders one after another: the workers of each are deleted with it, and "
    "the pods of the group that is created in their place are spread anew"
)
_DELETE_ON_DELETE = f"{_DELETE} (updateStrategy OnDelete)"
_DELETE_BELOW_PARTITION = (
    "# delete the pods one after another, or lower the partition first: kubectl rollout restart "
    "replaces no pod below it"
)
_WAIT = (
    "# wait until it ends, its next run creates pods anew: a pod that is deleted now counts as "
    "failed (backoffLimit)"
)
MOVE_DATA = (
    "move the data by deleting one pod after another with its claim, if the application can "
    "rebuild it"
)


def suggest_moving(soft: str = "") -> str:
    """
    Suggest how to move pods that their volumes keep in a zone; a YAML comment.

    Args:
        soft: What makes the constraint soft, YAML or a comment; empty if it is, so that it rejects
            no pod that returns to its volume.
    """
    if not soft:
        return f"# a volume of a zone keeps its pod there, also after a restart: {MOVE_DATA}"
    done = soft.removeprefix("# ")
    otherwise = done if done != soft else f"write {' and '.join(soft.splitlines())}"
    return (
        "# a volume of a zone keeps its pod there, and a pod that is deleted without its claim "
        f"stays Pending: {MOVE_DATA}, or {otherwise}"
    )


def suggest_placing(subject: Subject, *, suffices: bool) -> str:
    """
    Suggest what to do if a workload has fewer pods on nodes than replicas; a YAML comment.

    Args:
        suffices: Whether its other pods are enough to end the skew.
    """
    explain = _format_command(subject, "explain")
    if suffices:
        return f"# Pending or missing pods may make it even: see {explain}"
    return (
        f"# Pending or missing pods are too few to make it even: see {explain}, and audit again "
        "once they run"
    )


def suggest_opening(closed: Sequence[str], then: str) -> str:
    """
    Suggest what to do if no pod can go to some of the emptiest domains now; a YAML comment.

    Args:
        closed: These domains, all of whose nodes are cordoned, not ready, or tainted.
        then: What to do once they take pods.
    """
    return f"# {_describe_opening(closed)}, and then {then}"


def suggest_adding(closed: Sequence[str], lacking: int, lowered: str, then: str) -> str:
    """
    Suggest what to do if there are fewer domains than minDomains; a YAML comment.

    Args:
        closed: Domains to open first, all of whose nodes are closed for now.
        lacking: Number of further domains that are necessary; 0 if none can be added.
        lowered: What to write if none is added.
        then: What to do once there are as many.
    """
    opening = f"{_describe_opening(closed)}, and " if closed else ""
    if not lacking:
        return f"# {opening}{lowered}"
    return (
        f"# {opening}add nodes that its pods can go to in {count_of(lacking, 'further domain')}, "
        f"and then {then}; or {lowered}"
    )


def is_evicted(subject: Subject) -> bool:
    """Whether ``rebalance`` evicts the pods of a subject."""
    return subject.kind not in JOBS and subject.kind not in _NOT_EVICTED


def describe_moving(subject: Subject) -> str:
    """Describe how the pods of a workload reach domains that take pods again."""
    if is_evicted(subject):
        return f"run {_format_command(subject, 'rebalance')}"
    return suggest_restart(subject).removeprefix("# ")


def _describe_opening(closed: Sequence[str]) -> str:
    return (
        f"no pod can go to {join_names(closed)} now: let a node there take pods, which is "
        "cordoned, not ready or tainted"
    )


def suggest_evening(
    subject: Subject,
    constraint: Constraint,
    full: Sequence[str],
    gates: Gates,
    *,
    restart_may_stop: bool,
) -> str:
    """
    Suggest how to place the pods of a workload anew so that they are even; a YAML comment.

    Args:
        constraint: The one of its constraints by which they are uneven.
        full: The domains with too many pods; at least one.
        restart_may_stop: Whether an order of placement leaves one of its replicas Pending.
    """
    if not is_evicted(subject):
        return suggest_restart(subject)
    limits = "its hard constraints and " if _is_limited(subject, constraint) else ""
    rebalance = (
        f"# if nodes have room: {_format_command(subject, 'rebalance')} moves the fewest pods, "
        f"if {limits}PodDisruptionBudgets allow it"
    )
    if restart_may_stop:
        return rebalance
    if _restart_evens(subject, constraint):
        return f"{rebalance}; {_suggest_rollout(subject).removeprefix('# ')} replaces all of them"
    if counts_revisions_together(constraint, subject) and Gate.MATCH_LABEL_KEYS in gates:
        keys = ", ".join(list_revision_keys(subject))
        then = f", and {_format_rollout(subject, 'resume')}" if subject.paused else ""
        return (
            f"{rebalance}; or add {keys} to matchLabelKeys, which replaces all of them{then}: a "
            "restart without it places new pods by where the old ones are"
        )
    return f"{rebalance}; or delete pods in {join_names(full)} one after another"


def suggest_within_zones(subject: Subject) -> str:
    """Suggest how to make pods even that return to volumes of several zones; a YAML comment."""
    return (
        f"# {_format_command(subject, 'rebalance')} moves the fewest pods, if their volumes, room "
        "on nodes and PodDisruptionBudgets allow it: a restart may keep pods Pending, which only "
        "the nodes of their zones can take"
    )


def _is_limited(subject: Subject, constraint: Constraint) -> bool:
    """Whether hard constraints on other keys may prevent what a soft constraint prefers."""
    return constraint.when_unsatisfiable == SCHEDULE_ANYWAY and any(
        one.when_unsatisfiable == DO_NOT_SCHEDULE and one.topology_key != constraint.topology_key
        for one in subject.constraints
    )


def _restart_evens(subject: Subject, constraint: Constraint) -> bool:
    """Whether a restart of a workload by kubectl makes its pods even."""
    if subject.kind not in RESTARTABLE or subject.on_delete or subject.partitioned is not None:
        return False
    if subject.recreates or compares_revisions(constraint, subject):
        return True
    # Its pods are replaced one after another. With maxSkew 1, each goes to a domain with the
    # fewest pods, and the fewest never become fewer.
    return subject.kind == STATEFUL_SET and constraint.max_skew == 1


def suggest_restart(subject: Subject) -> str:
    """Suggest how to replace all pods of a workload; a YAML comment."""
    if subject.kind == POD:
        return _RECREATE
    if subject.kind in JOBS or subject.kind == JOB_SET:
        return _WAIT
    if subject.kind == LEADER_WORKER_SET:
        return _DELETE_LEADERS
    return _suggest_rollout(subject) if subject.kind in RESTARTABLE else _DELETE


def _suggest_rollout(subject: Subject) -> str:
    """Suggest a restart by kubectl, or what replaces the pods that it leaves."""
    if subject.on_delete:
        return _DELETE_ON_DELETE
    if subject.partitioned is not None:
        return _DELETE_BELOW_PARTITION
    restart = _format_rollout(subject, "restart")
    if subject.paused:  # kubectl refuses to restart it
        return f"# {_format_rollout(subject, 'resume')} && {restart}"
    return f"# {restart}"


def _format_rollout(subject: Subject, action: str) -> str:
    """Format an action of ``kubectl rollout``."""
    kind, _, name = str(subject).partition("/")
    return f"kubectl rollout {action} {kind.lower()}/{name}{_format_namespace(subject)}"


def _format_command(subject: Subject, command: str) -> str:
    """Format a command of evenspread about a workload; rebalance may need its namespace."""
    kind, _, name = str(subject).partition("/")
    is_named = command == "explain" or subject.kind in _NAMED
    workload = f" {kind.lower()}/{name}" if is_named else ""
    return f"evenspread {command}{workload}{_format_namespace(subject)}"


def _format_namespace(subject: Subject) -> str:
    """Format the option for a namespace; empty if it is not known."""
    return f" -n {subject.namespace}" if subject.namespace else ""
