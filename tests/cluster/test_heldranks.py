"""The ranks that are held in one domain, and the lowest that is free."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.heldranks import HeldRanks
from webhook.policy.scaledown.ranks import lowest_free_rank

CHANGES = st.lists(st.tuples(st.booleans(), st.integers(1, 8)))


def test_the_first_rank_is_free_at_first() -> None:
    assert HeldRanks().lowest_free == 1


@given(CHANGES)
def test_the_lowest_free_rank_follows_every_change(changes: list[tuple[bool, int]]) -> None:
    held, known = HeldRanks(), list[int]()
    for removes, rank in changes:
        if not removes:
            held.add(rank)
            known.append(rank)
        elif rank in known:
            held.remove(rank)
            known.remove(rank)

        assert held.lowest_free == lowest_free_rank(known)
        assert bool(held) == bool(known)


def test_a_rank_that_is_not_held_cannot_be_removed() -> None:
    with pytest.raises(KeyError):
        HeldRanks().remove(1)
