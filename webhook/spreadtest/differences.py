"""What was answered otherwise than expected, in lines for people."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

from webhook.manifests import format_yaml
from webhook.spreadtest.results import CaseResult, Mismatch


def lines(case: CaseResult) -> Iterator[str]:
    """Write all that is wrong with a case, then what the server said; nothing if it passed."""
    for mismatch in case.mismatches:
        yield from _member(mismatch)
    for text in case.said:
        yield f"said: {text}"


def _member(mismatch: Mismatch) -> Iterator[str]:
    """Write texts side by side, all else as a diff of YAML."""
    expected, actual = mismatch.expected, mismatch.actual
    if isinstance(expected, str):
        yield f"{mismatch.member}: expected {expected}, got {actual or 'none'}"
        return
    yield f"{mismatch.member}:"
    yield from unified_diff(_rows(expected), _rows(actual), "expected", "actual", lineterm="")


def _rows(value: Any) -> list[str]:
    return format_yaml(value).splitlines()
