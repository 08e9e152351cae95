"""
Remedies for the pods that a constraint counts: its label selector, and matchLabelKeys.

Every selector that these remedies write selects the object's own pods.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher, get_close_matches

from webhook.fix.changes import FixObstacle, Put, Remove, Solution
from webhook.fix.finding import FindingContext
from webhook.policy.advice.counting import may_add
from webhook.policy.advice.defaulting import completes_selectors
from webhook.policy.advice.fields import propose_keys
from webhook.policy.advice.findings import join_names
from webhook.policy.advice.nearestkey import KEY_SIMILARITY
from webhook.policy.advice.podselectors import NAMING_LABELS, correct_requirements
from webhook.policy.advice.suggestions import (
    ADD_LABELS,
    constraint_selector,
    describe_refused_labels,
    list_controller_names,
    own_selector,
)
from webhook.policy.model import LabelSelector
from webhook.policy.paths import FieldPath, is_object
from webhook.policy.selectors import EXISTS, OPERATORS, has_pairs, matches

MIN_SIMILARITY = 0.9
"""Similarity from 0 to 1 at which a word is taken for a typo of another: one letter."""

NO_LABELS = FixObstacle(ADD_LABELS.removeprefix("# "))


def correct_word(word: str, known: tuple[str, ...]) -> str:
    """Find the one word that a misspelled word resembles; empty if none or several."""
    found = get_close_matches(word.lower(), [name.lower() for name in known], 2, MIN_SIMILARITY)
    return next((name for name in known if [name.lower()] == found), "")


def write_own_selector(context: FindingContext) -> Solution:
    """Write a selector of the object's own pods where there is none (TSC021, TSC102)."""
    if context.constraint.label_selector is None and completes_selectors(
        context.subject, context.grounds
    ):
        return FixObstacle("the profile completes it when a pod is created")
    return _select_own(context, context.constraint.match_label_keys)


def _select_own(context: FindingContext, but: tuple[str, ...]) -> Solution:
    if refused := describe_refused_labels(context.subject):
        return FixObstacle(refused)
    found = own_selector(context.subject, context.grounds.cluster)
    own = dict(sorted(found.match_labels.items()))
    pairs = {key: value for key, value in own.items() if key not in but}
    if not own:
        return NO_LABELS
    if not pairs:
        return _take_over(context, own)
    return (_put_pairs(context, pairs),)


def _take_over(context: FindingContext, own: dict[str, str]) -> Solution:
    """Write pairs into a selector whose keys are in matchLabelKeys, and remove them from there."""
    kept = [key for key in context.constraint.match_label_keys if key not in own]
    if not kept:
        return FixObstacle("all labels that could be selected are in matchLabelKeys: move them")
    return (_put_pairs(context, own), Put((*context.entry, "matchLabelKeys"), kept))


def _put_pairs(context: FindingContext, pairs: dict[str, str]) -> Put:
    """Write pairs into a selector; keep an empty list of expressions that it may have."""
    path = (*context.entry, "labelSelector")
    if is_object(written := context.written(path)) and written:
        return Put((*path, "matchLabels"), pairs)
    return Put(path, {"matchLabels": pairs})


def correct_selector(context: FindingContext) -> Solution:
    """Replace the selector's values by those of the pods' labels (TSC101)."""
    selector, survey = context.constraint.label_selector, context.grounds.cluster
    if refused := describe_refused_labels(context.subject):
        return FixObstacle(refused)
    own = constraint_selector(context.subject, context.constraint, survey).match_labels
    if not own:
        return NO_LABELS
    if selector is None or selector.match_expressions:
        return FixObstacle("which pods it should select cannot be known")
    pairs = selector.match_labels
    required: AbstractSet[str]
    if not context.subject.path and own.keys().isdisjoint(NAMING_LABELS):
        naming, required = _correct_misspellings(context, pairs), pairs.keys()
    else:
        names = list_controller_names(context.subject, pairs)
        naming = {key: own[key] for key in own if key in pairs} | names if names else own
        required = naming.keys() & set(NAMING_LABELS) or naming.keys()
    others = {key: value for key, value in pairs.items() if key not in naming}
    if not required <= pairs.keys() or not has_pairs(context.subject.common_labels, others):
        return FixObstacle(_compare_keys(context, required))
    selected = survey.list_members(context.subject.namespace, selector) if survey else []
    if others_selected := [name for name in selected if name != str(context.subject)]:
        return FixObstacle(f"it selects the pods of {others_selected[0]}, which may be intended")
    return (_put_pairs(context, {**pairs, **naming}),)


def _correct_misspellings(context: FindingContext, pairs: Mapping[str, str]) -> dict[str, str]:
    """Correct the values of a pod that stands for itself which resemble its own."""
    corrected = correct_requirements(context.subject, context.constraint) or LabelSelector()
    return {
        key: value
        for key, value in corrected.match_labels.items()
        if key in pairs and SequenceMatcher(None, pairs[key], value).ratio() >= KEY_SIMILARITY
    }


def _compare_keys(context: FindingContext, required: Collection[str]) -> str:
    """Say why it cannot be known which pods a selector of other labels should select."""
    subject, selector = context.subject, context.constraint.label_selector
    pairs = selector.match_labels if selector else {}
    others = [key for key, value in pairs.items() if subject.common_labels.get(key) != value]
    absent = [key for key in others if key not in subject.labels and key not in required]
    if added := [key for key in absent if may_add(subject, key)]:
        instead = f", and select its pods by {join_names(sorted(required))}"
        advice = f"leave it out{instead if len(added) == len(pairs) else ''}"
        return f"its controller sets {join_names(added)} to another value: {advice}"
    if absent:
        suggested = context.finding.instead
        written = " and ".join(suggested.splitlines())
        other = "select others" if suggested.startswith("#") else f"write {written}"
        return f"its pods have no label {join_names(absent)}: add it to them, or {other}"
    if lacking := [key for key in required if key not in pairs]:
        return f"it does not name {join_names(lacking)}, which identifies its pods"
    return f"its pods have another {join_names(others)}: which is meant cannot be known"


def correct_operator(context: FindingContext) -> Solution:
    """Correct the spelling of an operator (TSC009)."""
    word = context.written(context.path)
    operator = correct_word(word, OPERATORS) if isinstance(word, str) else ""
    if context.path[-1] != "operator" or not operator:
        return FixObstacle("which labels are intended cannot be known")
    return (Put(context.path, operator),)


def separate_keys(context: FindingContext) -> Solution:
    """Remove a key from matchLabelKeys or from the selector if both have it (TSC008)."""
    keys, at = context.constraint.match_label_keys, context.path[-1]
    if context.constraint.label_selector is None:
        return _select_own(context, keys)
    assert isinstance(at, int), "beside a selector, a finding is about one key"
    if keys.index(keys[at]) < at:
        return (Remove((*context.entry, "matchLabelKeys", at)),)
    part, rest = _split_selector(context.constraint.label_selector, keys[at])
    if part == LabelSelector():
        return FixObstacle("which label is intended cannot be known")
    return _choose_side(context, at, part, rest)


def correct_label_key(context: FindingContext) -> Solution:
    """Replace a key of matchLabelKeys that the pods never carry, or remove it (TSC117)."""
    at = context.path[-1]
    if not isinstance(at, int):  # a default of a profile, which is not in the file
        return FixObstacle(context.finding.instead.removeprefix("# "))
    meant = propose_keys(context.constraint, context.subject, context.grounds)[at]
    return (Put(context.path, meant),) if meant else _remove_key(context, at)


def _choose_side(
    context: FindingContext, at: int, part: LabelSelector, rest: LabelSelector
) -> Solution:
    """
    Remove a key from one of the two such that the same pods are counted as with both.

    matchLabelKeys restricts the count to pods with the own pod's value of the key. Of these, the
    selector's part about the key selects all or none.
    """
    key = context.constraint.match_label_keys[at]
    own = context.subject.common_labels.get(key)
    if own is None and not may_add(context.subject, key):
        return _remove_key(context, at)  # without a value it adds nothing to the selector
    exists = all(one.operator == EXISTS for one in part.match_expressions)
    holds = exists and not part.match_labels if own is None else matches(part, {key: own})
    if holds and rest != LabelSelector():
        return _remove_part(context, part)
    if holds and own is not None and _selects_one_value(part):
        return _remove_key(context, at)
    return FixObstacle(f"whether {key} belongs here or in the selector cannot be known")


def _split_selector(selector: LabelSelector, key: str) -> tuple[LabelSelector, LabelSelector]:
    """Split a selector into the part about a label, and the rest."""
    pairs, expressions = selector.match_labels, selector.match_expressions
    part = LabelSelector(
        {key: pairs[key]} if key in pairs else {},
        tuple(one for one in expressions if one.key == key),
    )
    rest = LabelSelector(
        {name: value for name, value in pairs.items() if name != key},
        tuple(one for one in expressions if one.key != key),
    )
    return part, rest


def _selects_one_value(part: LabelSelector) -> bool:
    """Whether a part selects only one value of its label."""
    return bool(part.match_labels) or any(len(one.values) == 1 for one in part.match_expressions)


def _remove_key(context: FindingContext, at: int) -> Solution:
    keys = len(context.constraint.match_label_keys)
    return _remove_entry((*context.entry, "matchLabelKeys"), at, keys)


def _remove_part(context: FindingContext, part: LabelSelector) -> Solution:
    """Remove a part from a selector; the pair first, and an expression in the next round."""
    selector = context.constraint.label_selector or LabelSelector()
    path = (*context.entry, "labelSelector")
    if part.match_labels:
        (key,) = part.match_labels
        return _remove_entry((*path, "matchLabels"), key, len(selector.match_labels))
    written = selector.match_expressions
    index = written.index(part.match_expressions[0])
    return _remove_entry((*path, "matchExpressions"), index, len(written))


def _remove_entry(collection: FieldPath, step: str | int, entries: int) -> Solution:
    """Remove an entry from a collection; the only one together with the collection."""
    return (Remove(collection if entries == 1 else (*collection, step)),)
