"""Numbered calls at a steady rate."""

import threading

import pytest

from tests.controlplane.pace import PacedCalls
from tests.controlplane.waiting import until

THREADS = 3
OFTEN = 1000.0  # calls a second
SELDOM = 0.001  # calls a second: only the first is due in a test


class Counter(PacedCalls):
    """Notes the numbers of its calls; each waits for ``go``."""

    def __init__(self, *, rate: float = OFTEN, least: int = 0) -> None:
        super().__init__(rate=rate, threads=THREADS, least=least)
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.go = threading.Event()
        self.go.set()

    def call(self, number: int) -> None:
        self.begun.append(number)
        self.go.wait()
        self.ended.append(number)


def test_every_number_is_called_once_until_the_least_is_reached() -> None:
    with Counter(least=20) as calls:
        pass

    assert len(set(calls.ended)) == len(calls.ended)
    assert set(range(20)) <= set(calls.ended)
    assert calls.seconds > 0


def test_a_call_waits_until_it_is_due() -> None:
    with Counter(rate=SELDOM) as calls:
        until(lambda: calls.ended, "the first call")
        assert calls.due < 1

    assert calls.ended == [0]


def test_a_failed_test_is_not_kept_waiting() -> None:
    with pytest.raises(ZeroDivisionError), Counter(rate=SELDOM, least=2) as calls:
        raise ZeroDivisionError

    assert len(calls.ended) <= 1


def test_at_most_one_call_for_each_thread_is_in_flight() -> None:
    with Counter() as calls:
        calls.go.clear()
        try:
            until(lambda: len(calls.begun) - len(calls.ended) == THREADS, "all threads to call")
        finally:
            calls.go.set()

    assert len(set(calls.begun)) == len(calls.begun)


def test_no_call_is_in_flight_while_they_are_held() -> None:
    with Counter() as calls:
        until(lambda: calls.ended, "the first call")
        with calls.held():
            before = len(calls.begun)
            assert len(calls.ended) == before
            until(lambda: calls.due > before + THREADS, "further calls to be due")
            assert len(calls.begun) == before
        until(lambda: len(calls.begun) > before, "calls to go on")
