from typing import Any

import pytest

from webhook.spreadtest.differences import format_differences
from webhook.spreadtest.results import CaseResult, CaseStatus, Mismatch

# member, expected, actual, how it is told
DIFFERENCES = {
    "words": ("verdict", "patch", "allow", ["verdict: expected patch, got allow"]),
    "a word and nothing": (
        "skipped", "no-selector", "", ["skipped: expected no-selector, got none"]
    ),
    "lists": (
        "denied",
        ["TSC001"],
        ["TSC001", "TSC002"],
        ["denied:", "--- expected", "+++ actual", "@@ -1 +1,2 @@", " - TSC001", "+- TSC002"],
    ),
    "something and nothing": (
        "warnings",
        [],
        ["a: b"],
        ["warnings:", "--- expected", "+++ actual", "@@ -1 +1 @@", "-[]", "+- 'a: b'"],
    ),
    "mappings": (
        "patched",
        {"spec": {"a": 1, "b": 2}},
        {"spec": {"a": 1, "b": 3}},
        [
            "patched:", "--- expected", "+++ actual", "@@ -1,3 +1,3 @@",
            " spec:", "   a: 1", "-  b: 2", "+  b: 3",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("member", "expected", "actual", "told"), DIFFERENCES.values(), ids=DIFFERENCES.keys()
)
def test_difference(member: str, expected: Any, actual: Any, told: list[str]) -> None:
    assert list(format_differences(failed(Mismatch(member, expected, actual)))) == told


def test_what_was_said_comes_last() -> None:
    case = failed(Mismatch("verdict", "allow", "deny"), "it is invalid")

    assert list(format_differences(case)) == [
        "verdict: expected allow, got deny",
        "said: it is invalid",
    ]


def failed(mismatch: Mismatch, *said: str) -> CaseResult:
    return CaseResult(name="a", line=1, status=CaseStatus.FAILED, mismatches=(mismatch,), said=said)
