"""
Remedies for whom a constraint counts: selectors, and the keys that join them.

All of them only ever write what selects the object's own pods.
"""

from difflib import get_close_matches

from webhook.fix.changes import FixObstacle, Put, Remove, Solution
from webhook.fix.finding import FindingContext
from webhook.manifests import is_object
from webhook.policy.advice.counting import may_add, other_workloads
from webhook.policy.advice.defaulting import completes_selectors
from webhook.policy.advice.suggestions import own_selector
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import EXISTS, OPERATORS, matches

MIN_SIMILARITY = 0.9
"""Of two words of which one is taken for a typing error of the other, from 0 to 1: one letter."""

NO_LABELS = FixObstacle("its pods have no labels that could be selected: give them some")


def correct_word(word: str, known: tuple[str, ...]) -> str:
    """The one word of an API that somebody meant; empty if that is not certain."""
    found = get_close_matches(word.lower(), [each.lower() for each in known], 2, MIN_SIMILARITY)
    return next((each for each in known if [each.lower()] == found), "")


def write_own_selector(context: FindingContext) -> Solution:
    """Select the object's own pods where nothing is selected (TSC021, TSC102)."""
    if context.constraint.label_selector is None and completes_selectors(
        context.subject, context.grounds
    ):
        return FixObstacle("the profile completes it when a pod is created")
    return _select_own(context, ())


def _select_own(context: FindingContext, but: tuple[str, ...]) -> Solution:
    own = dict(sorted(own_selector(context.subject).match_labels.items()))
    pairs = {key: value for key, value in own.items() if key not in but}
    if not context.subject.labels or not pairs:
        return NO_LABELS
    return (_own(context, pairs),)


def _own(context: FindingContext, pairs: dict[str, str]) -> Put:
    """Write pairs into a selector, beside the empty list of expressions that it may have."""
    path = (*context.entry, "labelSelector")
    if is_object(written := context.written(path)) and written:
        return Put((*path, "matchLabels"), pairs)
    return Put(path, {"matchLabels": pairs})


def correct_selector(context: FindingContext) -> Solution:
    """Write the values that the pods have where the selector asks for others (TSC101)."""
    selector, own = context.constraint.label_selector, own_selector(context.subject)
    if selector is None or selector.match_expressions or not context.subject.labels:
        return FixObstacle("what it shall select cannot be known")
    if selector.match_labels.keys() != own.match_labels.keys():
        return FixObstacle("it asks for other labels than those that name the pods")
    survey = context.grounds.cluster
    if survey and (others := other_workloads(context.subject, selector, survey)):
        return FixObstacle(f"it selects the pods of {min(others)}, which may be meant")
    return (_own(context, own.match_labels),)


def correct_operator(context: FindingContext) -> Solution:
    """Spell an operator as the API does (TSC009)."""
    word = context.written(context.path)
    operator = correct_word(word, OPERATORS) if isinstance(word, str) else ""
    if context.path[-1] != "operator" or not operator:
        return FixObstacle("which labels are meant cannot be known")
    return (Put(context.path, operator),)


def part_keys(context: FindingContext) -> Solution:
    """Let a label stand in matchLabelKeys or in the selector, and not in both (TSC008)."""
    keys, at = context.constraint.match_label_keys, context.path[-1]
    if context.constraint.label_selector is None:
        return _select_own(context, keys)
    if not isinstance(at, int):
        return FixObstacle("which label is meant cannot be known")
    if keys.index(keys[at]) < at:
        return (Remove((*context.entry, "matchLabelKeys", at)),)
    part, rest = _split(context.constraint.label_selector, keys[at])
    if part == LabelSelector():
        return FixObstacle("which label is meant cannot be known")
    return _part(context, at, part, rest)


def _part(context: FindingContext, at: int, part: LabelSelector, rest: LabelSelector) -> Solution:
    """
    Take a key out of one of the two, so that the same pods are counted as if both were obeyed.

    Of the pods that have the own pod's value of the key, the selector's part selects all or none.
    """
    key = context.constraint.match_label_keys[at]
    own = context.subject.labels.get(key)
    if own is None and not may_add(context.subject, key):
        return _without_key(context, at)  # it joins nothing to the selector
    exists = all(each.operator == EXISTS for each in part.match_expressions)
    holds = exists and not part.match_labels if own is None else matches(part, {key: own})
    if holds and rest != LabelSelector():
        return _without_part(context, part)
    if holds and own is not None and _pins(part):
        return _without_key(context, at)
    return FixObstacle(f"whether {key} is to be here or in the selector cannot be known")


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


def _without_key(context: FindingContext, at: int) -> Solution:
    keys = (*context.entry, "matchLabelKeys")
    alone = len(context.constraint.match_label_keys) == 1
    return (Remove(keys if alone else (*keys, at)),)


def _without_part(context: FindingContext, part: LabelSelector) -> Solution:
    """Take what a selector says of a label out of it; the pair first, if it says several things."""
    selector = context.constraint.label_selector or LabelSelector()
    if part.match_labels:
        (key,) = part.match_labels
        pairs = (*context.entry, "labelSelector", "matchLabels")
        return (Remove(pairs if len(selector.match_labels) == 1 else (*pairs, key)),)
    asked = selector.match_expressions
    expressions = (*context.entry, "labelSelector", "matchExpressions")
    alone = len(asked) == 1
    return (
        Remove(expressions if alone else (*expressions, asked.index(part.match_expressions[0]))),
    )
