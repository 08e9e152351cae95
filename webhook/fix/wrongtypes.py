"""
Corrections of values of wrong types: ``correct_type``.

Only those are corrected whose meaning is certain: a number in quotes, and one entry in place of a
list of them. A number or a boolean in place of a string is not, since YAML does not keep how it is
written: ``1.10`` is the number 1.1.
"""

import re
from typing import Any

from webhook.audit.report import AuditFinding
from webhook.fix.changes import FixObstacle, Put, Solution
from webhook.fix.evaluate import Evaluation, UndecodedObject
from webhook.fix.finding import ABSENT
from webhook.fix.remedies import BY_HAND
from webhook.policy.catalogue import TYPE_INVALID
from webhook.policy.paths import FieldPath, find_value, parse_path

TYPES_FIRST = FixObstacle("first correct the values of wrong types")

QUOTED_INTEGER = "expected an integer, got a string"
SINGLE_ENTRY = "expected a list, got a string"

_LISTS = frozenset({"matchLabelKeys", "values"})
"""Lists of label keys, or of values of labels; others, such as commands, may be split otherwise."""

_is_integer = re.compile(r"-?[0-9]{1,10}").fullmatch


def correct_type(
    evaluation: Evaluation, undecoded: UndecodedObject, finding: AuditFinding
) -> Solution:
    """Find the change that gives a value of an object its type, or the reason why it is left."""
    if finding.rule != TYPE_INVALID:
        return TYPES_FIRST
    path = parse_path(finding.field)
    change = _find_change(undecoded.document.value, path, finding.problem)
    if change is None or undecoded.is_duplicate(path):
        return BY_HAND
    return (change,) if evaluation.has_type_after(undecoded, finding.field, change) else BY_HAND


def _find_change(value: Any, path: FieldPath, problem: str) -> Put | None:
    """Find the change of a value, of which ``problem`` says what is wrong; None if none is sure."""
    written = find_value(value, path, ABSENT)
    if not isinstance(written, str):
        return None
    if problem.endswith(QUOTED_INTEGER) and _is_integer(written):
        return Put(path, int(written))
    if problem.endswith(SINGLE_ENTRY) and path[-1] in _LISTS and written:
        return Put(path, [written])
    return None
