"""
Label selectors, and the other small texts that a user writes: paths, versions, gates, durations.

The input is a JSON array: a selector, the labels of an object, and any number of texts. Expected:
the same objects are selected as by an independent evaluation, and a text that is read and written
is the same text to its reader.
"""

from datetime import timedelta
from typing import Any

import msgspec

from tests.fuzz.targets import expect
from webhook.config.durations import parse_duration
from webhook.errors import ConfigError
from webhook.policy.api.gates import parse_gates
from webhook.policy.api.labels import is_key, is_value
from webhook.policy.api.versions import parse_version, parse_version_range
from webhook.policy.model import Constraint, LabelSelector
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import format_path, format_pointer, parse_path, parse_pointer
from webhook.policy.selectors import (
    has_pairs,
    matches,
    merge_match_label_keys,
    render,
    selected_keys,
)

TOKENS = (
    b'"matchLabels":{', b'"matchExpressions":[{', b'"key":"app"', b'"operator":"In"', b'"NotIn"',
    b'"Exists"', b'"DoesNotExist"', b'"values":["web"]', b'"app":"web"', b"null", b'""', b"{}",
    b'"spec.template[0].x"', b'"1.29..1.33"', b'"A=true,B=false"', b'"1h30m"', b'"/a~1b/~0"',
    b'"v1.30.2-gke.100+x"', b'"example.io/name"', b'"\\u0660"', b'"\xd9\xa0"', b"[", b"]",
)  # fmt: skip


class _Input(msgspec.Struct, array_like=True):
    selector: LabelSelector | None = None
    labels: dict[str, str] = {}
    texts: list[str] = []


_decode = msgspec.json.Decoder(_Input).decode


def check(data: bytes) -> None:
    """Read and apply a selector, and parse texts."""
    try:
        given = decode_nested(_decode, data)
    except (msgspec.MsgspecError, UnicodeError):
        return
    if given.selector is not None:
        _check_selector(given.selector, given.labels)
    for text in given.texts:
        _check_paths(text)
        _check_settings(text)


def _check_selector(selector: LabelSelector, labels: dict[str, str]) -> None:
    expect(matches(selector, labels) == _selects(selector, labels), "another object is selected")
    expect(
        has_pairs(labels, selector.match_labels)
        == (selector.match_labels.items() <= labels.items()),
        "other pairs",
    )
    expect(selected_keys(selector) >= set(selector.match_labels), "a key is missing")
    expect(bool(render(selector)) or not _parts(selector), "a selector is written as nothing")
    expect(render(selector) == render(_reversed(selector)), "the order decides")
    keys = tuple(labels)
    (merged,) = merge_match_label_keys(
        (Constraint(label_selector=selector, match_label_keys=keys),), labels
    )
    expect(merged.label_selector is not None, "the selector is lost")
    expect(
        matches(merged.label_selector, labels) == matches(selector, labels),
        "the pod's own labels do not match what was merged from them",
    )


def _parts(selector: LabelSelector) -> bool:
    named = [item for item in selector.match_expressions if item.key]
    return bool(selector.match_labels or named)


def _reversed(selector: LabelSelector) -> LabelSelector:
    pairs = dict(reversed(selector.match_labels.items()))
    return LabelSelector(pairs, selector.match_expressions[::-1])


def _selects(selector: LabelSelector, labels: dict[str, str]) -> bool:
    """Evaluate a selector as its documentation describes it."""
    for key, value in selector.match_labels.items():
        if key not in labels or labels[key] != value:
            return False
    for item in selector.match_expressions:
        is_in = item.key in labels and labels[item.key] in item.values
        holds: dict[str, bool] = {
            "In": is_in,
            "NotIn": not is_in,
            "Exists": item.key in labels,
            "DoesNotExist": item.key not in labels,
        }
        if not holds.get(item.operator, False):
            return False
    return True


def _check_paths(text: str) -> None:
    steps = parse_path(text)
    expect(parse_path(format_path(steps)) == steps or not _is_plain(steps), "another path")
    pointer = parse_pointer(text)
    expect(parse_pointer(format_pointer(pointer)) == pointer, "another pointer")
    expect(isinstance(is_key(text), bool) and isinstance(is_value(text), bool), "no answer")
    if is_value(text):
        expect(text.isascii() and len(text) <= 63, "no label value")


def _is_plain(steps: tuple[Any, ...]) -> bool:
    """Whether a path is written as it is read: other names, such as ``1``, stand in brackets."""
    return all(isinstance(step, int) or (step.isascii() and step.isidentifier()) for step in steps)


def _check_settings(text: str) -> None:
    for parse in (parse_version, parse_version_range, parse_gates):
        try:
            parse(text)
        except ConfigError as error:
            expect(str(error), "an error has no message")
    lasting = parse_duration(text)
    expect(lasting is None or lasting >= timedelta(0), "a duration is negative")
    try:
        version = parse_version(text)
    except ConfigError:
        return
    expect(parse_version(str(version)) == version, "another version")
