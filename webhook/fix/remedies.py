"""
The table of remedies: for each rule the changes that fix a finding, or why there are none.

``find_solution`` is the entry point. A remedy writes what the finding's message proposes. If the
message leaves a choice, the remedy chooses what preserves the author's intent, or nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from msgspec.structs import replace

from webhook.fix import selectors
from webhook.fix.changes import (
    Change,
    FixObstacle,
    Move,
    Put,
    Remove,
    Solution,
    Wrap,
    find_differences,
)
from webhook.fix.finding import ABSENT, FindingContext
from webhook.fix.harm import changes_request
from webhook.manifests.yaml import load
from webhook.policy.advice.capacity import must_add_pods
from webhook.policy.advice.context import resolve_valid
from webhook.policy.advice.counting import find_counting, known_selectors, other_workloads
from webhook.policy.advice.fields import LEAVE_OUT_KEYS
from webhook.policy.advice.findings import join_names
from webhook.policy.advice.nearestkey import nearest_key
from webhook.policy.advice.repeats import find_actions, suggest_soft
from webhook.policy.advice.rollouts import list_apart
from webhook.policy.api.predict import DEPRECATED_KEYS
from webhook.policy.catalogue import REFUSED_EXEMPTION, TYPE_INVALID
from webhook.policy.model import NODE_POLICIES, SCHEDULE_ANYWAY, UNSATISFIABLE_ACTIONS
from webhook.policy.paths import format_path

FindSolution: TypeAlias = Callable[[FindingContext], Solution]
"""Finds the changes that fix a finding."""


@dataclass(frozen=True)
class FixRemedy:
    """
    One row of the table.

    Attributes:
        find: Finds the changes.
        on_request: Whether it weakens or tightens what the author wrote, so that it is applied
            only if the user names the rule.
    """

    find: FindSolution
    on_request: bool = False


def _write_least_skew(context: FindingContext) -> Solution:
    return (Put((*context.entry, "maxSkew"), 1),)


def _correct_word(known: tuple[str, ...], context: FindingContext) -> Solution:
    written = context.written(context.path)
    word = selectors.correct_word(written, known) if isinstance(written, str) else ""
    if not word:
        return FixObstacle(f"which of {' and '.join(known)} is intended cannot be known")
    return (Put(context.path, word),)


def _remove_repeated(context: FindingContext) -> Solution:
    """Remove one of two entries that differ only in maxSkew: the looser or the later one."""
    constraints, index = context.subject.pod.constraints, context.entry_index
    pairs = [(entry.topology_key, entry.when_unsatisfiable) for entry in constraints]
    later = pairs.index(pairs[index], index + 1)
    one, other = constraints[index], constraints[later]
    if min(one.max_skew, other.max_skew) < 1:
        return FixObstacle("which of the two to keep is unknown until both have a valid maxSkew")
    if replace(one, max_skew=other.max_skew) != other:
        path = f"topologySpreadConstraints[{later}]"
        return FixObstacle(f"it differs from {path} in more than maxSkew")
    looser = index if one.max_skew > other.max_skew else later
    return (Remove((*context.list_path, looser)),)


def _remove_min_domains(context: FindingContext) -> Solution:
    return (Remove((*context.entry, "minDomains")),)


def _remove_useless_min_domains(context: FindingContext) -> Solution:
    if context.constraint.when_unsatisfiable != SCHEDULE_ANYWAY:
        return FixObstacle("it depends on whenUnsatisfiable, which comes first")
    return _remove_min_domains(context)


def _write_successor(context: FindingContext) -> Solution:
    _, successor = DEPRECATED_KEYS[context.constraint.topology_key]
    return (Put((*context.entry, "topologyKey"), successor),)


def _write_instead(context: FindingContext) -> Solution:
    """Write the values that the finding proposes."""
    if not context.instead:
        return FixObstacle(context.finding.instead.removeprefix("# "))
    return tuple(Put(path, value) for path, value in context.instead)


def _loosen(context: FindingContext) -> Solution:
    """Write the values that the finding proposes, or remove what a soft constraint repeats."""
    if context.path != context.list_path and _proposes_removal(context):
        return (Remove(context.entry),)
    return _write_instead(context)


def _proposes_removal(context: FindingContext) -> bool:
    constraint, subject = context.constraint, context.subject
    actions = find_actions(constraint.topology_key, enumerate(subject.pod.constraints))
    is_repeated = SCHEDULE_ANYWAY in actions
    return is_repeated and context.finding.instead == suggest_soft(constraint, subject)


def _separate_revisions(context: FindingContext) -> Solution:
    """Count each revision apart, unless the selector counts other workloads as well (TSC107)."""
    subject, constraint, cluster = context.subject, context.constraint, context.grounds.cluster
    gates = context.grounds.gates
    known = known_selectors(subject, gates)[context.entry_index]
    selector = known or constraint.label_selector
    spreads = resolve_valid(subject.constraints, subject.next_labels, gates)
    counting = find_counting(subject, context.entry_index, spreads)
    if cluster and (counted := other_workloads(subject, selector, cluster, counting)):
        return FixObstacle(f"it would no longer count the pods of {join_names([*counted])}")
    return _write_instead(context)


def _write_nearest_key(context: FindingContext) -> Solution:
    if not context.instead:  # also for a default of a profile, which is not in the file
        return _write_instead(context)
    key = nearest_key(context.constraint.topology_key, context.grounds.facts.label_keys())
    if any(value != key for _, value in context.instead):
        return FixObstacle("it resembles no label of the nodes")
    return _write_instead(context)


def _move_field(context: FindingContext) -> Solution:
    """Rename a misspelled field, or move or wrap a field to be where the API knows it (TSC011)."""
    found = context.strict
    if found is not None and found.alternatives:
        return FixObstacle("which pod template is intended cannot be known")
    if found is None or not found.meant:
        return FixObstacle("what is intended cannot be known")
    if context.written(found.meant) is not ABSENT:
        return FixObstacle(f"{format_path(found.meant)} is written as well: join the two")
    parent, value = found.meant[:-1], context.written(found.path)
    if context.written(parent) not in (ABSENT, None):
        return (Move(found.path, found.meant, value),)
    if found.hides_list:
        return FixObstacle(f"{format_path(parent)} has to be written first")
    return (Wrap(found.path, str(parent[-1]), value),)  # a part of a selector


def _count_apart(context: FindingContext) -> Solution:
    """Count the revisions apart in all hard constraints that count them together (TSC119)."""
    returns = not must_add_pods(context.subject)  # of pods, to their volumes
    if returns and context.finding.instead == LEAVE_OUT_KEYS:
        return (Remove((*context.entry, "matchLabelKeys")),)
    if returns or not context.instead:
        return _write_instead(context)
    found = list_apart(context.subject, context.grounds)
    obstacle = next((text for text in found.values() if text.startswith("#")), "")
    if obstacle:
        return FixObstacle(obstacle.removeprefix("# "))
    return tuple(
        Put((*context.list_path, index, name), value)
        for index, text in found.items()
        for name, value in load(text, context.finding.rule, 1).items()
    )


def _remove_field(context: FindingContext) -> Solution:
    if context.path == context.list_path:
        return FixObstacle("the whole list would have to be removed")
    return (Remove(context.path),)


BY_HAND = FixObstacle("a value of a wrong type is corrected by hand")

FIX_REMEDIES: Mapping[str, FixRemedy | FixObstacle] = MappingProxyType(
    {
        TYPE_INVALID: BY_HAND,
        REFUSED_EXEMPTION: FixObstacle("only the author knows what is exempted, and why"),
        "TSC001": FixRemedy(_write_least_skew),
        "TSC002": FixObstacle("only the author knows what to spread over"),
        "TSC003": FixRemedy(partial(_correct_word, UNSATISFIABLE_ACTIONS)),
        "TSC004": FixRemedy(_remove_repeated),
        "TSC005": FixRemedy(_remove_min_domains),
        "TSC006": FixRemedy(_remove_useless_min_domains),
        "TSC007": FixRemedy(partial(_correct_word, NODE_POLICIES)),
        "TSC008": FixRemedy(selectors.separate_keys),
        "TSC009": FixRemedy(selectors.correct_operator),
        "TSC010": FixObstacle("only the author knows which of the constraints are intended"),
        "TSC011": FixRemedy(_move_field),
        "TSC012": FixObstacle("only the author knows which of the values is intended"),
        "TSC020": FixRemedy(_write_successor),
        "TSC021": FixRemedy(selectors.write_own_selector),
        "TSC101": FixRemedy(selectors.correct_selector),
        "TSC102": FixRemedy(selectors.write_own_selector),
        "TSC103": FixRemedy(_write_nearest_key),
        "TSC104": FixRemedy(_loosen, on_request=True),
        "TSC105": FixRemedy(_write_instead),
        "TSC106": FixRemedy(_loosen, on_request=True),
        "TSC107": FixRemedy(_separate_revisions),
        "TSC108": FixRemedy(_loosen, on_request=True),
        "TSC109": FixRemedy(_loosen, on_request=True),
        "TSC110": FixRemedy(_write_instead),
        "TSC111": FixRemedy(_remove_field),
        "TSC112": FixRemedy(_loosen, on_request=True),
        "TSC113": FixRemedy(_write_instead, on_request=True),
        "TSC114": FixObstacle("the running pods are uneven; the manifest has no error"),
        "TSC115": FixObstacle("the running pods are outdated; the manifest has no error"),
        "TSC116": FixRemedy(_write_instead),
        "TSC117": FixRemedy(selectors.correct_label_key),
        "TSC118": FixObstacle("their profile must keep the spread; the manifest has no error"),
        "TSC119": FixRemedy(_count_apart),
        "TSC120": FixObstacle("only the author knows to which nodes the pods may go"),
        "TSC121": FixObstacle("only the author knows whether the gang needs the constraint"),
    }
)
"""Rule id -> its remedy, or why it has none; in the order of the catalogue."""

ON_REQUEST = "it changes what the author requested: --rules {rule} applies it all the same"
"""Why a remedy that requires its rule to be named is not applied."""

API_FIRST = FixObstacle("first correct what the API refuses")


def find_solution(context: FindingContext, named: frozenset[str]) -> Solution:
    """Find the changes that fix a finding, or why it is left; the user ``named`` some rules."""
    rule = context.finding.rule
    remedy = FIX_REMEDIES[rule]
    if isinstance(remedy, FixObstacle):
        return remedy
    solution = remedy.find(context)
    if isinstance(solution, FixObstacle):
        return solution
    on_request = remedy.on_request or changes_request(context.finding)
    if on_request and rule not in named:
        return FixObstacle(ON_REQUEST.format(rule=rule))
    if on_request and context.is_refused:
        return API_FIRST  # what is right depends on all constraints of the object
    return tuple(_smallest(context, solution)) or FixObstacle("the value is already there")


def _smallest(context: FindingContext, changes: Iterable[Change]) -> Iterator[Change]:
    """Reduce changes to the differences from the written values."""
    for change in changes:
        written = context.written(change.path)
        if isinstance(change, Put) and written is not ABSENT:
            yield from find_differences(change.path, written, change.value)
        else:
            yield change
