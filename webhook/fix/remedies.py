"""
The table of remedies: for each rule what is written into a manifest, or why nothing is.

A remedy writes what the message says, where there is but one way to read it. Where the message
leaves a choice, it takes the way that keeps what the author asked for, or none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from webhook.fix.changes import Change, Obstacle, Put, Remove, Solution, differences
from webhook.fix.finding import NOTHING, Case
from webhook.fix.selecting import (
    NO_LABELS,
    correct_operator,
    correct_selector,
    meant,
    part_keys,
    write_own_selector,
)
from webhook.policy.advice.suggestions import nearest_key
from webhook.policy.api.warnings import DEPRECATED_KEYS
from webhook.policy.catalogue import REFUSED_EXEMPTION, TYPE_INVALID
from webhook.policy.model import NODE_POLICIES, SCHEDULE_ANYWAY, UNSATISFIABLE_ACTIONS

Find: TypeAlias = Callable[[Case], Solution]
"""Says what mends a finding."""


class Remedy(NamedTuple):
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


def _write_least_skew(case: Case) -> Solution:
    return (Put((*case.entry, "maxSkew"), 1),)


def _spell(known: tuple[str, ...]) -> Find:
    def spell(case: Case) -> Solution:
        written = case.written(case.path)
        word = meant(written, known) if isinstance(written, str) else ""
        if not word:
            return Obstacle(f"which of {' and '.join(known)} is meant cannot be known")
        return (Put(case.path, word),)

    return spell


def _remove_repeated(case: Case) -> Solution:
    """Remove one of two entries that are equal but for maxSkew: the looser one, or the later."""
    constraints, index = case.subject.pod.constraints, case.entry_index
    one = constraints[index]
    pair = (one.topology_key, one.when_unsatisfiable)
    later = next(
        number
        for number, each in enumerate(constraints)
        if number > index and (each.topology_key, each.when_unsatisfiable) == pair
    )
    other = constraints[later]
    if min(one.max_skew, other.max_skew) < 1:
        return Obstacle("which of the two counts cannot be known before their maxSkew is")
    if replace(one, max_skew=other.max_skew) != other:
        return Obstacle(f"it differs from entry {later} in more than maxSkew")
    looser = index if one.max_skew > other.max_skew else later
    return (Remove((*case.list_path, looser)),)


def _remove_min_domains(case: Case) -> Solution:
    return (Remove((*case.entry, "minDomains")),)


def _remove_useless_min_domains(case: Case) -> Solution:
    if case.constraint.when_unsatisfiable != SCHEDULE_ANYWAY:
        return Obstacle("it depends on whenUnsatisfiable, which comes first")
    return _remove_min_domains(case)


def _write_successor(case: Case) -> Solution:
    _, successor = DEPRECATED_KEYS[case.constraint.topology_key]
    return (Put((*case.entry, "topologyKey"), successor),)


def _write_instead(case: Case) -> Solution:
    """Write what the finding says."""
    if case.instead is None:
        return Obstacle(case.finding.instead.removeprefix("# "))
    return (Put(*case.instead),)


def _write_nearest_key(case: Case) -> Solution:
    key = case.constraint.topology_key
    if case.instead is None:
        return _write_instead(case)
    if case.instead[1] != nearest_key(key, case.grounds.facts.label_keys()):
        return Obstacle("no label of the nodes is like it")
    return _write_instead(case)


def _write_constraints(case: Case) -> Solution:
    return _write_instead(case) if case.subject.labels else NO_LABELS


def _remove_field(case: Case) -> Solution:
    if case.path == case.list_path:
        return Obstacle("the whole list would have to go")
    return (Remove(case.path),)


def _leave(reason: str) -> Find:
    return lambda _: Obstacle(reason)


def _left(reason: str) -> Remedy:
    return Remedy("", reason, _leave(reason))


REMEDIES: Mapping[str, Remedy] = MappingProxyType(
    {
        TYPE_INVALID: _left("what value was meant cannot be known"),
        REFUSED_EXEMPTION: _left("only its author knows the reason"),
        "TSC001": Remedy("`maxSkew: 1`, the least that there is", "", _write_least_skew),
        "TSC002": _left("only its author knows what to spread over"),
        "TSC003": Remedy(
            "`DoNotSchedule` or `ScheduleAnyway`, whichever was misspelt",
            "another word, or none, may mean either",
            _spell(UNSATISFIABLE_ACTIONS),
        ),
        "TSC004": Remedy(
            "removes one of two entries that are equal, or the one with the larger maxSkew if "
            "they are equal otherwise",
            "of entries that differ in more, either may be meant",
            _remove_repeated,
        ),
        "TSC005": Remedy(
            "removes minDomains, which demands nothing below 1", "", _remove_min_domains
        ),
        "TSC006": Remedy(
            "removes minDomains, which a soft constraint never heeds",
            "while whenUnsatisfiable is neither of the two",
            _remove_useless_min_domains,
        ),
        "TSC007": Remedy(
            "`Honor` or `Ignore`, whichever was misspelt",
            "another word may mean either",
            _spell(NODE_POLICIES),
        ),
        "TSC008": Remedy(
            "adds a labelSelector of the pod's own labels where there is none; takes a key out of "
            "the selector, or out of matchLabelKeys, so that the same pods count as by both",
            "a key that is no label key; one of which the selector asks something else",
            part_keys,
        ),
        "TSC009": Remedy(
            "the operator that was misspelt",
            "which label, or which value, is meant only its author knows",
            correct_operator,
        ),
        "TSC010": _left("which of so many constraints are meant only their author knows"),
        "TSC020": Remedy("the label that took its place", "", _write_successor),
        "TSC021": Remedy(
            "a labelSelector of the pod's own labels",
            "pods without labels; what a profile completes anyway",
            write_own_selector,
        ),
        "TSC101": Remedy(
            "the pod's own values, where the selector asks for the labels that name the pod",
            "other selectors, and one that selects another workload's pods, may be meant",
            correct_selector,
        ),
        "TSC102": Remedy(
            "a labelSelector of the pod's own labels", "pods without labels", write_own_selector
        ),
        "TSC103": Remedy(
            "the label of the nodes that is nearest to a mistyped one",
            "a key that resembles none; one that some nodes lack: label these",
            _write_nearest_key,
        ),
        "TSC104": Remedy("minDomains as large as the number of domains", "", _write_instead),
        "TSC105": Remedy(
            "`nodeTaintsPolicy: Honor`",
            "where a feature gate holds that field back",
            _write_instead,
        ),
        "TSC106": Remedy(
            "the maxSkew with which the next pod has a node, or `ScheduleAnyway`",
            "",
            _write_instead,
            on_request=True,
        ),
        "TSC107": Remedy("adds pod-template-hash to matchLabelKeys", "", _write_instead),
        "TSC108": Remedy(
            "`whenUnsatisfiable: ScheduleAnyway`", "", _write_instead, on_request=True
        ),
        "TSC109": Remedy("the least maxSkew with which both can be kept", "", _write_instead),
        "TSC110": Remedy(
            "adds two constraints, ScheduleAnyway, over zones and over nodes",
            "pods without labels",
            _write_constraints,
        ),
        "TSC111": Remedy(
            "removes the field, which has no effect",
            "the whole list, where nothing of it has an effect",
            _remove_field,
        ),
        "TSC112": Remedy("`maxSkew: 1`", "", _write_instead, on_request=True),
        "TSC113": Remedy(
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


def solve(case: Case, named: frozenset[str]) -> Solution:
    """
    Say what mends a finding, or why it is left.

    Args:
        named: Rules that were asked for by name.
    """
    rule = case.finding.rule
    remedy = REMEDIES[rule]
    solution = remedy.find(case)
    if remedy.on_request and rule not in named and not isinstance(solution, Obstacle):
        return Obstacle(ON_REQUEST.format(rule=rule))
    if isinstance(solution, Obstacle):
        return solution
    return tuple(_smallest(case, solution)) or Obstacle("it is written so already")


def _smallest(case: Case, changes: Iterable[Change]) -> Iterator[Change]:
    """Keep what is written of a value and need not be changed."""
    for change in changes:
        written = case.written(change.path)
        if isinstance(change, Put) and written is not NOTHING:
            yield from differences(change.path, written, change.value)
        else:
            yield change
