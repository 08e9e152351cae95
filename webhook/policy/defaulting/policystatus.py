"""
The status of a SpreadPolicy, computed from facts.

``compute_status`` is the entry point. It reads no clock and calls no API server; ``server`` gathers
the facts and writes the result. A number that is not known is absent, and never 0.

Source: apimachinery meta/v1 ``Condition``; api-conventions.md, "Typical status properties".
"""

from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from webhook.policy.defaulting.effective import IneffectiveProfile

ACCEPTED = "Accepted"
EFFECTIVE = "Effective"
MOST_MESSAGE_CHARS = 1024  # of a condition; an API server takes 32768, people read the first lines

_STATUS_OF = {True: "True", False: "False"}


class StatusCondition(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A condition of a SpreadPolicy.

    Attributes:
        status: True, False or Unknown.
        last_transition_time: The time when ``status`` changed, RFC 3339 in UTC.
        reason: In CamelCase, for programs.
    """

    type: str
    status: str
    observed_generation: int = 0
    last_transition_time: str = ""
    reason: str = ""
    message: str = ""


class PolicyCounts(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    What an audit counts of a profile; each number is None if it is not known.

    Attributes:
        pods_with_defaults: Running and pending pods whose provenance annotation names it.
        uneven_workloads: Workloads of these pods whose skew, over the topology key of one of its
            defaults, exceeds maxSkew; a rollout that runs and ends the skew does not count.
        pending_pods: Pods with one of its hard defaults that kube-scheduler reports unschedulable,
            among others for topology spread constraints.
    """

    pods_with_defaults: int | None = None
    uneven_workloads: int | None = None
    pending_pods: int | None = None


class PolicyStatus(PolicyCounts, frozen=True, rename="camel", gc=False, kw_only=True):
    """
    The ``status`` of a SpreadPolicy.

    Attributes:
        observed_generation: The ``metadata.generation`` that the status is about.
        conditions: Also those of other clients.
        matched_namespaces: Namespaces that its ``namespaceSelector`` matches, without exempt ones;
            None if it is not in force, or the Namespaces are not known.
    """

    observed_generation: int = 0
    conditions: tuple[StatusCondition, ...] = ()
    matched_namespaces: int | None = None

    @property
    def is_ours(self) -> bool:
        """Whether a server has written it."""
        return any(condition.type == ACCEPTED for condition in self.conditions)


class PolicyFacts(msgspec.Struct, frozen=True, kw_only=True):
    """
    What is known of a SpreadPolicy.

    Attributes:
        generation: Its ``metadata.generation``.
        problem: Why this generation cannot be read, one error in each line; empty if it can be.
        in_force: Whether this generation, or one before it, is among the profiles.
        conflict: Why it is not used although it can be read; otherwise empty.
        ineffective: Why it applies to no pod; None if it may apply.
        recommends: Whether it only recommends its defaults.
        namespaces: The number of Namespaces that it matches; None if unknown.
        counts: Those of the last audit.
        keeps_counts: Whether the counts in the former status stay, as the first audit of this
            replica has not ended yet.
    """

    generation: int
    problem: str = ""
    in_force: bool = True
    conflict: str = ""
    ineffective: IneffectiveProfile | None = None
    recommends: bool = False
    namespaces: int | None = None
    counts: PolicyCounts = PolicyCounts()
    keeps_counts: bool = False


def compute_status(facts: PolicyFacts, before: PolicyStatus | None, now: datetime) -> PolicyStatus:
    """
    Compute the status of a SpreadPolicy.

    Args:
        before: The status that the API server has; None if it has none.
        now: The time of a change of a condition; aware.
    """
    former = before or PolicyStatus()
    known = {condition.type: condition for condition in former.conditions}
    at = f"{now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
    for condition in (_accept(facts), _judge_effect(facts)):
        known[condition.type] = _date(condition, known.get(condition.type), at)
    counts = _choose_counts(facts, former)
    return PolicyStatus(
        observed_generation=facts.generation,
        conditions=tuple(known.values()),
        matched_namespaces=facts.namespaces if _is_used(facts) else None,
        pods_with_defaults=counts.pods_with_defaults,
        uneven_workloads=counts.uneven_workloads,
        pending_pods=counts.pending_pods,
    )


def _is_used(facts: PolicyFacts) -> bool:
    return facts.in_force and not facts.conflict


def _choose_counts(facts: PolicyFacts, former: PolicyStatus) -> PolicyCounts:
    """Choose the counts; annotations of pods do not distinguish two profiles of one name."""
    if facts.conflict:
        return PolicyCounts()
    return former if facts.keeps_counts else facts.counts


def _date(condition: StatusCondition, former: StatusCondition | None, now: str) -> StatusCondition:
    """Add the time of the last transition: that of before if the status is the same."""
    is_same = former is not None and former.status == condition.status
    time = former.last_transition_time if former is not None and is_same else ""
    return replace(condition, last_transition_time=time or now)


def _build(
    facts: PolicyFacts, name: str, reason: str, message: str, *, holds: bool
) -> StatusCondition:
    return StatusCondition(
        type=name,
        status=_STATUS_OF[holds],
        observed_generation=facts.generation,
        reason=reason,
        message=_shorten(message),
    )


def _accept(facts: PolicyFacts) -> StatusCondition:
    if not facts.problem:
        return _build(facts, ACCEPTED, "Valid", "the policy is valid", holds=True)
    stays = "the version before it stays in force" if _is_used(facts) else "it is not used"
    problems = "; ".join(facts.problem.splitlines())
    message = f"{_shorten(problems, len(stays) + 2)}; {stays}"
    return _build(facts, ACCEPTED, "Invalid", message, holds=False)


def _judge_effect(facts: PolicyFacts) -> StatusCondition:
    holds = False
    if not facts.in_force:
        reason, message = "NotAccepted", "no version of the policy can be read"
    elif facts.conflict:
        reason, message = "NameTaken", facts.conflict
    elif facts.ineffective is not None:
        is_empty = bool(facts.ineffective.selector)
        reason = "SelectorMatchesNothing" if is_empty else "EarlierProfileApplies"
        message = facts.ineffective.reason
    elif facts.recommends:
        holds, reason = True, "Recommends"
        message = "it only recommends its defaults, in recommend mode: no pod is changed"
    else:
        holds, reason, message = True, "InForce", "new pods that it matches get its defaults"
    return _build(facts, EFFECTIVE, reason, message, holds=holds)


def _shorten(message: str, reserve: int = 0) -> str:
    most = MOST_MESSAGE_CHARS - reserve
    return message if len(message) <= most else f"{message[: most - 3]}..."
