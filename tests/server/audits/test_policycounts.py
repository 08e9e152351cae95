"""What an audit counts of each profile."""

import pytest
from msgspec.structs import asdict

from tests.audit.world import report
from webhook.audit.defaultedpods import DefaultedPods
from webhook.policy.defaulting.policystatus import PolicyCounts
from webhook.server.audits.policycounts import PolicyTally

WEB = DefaultedPods(profile="web", pods=3, awaiting=1, uneven=True)
MORE = DefaultedPods(profile="web", pods=4)
ALL = DefaultedPods(profile="all", pods=5, uneven=True)


def test_workloads_of_all_reports_are_added_up() -> None:
    tally = PolicyTally()
    tally.add(report(defaulted=(ALL, WEB)))
    tally.add(report(defaulted=(MORE,)))

    counts = tally.counts(["web", "all", "unused"], complete=True)

    assert counts == {
        "web": PolicyCounts(7, 1, 1),
        "all": PolicyCounts(5, 1, 0),
        "unused": PolicyCounts(0, 0, 0),
    }


@pytest.mark.parametrize("name", ["web", "unused"])
def test_no_number_is_known_if_a_namespace_was_left_out(name: str) -> None:
    tally = PolicyTally()
    tally.add(report(defaulted=(WEB,)))

    (counts,) = tally.counts([name], complete=False).values()

    assert set(asdict(counts).values()) == {None}
