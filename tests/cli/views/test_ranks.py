"""Tables of the ranks in the domains of a topology key."""

import io

import pytest

from webhook.cli.terminal import Terminal
from webhook.cli.views.ranks import format_ranks, show_ranks
from webhook.policy.model import ZONE
from webhook.policy.scaledown.domainranks import DomainRanks

RUNS = {(): "-", (3,): "3", (1, 2): "1-2", (1, 3): "1, 3", (1, 2, 3, 5, 7, 8): "1-3, 5, 7-8"}


@pytest.mark.parametrize(("ranks", "text"), RUNS.items())
def test_consecutive_ranks_are_a_range(ranks: tuple[int, ...], text: str) -> None:
    assert format_ranks(ranks) == text


def test_each_key_has_a_table() -> None:
    stream = io.StringIO()
    rows = [
        DomainRanks("", "", 1),
        DomainRanks(ZONE, "a", 3, (1, 3), (3,), (2,)),
        DomainRanks(ZONE, "b", 1, (1,)),
    ]

    show_ranks("ReplicaSet/web", rows, Terminal(stream))

    assert (
        stream.getvalue()
        == """
ReplicaSet/web, ranks by no key
  domain     pods  ranks  duplicates  gaps
  not known  1     -      -           -

ReplicaSet/web, ranks by zone
  domain  pods  ranks  duplicates  gaps
  a       3     1, 3   3           2
  b       1     1      -           -
"""
    )
