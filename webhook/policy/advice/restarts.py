"""
Suggestions for running pods that should be placed anew: what replaces them.

``suggest_restart`` is the entry point; for pods that their volumes keep in a zone,
``suggest_moving``. The command or the action depends on the controller. A Job
counts a deleted pod as failed. OnDelete, a partition and a pause keep a restart from replacing
pods.

Source: k8s.io kubectl pkg/polymorphichelpers/objectrestarter.go; kubernetes pkg/controller/job.
"""

from webhook.policy.advice.podcount import JOBS
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, JOB_SET, POD, STATEFUL_SET
from webhook.policy.model import SCHEDULE_ANYWAY

RESTARTABLE = frozenset({DEPLOYMENT, DAEMON_SET, STATEFUL_SET})  # by ``kubectl rollout restart``

_RECREATE = "# create the pod anew: no controller creates another in its place"
_DELETE = "# delete the pods one after another: those created in their place are spread anew"
_DELETE_ON_DELETE = f"{_DELETE} (updateStrategy OnDelete)"
_DELETE_BELOW_PARTITION = (
    "# delete the pods one after another, or lower the partition first: kubectl rollout restart "
    "replaces no pod below it"
)
_WAIT = (
    "# wait until it ends, its next run creates pods anew: a pod that is deleted now counts as "
    "failed (backoffLimit)"
)
_MOVE = (
    "move the data by deleting one pod after another with its claim, if the application can "
    "rebuild it"
)


def suggest_moving(*, is_hard: bool) -> str:
    """
    Suggest how to move pods that their volumes keep in a zone; a YAML comment.

    Args:
        is_hard: Whether the constraint rejects a pod that returns to its volume.
    """
    if not is_hard:
        return f"# a volume of a zone keeps its pod there, also after a restart: {_MOVE}"
    return (
        "# a volume of a zone keeps its pod there, and a pod that is deleted without its claim "
        f"stays Pending: {_MOVE}, or write whenUnsatisfiable: {SCHEDULE_ANYWAY}"
    )


def suggest_restart(subject: Subject) -> str:
    """Suggest how to replace all pods of a workload; a YAML comment."""
    if subject.kind == POD:
        return _RECREATE
    if subject.kind in JOBS or subject.kind == JOB_SET:
        return _WAIT
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
    namespace = f" -n {subject.namespace}" if subject.namespace else ""
    kind, _, name = str(subject).partition("/")
    return f"kubectl rollout {action} {kind.lower()}/{name}{namespace}"
