"""Waiting for what a real system does in its own time: asking again, up to a bound."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

PATIENCE_S = 60.0
"""
Longest wait unless the caller knows better, in seconds.

What is waited for takes under a second alone on a core; tests share two with others, and any
process may stand still for seconds.
"""

AUDIT_PATIENCE_S = 300.0
"""
Longest wait for an audit, in seconds.

One of thousands of objects takes 5 s alone on a core. It has the lowest priority, so it waits while
tests keep both cores busy.
"""

PAUSE_S = 0.02  # between two questions: below what anybody notices, and 50 requests a second


def until(
    question: Callable[[], Answer | None], what: str, *, patience_s: float = PATIENCE_S
) -> Answer:
    """
    Ask until the answer is true.

    Args:
        question: Asked at once and every PAUSE_S; what it raises ends the wait.
        what: What is waited for, as it continues "waited 60 s for ...".
        patience_s: Bound in seconds; the condition is checked at least once.

    Returns:
        The first true answer.

    Raises:
        TimeoutError: There was none; the message has the last result.
    """
    deadline = time.monotonic() + patience_s
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience_s:g} s for {what}; last answer: {answer!r}")
        time.sleep(PAUSE_S)
