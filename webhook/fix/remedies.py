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
from webhook.fix.changes import Change, FixObstacle, Put, Remove, Solution, find_differences
from webhook.fix.finding import ABSENT, FindingContext
from webhook.policy.advice.suggestions import nearest_key
from webhook.policy.api.predict import DEPRECATED_KEYS
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
    """Write the value that the finding proposes."""
    if context.instead is None:
        return FixObstacle(context.finding.instead.removeprefix("# "))
    return (Put(*context.instead),)


def _write_nearest_key(context: FindingContext) -> Solution:
    key = nearest_key(context.constraint.topology_key, context.grounds.facts.label_keys())
    if context.instead and context.instead[1] != key:
        return FixObstacle("it resembles no label of the nodes")
    return _write_instead(context)


def _write_constraints(context: FindingContext) -> Solution:
    return _write_instead(context) if context.subject.labels else selectors.NO_LABELS


def _remove_field(context: FindingContext) -> Solution:
    if context.path == context.list_path:
        return FixObstacle("the whole list would have to be removed")
    return (Remove(context.path),)


FIX_REMEDIES: Mapping[str, FixRemedy] = MappingProxyType(
    {
        TYPE_INVALID: FixRemedy("", "the intended value cannot be known"),
        REFUSED_EXEMPTION: FixRemedy("", "only the author knows the reason"),
        "TSC001": FixRemedy("`maxSkew: 1`, the smallest valid value", "", _write_least_skew),
        "TSC002": FixRemedy("", "only the author knows what to spread over"),
        "TSC003": FixRemedy(
            "`DoNotSchedule` or `ScheduleAnyway`, whichever was misspelt",
            "if the value is missing or resembles neither: either may be intended",
            partial(_correct_word, UNSATISFIABLE_ACTIONS),
        ),
        "TSC004": FixRemedy(
            "removes one of two equal constraints; if only maxSkew differs, the one with the "
            "larger maxSkew",
            "constraints that differ in more than maxSkew: either may be intended",
            _remove_repeated,
        ),
        "TSC005": FixRemedy(
            "removes minDomains, which has no effect below 1", "", _remove_min_domains
        ),
        "TSC006": FixRemedy(
            "removes minDomains, which has no effect with ScheduleAnyway",
            "if whenUnsatisfiable has no valid value: fix this value first",
            _remove_useless_min_domains,
        ),
        "TSC007": FixRemedy(
            "`Honor` or `Ignore`, whichever was misspelt",
            "if the value resembles neither: either may be intended",
            partial(_correct_word, NODE_POLICIES),
        ),
        "TSC008": FixRemedy(
            "adds a labelSelector with the pod's own labels if it is missing; removes a key that "
            "is in both matchLabelKeys and the selector from one of them, if the same pods still "
            "count",
            "an invalid label key; a key whose required value in the selector differs from the "
            "pod's own label",
            selectors.separate_keys,
        ),
        "TSC009": FixRemedy(
            "corrects a misspelt operator",
            "other errors of the selector: only the author knows the intended label or value",
            selectors.correct_operator,
        ),
        "TSC010": FixRemedy("", "only the author knows which of the constraints are intended"),
        "TSC020": FixRemedy("the successor of the deprecated label", "", _write_successor),
        "TSC021": FixRemedy(
            "a labelSelector with the pod's own labels",
            "pods without labels; a selector that a profile fills in when the pod is created",
            selectors.write_own_selector,
        ),
        "TSC101": FixRemedy(
            "the pod's own values, if the selector uses the labels that identify the pod",
            "other selectors, and selectors of another workload's pods: they may be intended",
            selectors.correct_selector,
        ),
        "TSC102": FixRemedy(
            "a labelSelector with the pod's own labels",
            "pods without labels",
            selectors.write_own_selector,
        ),
        "TSC103": FixRemedy(
            "the label of the nodes that a mistyped key resembles",
            "a key that resembles none of them; a key that only some nodes have: label the others",
            _write_nearest_key,
        ),
        "TSC104": FixRemedy("the number of domains as minDomains", "", _write_instead),
        "TSC105": FixRemedy(
            "`nodeTaintsPolicy: Honor`", "if the feature gate of this field is off", _write_instead
        ),
        "TSC106": FixRemedy(
            "a maxSkew with which some node can take the next pod, or `ScheduleAnyway`",
            "",
            _write_instead,
            on_request=True,
        ),
        "TSC107": FixRemedy("adds pod-template-hash to matchLabelKeys", "", _write_instead),
        "TSC108": FixRemedy(
            "`whenUnsatisfiable: ScheduleAnyway`", "", _write_instead, on_request=True
        ),
        "TSC109": FixRemedy(
            "the smallest maxSkew with which the zone constraint and the node constraint can both "
            "be satisfied",
            "",
            _write_instead,
        ),
        "TSC110": FixRemedy(
            "adds two ScheduleAnyway constraints, over zones and over nodes",
            "pods without labels",
            _write_constraints,
        ),
        "TSC111": FixRemedy(
            "removes the field, which has no effect",
            "if the whole topologySpreadConstraints has no effect",
            _remove_field,
        ),
        "TSC112": FixRemedy("`maxSkew: 1`", "", _write_instead, on_request=True),
        "TSC113": FixRemedy(
            "adds to the selector a label of the pod that pods of other workloads do not have",
            "if the pod has no such label",
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
