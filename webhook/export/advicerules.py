"""
Policy rules that need no facts as CEL expressions: TSC101 and TSC102.

``write_advice_conditions`` is the entry point. In the expressions, ``c`` is the constraint and
``labels`` are the labels of the pod template. A label that a controller or a webhook may add to the
pods counts as one with any value, except the hash of a revision, which no template contains. No pod
lacks a label that its controller adds.

Source: ``policy.advice.selectors`` and ``policy.advice.counting``.
"""

import re
from collections.abc import Mapping

from webhook.export import cel
from webhook.export.members import (
    EXPRESSION_KEY,
    EXPRESSION_OPERATOR,
    EXPRESSION_VALUES,
    EXPRESSIONS,
    HAS_SELECTOR,
    LABEL_KEYS,
    SELECTED_PAIRS,
)
from webhook.policy import kinds, selectors
from webhook.policy.advice.exemptions import EXEMPT_ANNOTATION
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.model import GroupKind
from webhook.policy.podlabels import (
    ADDED_LABELS,
    COMPLETION_INDEX,
    WEBHOOK_DOMAINS,
    added_keys,
    revision_key,
)

ADVICE_RULES = ("TSC101", "TSC102")

_INDEXED = frozenset({kinds.JOB, kinds.CRON_JOB})  # fields of a Job decide about COMPLETION_INDEX
_UNKNOWN = frozenset({kinds.ROLLOUT})  # its strategy has labels that its controller adds


def write_advice_conditions(kind: GroupKind, gates: Gates, *, completes: bool) -> Mapping[str, str]:
    """
    Write the condition of each rule on a constraint in a pod template of a kind.

    Args:
        completes: Whether a profile fills in null selectors, which are then no violation.
    """
    carried = f"(k in labels || {_may_add(kind, 'k')})"
    keys = f"{LABEL_KEYS}.exists(k, {carried})" if Gate.MATCH_LABEL_KEYS in gates else "false"
    counts = f"size({SELECTED_PAIRS}) > 0 || size({EXPRESSIONS}) > 0 || {keys}"
    null = f"!{HAS_SELECTOR} || " if completes else f"{HAS_SELECTOR} && "
    return {"TSC101": _match_own_labels(kind), "TSC102": f"{null}({counts})"}


def _match_own_labels(kind: GroupKind) -> str:
    revision = revision_key(kind)
    is_hash = revision.endswith("-hash")
    other = f"k != {cel.text(revision)} && " if is_hash else ""
    pair = f"(k in labels ? labels[k] == {SELECTED_PAIRS}[k] : {other}{_may_add(kind, 'k')})"
    key = EXPRESSION_KEY
    selects = f"{key} == {cel.text(revision)} && {EXPRESSION_OPERATOR} == {cel.text(selectors.IN)}"
    added = f"!({selects}) && {_may_add(kind, key)}" if is_hash else _may_add(kind, key)
    expression = f"{_is_present(kind)}((!({key} in labels) && {added}) || {_holds()})"
    return (
        f"!{HAS_SELECTOR} || ({SELECTED_PAIRS}.all(k, {pair}) && "
        f"{EXPRESSIONS}.all(e, {expression}))"
    )


def _is_present(kind: GroupKind) -> str:
    """Write that an expression does not require the absence of a label that all pods have."""
    if not (keys := added_keys(kind)):
        return ""
    requires_absence = f"{EXPRESSION_OPERATOR} == {cel.text(selectors.DOES_NOT_EXIST)}"
    return f"!({requires_absence} && {EXPRESSION_KEY} in {cel.texts(sorted(keys))}) && "


def _holds() -> str:
    """Write that an expression of a selector holds; an unknown operator is left to other rules."""
    key, operator = EXPRESSION_KEY, EXPRESSION_OPERATOR
    has, accepted = f"{key} in labels", f"labels[{key}] in {EXPRESSION_VALUES}"
    return (
        f"({operator} == {cel.text(selectors.IN)} ? {has} && {accepted} : "
        f"{operator} == {cel.text(selectors.NOT_IN)} ? !({has} && {accepted}) : "
        f"{operator} == {cel.text(selectors.EXISTS)} ? {has} : "
        f"{operator} == {cel.text(selectors.DOES_NOT_EXIST)} ? !({has}) : true)"
    )


def _may_add(kind: GroupKind, key: str) -> str:
    """Write that a controller or a webhook may add a label; see ``podlabels.may_carry``."""
    added = ADDED_LABELS.get(kind)
    if added is None or kind in _UNKNOWN:
        return "true"
    keys = added.keys | {COMPLETION_INDEX} if kind in _INDEXED else added.keys
    domains = "|".join(map(re.escape, (*added.domains, *WEBHOOK_DOMAINS)))
    pattern = cel.text(rf"^([^/]*\.)?({domains})/")
    return f"({key} in {cel.texts(sorted(keys))} || {key}.matches({pattern}))"


def is_exempt(rule: str) -> str:
    """Write that the annotation of an object exempts it from a rule, with a reason."""
    annotation = f"object.metadata.?annotations[?{cel.text(EXEMPT_ANNOTATION)}].orValue({_NONE})"
    pattern = cel.text(rf"(^|,)\s*{rule}\s*=\s*[^,\s]")
    return f"{annotation}.matches({pattern})"


_NONE = cel.text("")
