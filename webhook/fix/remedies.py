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

from webhook.fix.changes import Change, FixObstacle, Put, Remove, Solution, find_differences
from webhook.fix.finding import ABSENT, FindingContext
from webhook.fix.selectors import (
    NO_LABELS,
    correct_operator,
    correct_selector,
    correct_word,
    separate_keys,
    write_own_selector,
)
from webhook.policy.advice.suggestions import nearest_key
from webhook.policy.api.warnings import DEPRECATED_KEYS
from webhook.policy.catalogue import REFUSED_EXEMPTION, TYPE_INVALID
from webhook.policy.model import NODE_POLICIES, SCHEDULE_ANYWAY, UNSATISFIABLE_ACTIONS

FindSolution: TypeAlias = Callable[[FindingContext], Solution]
"""Finds the changes that fix a finding."""


@dataclass(frozen=True)
class FixRemedy:
    """
    One row of the table.

    Attributes:
        writes: What the remedy writes, in a few words; empty if it never writes anything.
        leaves: Which findings it leaves, and why; empty if none.
        find: Finds the changes; None if all findings are left.
        on_request: Whether it weakens or tightens what the author wrote, so that it is applied
            only if the user names the rule.
    """

    writes: str
    leaves: str
    find: FindSolution | None = None
    on_request: bool = False


def _write_least_skew(context: FindingContext) -> Solution:
    return (Put((*context.entry, "maxSkew"), 1),)


def _correct_word(known: tuple[str, ...], context: FindingContext) -> Solution:
    written = context.written(context.path)
    word = correct_word(written, known) if isinstance(written, str) else ""
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
        return FixObstacle(f"it differs from entry {later} in more than maxSkew")
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
    """Write the value that the finding proposes."""
    if context.instead is None:
        return FixObstacle(context.finding.instead.removeprefix("# "))
    return (Put(*context.instead),)


def _write_nearest_key(context: FindingContext) -> Solution:
    key = nearest_key(context.constraint.topology_key, context.grounds.facts.label_keys())
    if context.instead and context.instead[1] != key:
        return FixObstacle("no label of the nodes is like it")
    return _write_instead(context)


def _write_constraints(context: FindingContext) -> Solution:
    return _write_instead(context) if context.subject.labels else NO_LABELS


def _remove_field(context: FindingContext) -> Solution:
    if context.path == context.list_path:
        return FixObstacle("the whole list would have to be removed")
    return (Remove(context.path),)


FIX_REMEDIES: Mapping[str, FixRemedy] = MappingProxyType(
    {
        TYPE_INVALID: FixRemedy("", "the intended value cannot be known"),
        REFUSED_EXEMPTION: FixRemedy("", "only its author knows the reason"),
        "TSC001": FixRemedy("`maxSkew: 1`, the least that there is", "", _write_least_skew),
        "TSC002": FixRemedy("", "only its author knows what to spread over"),
        "TSC003": FixRemedy(
            "`DoNotSchedule` or `ScheduleAnyway`, whichever was misspelt",
            "another word, or none, may stand for either",
            partial(_correct_word, UNSATISFIABLE_ACTIONS),
        ),
        "TSC004": FixRemedy(
            "removes one of two entries that are equal, or the one with the larger maxSkew if "
            "they are equal otherwise",
            "of entries that differ in more, either may be intended",
            _remove_repeated,
        ),
        "TSC005": FixRemedy(
            "removes minDomains, which has no effect below 1", "", _remove_min_domains
        ),
        "TSC006": FixRemedy(
            "removes minDomains, which has no effect with ScheduleAnyway",
            "while whenUnsatisfiable is neither of the two",
            _remove_useless_min_domains,
        ),
        "TSC007": FixRemedy(
            "`Honor` or `Ignore`, whichever was misspelt",
            "another word may stand for either",
            partial(_correct_word, NODE_POLICIES),
        ),
        "TSC008": FixRemedy(
            "adds a labelSelector of the pod's own labels where there is none; removes a key from "
            "the selector, or from matchLabelKeys, so that the same pods count as with both",
            "a key that is no label key; one for which the selector requires another value",
            separate_keys,
        ),
        "TSC009": FixRemedy(
            "the operator that was misspelt",
            "only its author knows which label, or which value, is intended",
            correct_operator,
        ),
        "TSC010": FixRemedy(
            "", "only their author knows which of so many constraints are intended"
        ),
        "TSC020": FixRemedy("the label that took its place", "", _write_successor),
        "TSC021": FixRemedy(
            "a labelSelector of the pod's own labels",
            "pods without labels; what a profile completes anyway",
            write_own_selector,
        ),
        "TSC101": FixRemedy(
            "the pod's own values, where the selector uses the labels that identify the pod",
            "other selectors, and one that selects another workload's pods, may be intended",
            correct_selector,
        ),
        "TSC102": FixRemedy(
            "a labelSelector of the pod's own labels", "pods without labels", write_own_selector
        ),
        "TSC103": FixRemedy(
            "the label of the nodes that is nearest to a mistyped one",
            "a key that resembles none; one that some nodes lack: label these",
            _write_nearest_key,
        ),
        "TSC104": FixRemedy("minDomains as large as the number of domains", "", _write_instead),
        "TSC105": FixRemedy(
            "`nodeTaintsPolicy: Honor`",
            "where a feature gate holds that field back",
            _write_instead,
        ),
        "TSC106": FixRemedy(
            "the maxSkew with which the next pod has a node, or `ScheduleAnyway`",
            "",
            _write_instead,
            on_request=True,
        ),
        "TSC107": FixRemedy("adds pod-template-hash to matchLabelKeys", "", _write_instead),
        "TSC108": FixRemedy(
            "`whenUnsatisfiable: ScheduleAnyway`", "", _write_instead, on_request=True
        ),
        "TSC109": FixRemedy("the least maxSkew with which both can be kept", "", _write_instead),
        "TSC110": FixRemedy(
            "adds two constraints, ScheduleAnyway, over zones and over nodes",
            "pods without labels",
            _write_constraints,
        ),
        "TSC111": FixRemedy(
            "removes the field, which has no effect",
            "the whole list, where nothing of it has an effect",
            _remove_field,
        ),
        "TSC112": FixRemedy("`maxSkew: 1`", "", _write_instead, on_request=True),
        "TSC113": FixRemedy(
            "adds a label of the pod's own to the selector that the others do not have",
            "where no label tells them apart",
            _write_instead,
            on_request=True,
        ),
        "TSC114": FixRemedy("", "the running pods are uneven; the manifest has no error"),
        "TSC115": FixRemedy("", "the running pods are outdated; the manifest has no error"),
    }
)
"""By rule id, in the order of the catalogue."""

ON_REQUEST = "it changes what the author requested: --rules {rule} applies it all the same"
"""Why a remedy that requires its rule to be named is not applied."""


def find_solution(context: FindingContext, named: frozenset[str]) -> Solution:
    """Find the changes that fix a finding, or why it is left; the user ``named`` some rules."""
    rule = context.finding.rule
    remedy = FIX_REMEDIES[rule]
    solution = remedy.find(context) if remedy.find else FixObstacle(remedy.leaves)
    if isinstance(solution, FixObstacle):
        return solution
    if remedy.on_request and rule not in named:
        return FixObstacle(ON_REQUEST.format(rule=rule))
    return tuple(_smallest(context, solution)) or FixObstacle("the value is already there")


def _smallest(context: FindingContext, changes: Iterable[Change]) -> Iterator[Change]:
    """Reduce changes to the differences from the written values."""
    for change in changes:
        written = context.written(change.path)
        if isinstance(change, Put) and written is not ABSENT:
            yield from find_differences(change.path, written, change.value)
        else:
            yield change
