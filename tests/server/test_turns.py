"""Corrections take turns: namespaces first, then the controllers in each."""

import pytest

from webhook.cluster.rankledger import Controller
from webhook.policy.scaledown.corrections import Correction, CorrectionReason
from webhook.server.turns import CorrectionTurns


def plan(turns: CorrectionTurns, namespace: str, uid: str, *names: str) -> None:
    planned = [Correction(name, 0, 1, CorrectionReason.UNRANKED) for name in names]
    turns.replace(Controller(namespace, uid), planned)


def take(turns: CorrectionTurns) -> str:
    """Take all turns; marks the last one of each controller."""
    taken = ""
    while (turn := turns.next_turn()) is not None:
        last = turns.advance()
        taken += turn.correction.name + "." * last
    return taken


def test_namespaces_take_turns_and_then_their_controllers() -> None:
    turns = CorrectionTurns()
    plan(turns, "n", "u1", *"abcd")
    plan(turns, "n", "u2", *"ef")
    plan(turns, "o", "u1", *"xyz")

    assert take(turns) == "axeybz.f.cd."


def test_the_next_correction_stays_until_it_is_done() -> None:
    turns = CorrectionTurns()
    plan(turns, "n", "u1", "a")

    assert turns.next_turn() == turns.next_turn()
    assert turns.advance()
    assert turns.next_turn() is None
    with pytest.raises(KeyError):
        turns.advance()


def test_a_new_plan_replaces_the_old_one_and_keeps_its_turn() -> None:
    turns = CorrectionTurns()
    plan(turns, "n", "u1", *"ab")
    plan(turns, "n", "u2", *"c")
    plan(turns, "n", "u1", *"xy")

    assert take(turns) == "xc.y."


def test_a_plan_without_corrections_is_dropped() -> None:
    turns = CorrectionTurns()
    plan(turns, "n", "u1", *"ab")
    plan(turns, "o", "u1")
    plan(turns, "n", "u1")

    assert take(turns) == ""


def test_all_plans_are_dropped_at_once() -> None:
    turns = CorrectionTurns()
    plan(turns, "n", "u1", *"ab")
    plan(turns, "o", "u2", *"c")

    assert turns.clear() == [Controller("n", "u1"), Controller("o", "u2")]
    assert (turns.next_turn(), list(turns.clear())) == (None, [])
