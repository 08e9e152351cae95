"""
Remedies for whom a constraint counts: selectors, and the keys that join them.

All of them only ever write what selects the object's own pods.
"""

from difflib import get_close_matches

from webhook.fix.changes import Obstacle, Put, Remove, Solution
from webhook.fix.finding import Case
from webhook.manifests import is_object
from webhook.policy.advice.counting import may_add, other_workloads
from webhook.policy.advice.defaulting import completes_selectors
from webhook.policy.advice.suggestions import own_selector
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import EXISTS, OPERATORS, matches

LIKENESS = 0.9
"""Of two words of which one is taken for a typing error of the other, from 0 to 1: one letter."""

NO_LABELS = Obstacle("its pods have no labels that could be selected: give them some")


def meant(word: str, known: tuple[str, ...]) -> str:
    """The one word of an API that somebody meant; empty if that is not certain."""
    found = get_close_matches(word.lower(), [each.lower() for each in known], 2, LIKENESS)
    return next((each for each in known if [each.lower()] == found), "")


def write_own_selector(case: Case) -> Solution:
    """Select the object's own pods where nothing is selected (TSC021, TSC102)."""
    if case.constraint.label_selector is None and completes_selectors(case.subject, case.grounds):
        return Obstacle("the profile completes it when a pod is created")
    return _select_own(case, ())


def _select_own(case: Case, but: tuple[str, ...]) -> Solution:
    own = dict(sorted(own_selector(case.subject).match_labels.items()))
    pairs = {key: value for key, value in own.items() if key not in but}
    if not case.subject.labels or not pairs:
        return NO_LABELS
    return (_own(case, pairs),)


def _own(case: Case, pairs: dict[str, str]) -> Put:
    """Write pairs into a selector, beside the empty list of expressions that it may have."""
    path = (*case.entry, "labelSelector")
    if is_object(written := case.written(path)) and written:
        return Put((*path, "matchLabels"), pairs)
    return Put(path, {"matchLabels": pairs})


def correct_selector(case: Case) -> Solution:
    """Write the values that the pods have where the selector asks for others (TSC101)."""
    selector, own = case.constraint.label_selector, own_selector(case.subject)
    if selector is None or selector.match_expressions or not case.subject.labels:
        return Obstacle("what it shall select cannot be known")
    if selector.match_labels.keys() != own.match_labels.keys():
        return Obstacle("it asks for other labels than those that name the pods")
    survey = case.grounds.cluster
    if survey and (others := other_workloads(case.subject, selector, survey)):
        return Obstacle(f"it selects the pods of {min(others)}, which may be meant")
    return (_own(case, own.match_labels),)


def correct_operator(case: Case) -> Solution:
    """Spell an operator as the API does (TSC009)."""
    word = case.written(case.path)
    operator = meant(word, OPERATORS) if isinstance(word, str) else ""
    if case.path[-1] != "operator" or not operator:
        return Obstacle("which labels are meant cannot be known")
    return (Put(case.path, operator),)


def part_keys(case: Case) -> Solution:
    """Let a label stand in matchLabelKeys or in the selector, and not in both (TSC008)."""
    keys, at = case.constraint.match_label_keys, case.path[-1]
    if case.constraint.label_selector is None:
        return _select_own(case, keys)
    if not isinstance(at, int):
        return Obstacle("which label is meant cannot be known")
    if keys.index(keys[at]) < at:
        return (Remove((*case.entry, "matchLabelKeys", at)),)
    part, rest = _split(case.constraint.label_selector, keys[at])
    if part == LabelSelector():
        return Obstacle("which label is meant cannot be known")
    return _part(case, at, part, rest)


def _part(case: Case, at: int, part: LabelSelector, rest: LabelSelector) -> Solution:
    """
    Take a key out of one of the two, so that the same pods are counted as if both were obeyed.

    Of the pods that have the own pod's value of the key, the selector's part selects all or none.
    """
    key = case.constraint.match_label_keys[at]
    own = case.subject.labels.get(key)
    if own is None and not may_add(case.subject, key):
        return _without_key(case, at)  # it joins nothing to the selector
    exists = all(each.operator == EXISTS for each in part.match_expressions)
    holds = exists and not part.match_labels if own is None else matches(part, {key: own})
    if holds and rest != LabelSelector():
        return _without_part(case, part)
    if holds and own is not None and _pins(part):
        return _without_key(case, at)
    return Obstacle(f"whether {key} is to be here or in the selector cannot be known")


def _split(selector: LabelSelector, key: str) -> tuple[LabelSelector, LabelSelector]:
    """What a selector says of a label, and what else it says."""
    pairs, asked = selector.match_labels, selector.match_expressions
    return (
        LabelSelector(
            {each: value for each, value in pairs.items() if each == key},
            tuple(each for each in asked if each.key == key),
        ),
        LabelSelector(
            {each: value for each, value in pairs.items() if each != key},
            tuple(each for each in asked if each.key != key),
        ),
    )


def _pins(part: LabelSelector) -> bool:
    """Whether only one value of the label is selected."""
    return bool(part.match_labels) or any(len(each.values) == 1 for each in part.match_expressions)


def _without_key(case: Case, at: int) -> Solution:
    keys = (*case.entry, "matchLabelKeys")
    alone = len(case.constraint.match_label_keys) == 1
    return (Remove(keys if alone else (*keys, at)),)


def _without_part(case: Case, part: LabelSelector) -> Solution:
    """Take what a selector says of a label out of it; the pair first, if it says several things."""
    selector = case.constraint.label_selector or LabelSelector()
    if part.match_labels:
        (key,) = part.match_labels
        pairs = (*case.entry, "labelSelector", "matchLabels")
        return (Remove(pairs if len(selector.match_labels) == 1 else (*pairs, key)),)
    asked = selector.match_expressions
    expressions = (*case.entry, "labelSelector", "matchExpressions")
    alone = len(asked) == 1
    return (
        Remove(expressions if alone else (*expressions, asked.index(part.match_expressions[0]))),
    )
