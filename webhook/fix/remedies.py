"""
The table of remedies: for each rule what is written into a manifest, or why nothing is.

A remedy writes what the message says, where there is but one way to read it. Where the message
leaves a choice, it takes the way that keeps what the author asked for, or none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from webhook.fix.changes import Change, FixObstacle, Put, Remove, Solution, find_differences
from webhook.fix.finding import ABSENT, FindingContext
from webhook.fix.selectors import (
    NO_LABELS,
    correct_operator,
    correct_selector,
    correct_word,
    part_keys,
    write_own_selector,
)
from webhook.policy.advice.suggestions import nearest_key
from webhook.policy.api.warnings import DEPRECATED_KEYS
from webhook.policy.catalogue import REFUSED_EXEMPTION, TYPE_INVALID
from webhook.policy.model import NODE_POLICIES, SCHEDULE_ANYWAY, UNSATISFIABLE_ACTIONS

Find: TypeAlias = Callable[[FindingContext], Solution]
"""Says what mends a finding."""


class FixRemedy(NamedTuple):
    """
    One row of the table.

    Attributes:
        writes: What is done, in a few words; empty if nothing ever is.
        leaves: When it is left, and why; empty if never.
        find: Says what to do.
        on_request: Whether it weakens or tightens what the author asked for, so that it is done
            only if the rule is named.
    """

    writes: str
    leaves: str
    find: Find
    on_request: bool = False


def _write_least_skew(context: FindingContext) -> Solution:
    return (Put((*context.entry, "maxSkew"), 1),)


def _spell(known: tuple[str, ...]) -> Find:
    def spell(context: FindingContext) -> Solution:
        written = context.written(context.path)
        word = correct_word(written, known) if isinstance(written, str) else ""
        if not word:
            return FixObstacle(f"which of {' and '.join(known)} is meant cannot be known")
        return (Put(context.path, word),)

    return spell


def _remove_repeated(context: FindingContext) -> Solution:
    """Remove one of two entries that are equal but for maxSkew: the looser one, or the later."""
    constraints, index = context.subject.pod.constraints, context.entry_index
    one = constraints[index]
    pair = (one.topology_key, one.when_unsatisfiable)
    later = next(
        number
        for number, each in enumerate(constraints)
        if number > index and (each.topology_key, each.when_unsatisfiable) == pair
    )
    other = constraints[later]
    if min(one.max_skew, other.max_skew) < 1:
        return FixObstacle("which of the two counts cannot be known before their maxSkew is")
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
    """Write what the finding says."""
    if context.instead is None:
        return FixObstacle(context.finding.instead.removeprefix("# "))
    return (Put(*context.instead),)


def _write_nearest_key(context: FindingContext) -> Solution:
    key = context.constraint.topology_key
    if context.instead is None:
        return _write_instead(context)
    if context.instead[1] != nearest_key(key, context.grounds.facts.label_keys()):
        return FixObstacle("no label of the nodes is like it")
    return _write_instead(context)


def _write_constraints(context: FindingContext) -> Solution:
    return _write_instead(context) if context.subject.labels else NO_LABELS


def _remove_field(context: FindingContext) -> Solution:
    if context.path == context.list_path:
        return FixObstacle("the whole list would have to go")
    return (Remove(context.path),)


def _leave(reason: str) -> Find:
    return lambda _: FixObstacle(reason)


def _left(reason: str) -> FixRemedy:
    return FixRemedy("", reason, _leave(reason))


FIX_REMEDIES: Mapping[str, FixRemedy] = MappingProxyType(
    {
        TYPE_INVALID: _left("what value was meant cannot be known"),
        REFUSED_EXEMPTION: _left("only its author knows the reason"),
        "TSC001": FixRemedy("`maxSkew: 1`, the least that there is", "", _write_least_skew),
        "TSC002": _left("only its author knows what to spread over"),
        "TSC003": FixRemedy(
            "`DoNotSchedule` or `ScheduleAnyway`, whichever was misspelt",
            "another word, or none, may mean either",
            _spell(UNSATISFIABLE_ACTIONS),
        ),
        "TSC004": FixRemedy(
            "removes one of two entries that are equal, or the one with the larger maxSkew if "
            "they are equal otherwise",
            "of entries that differ in more, either may be meant",
            _remove_repeated,
        ),
        "TSC005": FixRemedy(
            "removes minDomains, which demands nothing below 1", "", _remove_min_domains
        ),
        "TSC006": FixRemedy(
            "removes minDomains, which a soft constraint never heeds",
            "while whenUnsatisfiable is neither of the two",
            _remove_useless_min_domains,
        ),
        "TSC007": FixRemedy(
            "`Honor` or `Ignore`, whichever was misspelt",
            "another word may mean either",
            _spell(NODE_POLICIES),
        ),
        "TSC008": FixRemedy(
            "adds a labelSelector of the pod's own labels where there is none; takes a key out of "
            "the selector, or out of matchLabelKeys, so that the same pods count as by both",
            "a key that is no label key; one of which the selector asks something else",
            part_keys,
        ),
        "TSC009": FixRemedy(
            "the operator that was misspelt",
            "which label, or which value, is meant only its author knows",
            correct_operator,
        ),
        "TSC010": _left("which of so many constraints are meant only their author knows"),
        "TSC020": FixRemedy("the label that took its place", "", _write_successor),
        "TSC021": FixRemedy(
            "a labelSelector of the pod's own labels",
            "pods without labels; what a profile completes anyway",
            write_own_selector,
        ),
        "TSC101": FixRemedy(
            "the pod's own values, where the selector asks for the labels that name the pod",
            "other selectors, and one that selects another workload's pods, may be meant",
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
        "TSC114": _left("it is the pods that are uneven, and not the manifest that is wrong"),
        "TSC115": _left("it is the pods that are older, and not the manifest that is wrong"),
    }
)
"""By id, in the order in which rules are listed."""

ON_REQUEST = "it changes what the author asked for: --rules {rule} does it all the same"
"""Why a remedy that waits for being asked is not applied."""


def find_solution(context: FindingContext, named: frozenset[str]) -> Solution:
    """
    Say what mends a finding, or why it is left.

    Args:
        named: Rules that were asked for by name.
    """
    rule = context.finding.rule
    remedy = FIX_REMEDIES[rule]
    solution = remedy.find(context)
    if remedy.on_request and rule not in named and not isinstance(solution, FixObstacle):
        return FixObstacle(ON_REQUEST.format(rule=rule))
    if isinstance(solution, FixObstacle):
        return solution
    return tuple(_smallest(context, solution)) or FixObstacle("it is written so already")


def _smallest(context: FindingContext, changes: Iterable[Change]) -> Iterator[Change]:
    """Keep what is written of a value and need not be changed."""
    for change in changes:
        written = context.written(change.path)
        if isinstance(change, Put) and written is not ABSENT:
            yield from find_differences(change.path, written, change.value)
        else:
            yield change
