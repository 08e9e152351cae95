"""
The rule about topology keys that nodes lack: TSC103.

At admission the facts come from indexes, which do not know single nodes. For a pod that requires
certain nodes they are incomplete, so a rule is then silent where an audit may report a violation.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from webhook.policy.advice.closeddomains import (
    find_tainted,
    selects_nodes,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import (
    SHOWN_CHARACTERS,
    RuleViolation,
    clip,
    join_names,
    quote_value,
)
from webhook.policy.advice.flow import member
from webhook.policy.advice.nearestkey import (
    KEY_CHARACTERS,
    WELL_KNOWN,
    list_siblings,
    nearest_key,
)
from webhook.policy.advice.repeats import describe_repeated
from webhook.policy.advice.subject import Subject
from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME, SCHEDULE_ANYWAY, ZONE, Constraint
from webhook.policy.placement.allowedvalues import forbids_label


def key_is_on_nodes(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC103: nodes without the key are in no domain, so they get no pod or are chosen last.

    For pods that bypass the scheduler, only a key that no node has is reported.
    """
    corrected = subject  # with the keys that are suggested for the entries before
    for i, constraint in enumerate(subject.constraints):
        key = constraint.topology_key
        carriers, nodes = _count_carriers(key, subject, context)
        if not key or carriers >= nodes or (carriers and subject.is_bound):
            continue
        if carriers:
            problem, instead = _describe_few_carriers(i, (carriers, nodes), subject, context)
        elif context.facts.nodes_with(key):
            where = "not on the one node" if nodes == 1 else f"on none of the {nodes} nodes"
            now = " for now" if _returns(key, subject, context) else ""
            problem = f"is {where} that its pods can go to{now}"
            instead = _suggest_labels("such nodes", key, subject)
        elif context.facts.domains(key):
            problem = "is on cordoned nodes only"
            instead = _suggest_labels("the other nodes", key, subject)
        else:
            problem, instead, written = _describe_missing_key(i, corrected, context)
            corrected = _write_key(i, written, corrected) if written else corrected
        yield RuleViolation(
            subject.field(i, "topologyKey"), f"topologyKey {quote_value(key)} {problem}", instead
        )


class _Effect(NamedTuple):
    """What a constraint means for a node without its key, and for several."""

    one: str
    many: str


_EFFECTS: Mapping[str, _Effect] = MappingProxyType(
    {
        DO_NOT_SCHEDULE: _Effect("gets none", "get none"),
        SCHEDULE_ANYWAY: _Effect("comes last", "come last"),
    }
)
"""Action of a constraint -> its effect."""

_EITHER_EFFECT = _Effect("gets none, or comes last", "get none, or come last")
"""That of a misspelled action."""


def _describe_few_carriers(
    index: int, counts: tuple[int, int], subject: Subject, context: AdviceContext
) -> tuple[str, str]:
    """Describe a key that some nodes lack, and what to do; ``counts``: its nodes, and all."""
    (carriers, nodes), constraint = counts, subject.constraints[index]
    key, is_one = constraint.topology_key, nodes - carriers == 1
    effect = _EFFECTS.get(constraint.when_unsatisfiable, _EITHER_EFFECT)
    lacking = _list_lacking(key, subject, context)
    named = f" ({join_names(lacking)})" if lacking else ""
    fate = f"the other one{named} {effect.one}" if is_one else f"the others{named} {effect.many}"
    name = clip(lacking[0], SHOWN_CHARACTERS) if is_one and lacking else "NAME"
    which = "the other node" if is_one else "the other nodes"
    return (
        f"is on {carriers} of {nodes} nodes: {fate}",
        _suggest_labels(which, key, subject, name),
    )


def _suggest_labels(which: str, key: str, subject: Subject, name: str = "NAME") -> str:
    named = clip(key, KEY_CHARACTERS)
    if forbids_label(key, subject.demands):  # with the label, the pods could not go there
        return (
            f"# spread over another label, or let node affinity allow nodes with {named}, which it "
            "requires to be absent"
        )
    return f"# label {which}: kubectl label node {name} {named}=VALUE"


class _MissingKey(NamedTuple):
    """
    The problem of a key that no node has, and a suggestion.

    Attributes:
        written: The key that is suggested in its place; empty if there is none.
    """

    problem: str
    instead: str
    written: str = ""


def _write_key(index: int, key: str, subject: Subject) -> Subject:
    constraints = list(subject.pod.constraints)
    constraints[index] = replace(constraints[index], topology_key=key)
    return subject.with_constraints(tuple(constraints))


def _describe_missing_key(index: int, subject: Subject, context: AdviceContext) -> _MissingKey:
    constraint, facts = subject.constraints[index], context.facts
    key, action = constraint.topology_key, constraint.when_unsatisfiable
    meant = nearest_key(key, facts.label_keys())
    if meant:
        return _describe_meant_key(meant, constraint, subject, context)
    well_known = nearest_key(key, WELL_KNOWN)
    if well_known not in ("", key):  # the nodes lack it too
        problem = f"is on no node, and neither is {well_known}"
        return _suggest_both("the nodes", problem, well_known, action, subject)
    if siblings := list_siblings(key, facts.label_keys()):
        instead = f"# write another label of that prefix: {join_names(siblings)}"
        return _MissingKey("is on no node", instead)
    repeated = describe_repeated(ZONE, action, subject)
    has_zones = facts.nodes_with(ZONE) == facts.schedulable_nodes() and not repeated
    problem = "is on no node, and is like none of their labels"
    if has_zones:
        return _MissingKey(problem, member("topologyKey", ZONE), ZONE)
    return _MissingKey(problem, _suggest_labels("the nodes", key, subject))


def _describe_meant_key(
    meant: str, constraint: Constraint, subject: Subject, context: AdviceContext
) -> _MissingKey:
    """Describe a key of no node that was meant to be another one, which some nodes have."""
    in_audit = context.cluster is not None
    if in_audit and not _count_carriers(meant, subject, context)[0]:
        problem = f"is on no node; {meant} is, but on none that its pods can go to"
        action = constraint.when_unsatisfiable
        return _suggest_both("such nodes", problem, meant, action, subject)
    repeated = describe_repeated(meant, constraint.when_unsatisfiable, subject)
    if repeated:
        return _MissingKey(f"is on no node; {meant} is", f"# {repeated}")
    return _MissingKey(f"is on no node; {meant} is", member("topologyKey", meant), meant)


def _suggest_both(
    which: str, problem: str, meant: str, action: str, subject: Subject
) -> _MissingKey:
    """Suggest to write the key that is meant, and to label nodes with it."""
    done, labels = describe_repeated(meant, action, subject), _suggest_labels(which, meant, subject)
    if forbids_label(meant, subject.demands):
        return _MissingKey(problem, labels)
    written = f"# {done or 'write ' + member('topologyKey', meant)}"
    label = labels.removeprefix("# ")
    return _MissingKey(problem, f"{written}, and {label}", "" if done else meant)


def _count_carriers(key: str, subject: Subject, context: AdviceContext) -> tuple[int, int]:
    """Count the reachable nodes that have a key, and all reachable nodes."""
    demands = subject.demands
    if context.cluster is not None and not subject.lacks_runtime_class:
        topology = context.cluster.schedulable(demands)
        reached = topology.domains(key, (), demands).values
        return len(topology.domains(key, (key,), demands).values), len(reached)
    nodes, carriers = context.facts.schedulable_nodes(), context.facts.nodes_with(key)
    if carriers and (
        subject.lacks_runtime_class
        or selects_nodes(demands)
        # all of the closed nodes may be the ones without the key
        or nodes - carriers <= find_tainted(HOSTNAME, demands, context.facts).number
    ):
        return nodes, nodes
    return carriers, nodes


def _list_lacking(key: str, subject: Subject, context: AdviceContext) -> list[str]:
    """List the reachable nodes without a key, in order; empty where single nodes are not known."""
    if context.cluster is None or subject.lacks_runtime_class:
        return []
    topology, demands = context.cluster.schedulable(subject.demands), subject.demands
    reached = topology.domains(key, (), demands).values
    return sorted(
        name for name in topology.domains(key, (key,), demands).left_out if name in reached
    )


def _returns(key: str, subject: Subject, context: AdviceContext) -> bool:
    """Whether a node has the key that is closed to the pods by its state alone."""
    cluster, demands = context.cluster, subject.demands
    return cluster is not None and bool(cluster.lasting_domains(key, (key,), demands).sizes)
