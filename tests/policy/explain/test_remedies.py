from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from tests.policy.explain.scenarios import scenario
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.policy.defaulting.profiles import HOSTNAME
from webhook.policy.explain.remedies import (
    Edits,
    alone_and_together,
    loosen_selector,
    lower_min_domains,
    raise_max_skew,
    soften,
    tolerate,
    untolerated_taints,
)
from webhook.policy.explain.scenario import Scenario
from webhook.policy.model import SCHEDULE_ANYWAY, Taint
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.taints import UNSCHEDULABLE, Toleration

SPOT = Taint(key="spot", effect="NoExecute")
OLD = Taint(key="old", effect="PreferNoSchedule")
TWO = (node("n1", "a"), node("n2", "b"))
RACKED = (
    node("n1", "a", rack="r"),
    node("n2", "b", rack="s"),
    node("n3", "b", rack="r"),
    node("n4", "c", taints=[GPU], rack="t"),
    node("n5"),
)
HOST = spread_over(HOSTNAME)
CORDONED = replace(node("n3", "c", taints=[UNSCHEDULABLE]), unschedulable=True)

Search = Callable[[Scenario, PodPlacement], Iterator[Edits]]

# way, scenario, what is tried
TRIED: dict[str, tuple[Search, Scenario, list[list[str]]]] = {
    "a skew is raised as far as the emptiest open domain asks": (
        raise_max_skew,
        scenario(RACKED, spread_over(), pods={"n1": 3, "n2": 2}),
        [["raise maxSkew of constraint 0 (zone) from 1 to 3"]],
    ),
    "one skew is raised before two are": (
        raise_max_skew,
        scenario(RACKED, spread_over(), HOST, pods={"n1": 1, "n2": 1}),
        [
            ["raise maxSkew of constraint 0 (zone) from 1 to 2"],
            [
                "raise maxSkew of constraint 0 (zone) from 1 to 2",
                "raise maxSkew of constraint 1 (hostname) from 1 to 2",
            ],
        ],
    ),
    "of the same skews those are raised that add up to least": (
        raise_max_skew,
        scenario(RACKED, spread_over(), pods={"n1": 2, "n2": 1, "n3": 2}),
        [["raise maxSkew of constraint 0 (zone) from 1 to 3"]],
    ),
    "no skew is too large": (raise_max_skew, scenario(TWO, spread_over()), []),
    "fewer domains are required": (
        lower_min_domains,
        scenario(TWO, spread_over(min_domains=3), replace(HOST, min_domains=4)),
        [
            ["drop minDomains of constraint 0 (zone) from 3 to 2"],
            ["drop minDomains of constraint 1 (hostname) from 4 to 2"],
            [
                "drop minDomains of constraint 0 (zone) from 3 to 2",
                "drop minDomains of constraint 1 (hostname) from 4 to 2",
            ],
        ],
    ),
    "there are domains enough": (
        lower_min_domains, scenario(TWO, spread_over(min_domains=2)), []
    ),
    "hard constraints become wishes": (
        soften,
        scenario(TWO, spread_over(), replace(HOST, when_unsatisfiable=SCHEDULE_ANYWAY)),
        [["make constraint 0 (zone) ScheduleAnyway"]],
    ),
    "taints of one node, then all": (
        tolerate,
        scenario([
            node("n1", taints=[GPU, SPOT]), node("n2", taints=[SPOT, OLD]), node("n3"), CORDONED,
        ]),
        [
            ["tolerate taint spot:NoExecute"],
            ["tolerate taint gpu:NoSchedule", "tolerate taint spot:NoExecute"],
            ["tolerate taint spot:NoExecute", "tolerate taint gpu:NoSchedule"],
        ],
    ),
    "no taint to tolerate": (tolerate, scenario(TWO), [[]]),
    "required labels, then affinity, then all": (
        loosen_selector,
        scenario(TWO, demands=Demands(pairs=(("disk", "ssd"),), terms=())),
        [
            ["take disk=ssd out of nodeSelector"],
            ["take the required node affinity out of the pod"],
            [
                "take disk=ssd out of nodeSelector",
                "take the required node affinity out of the pod",
            ],
        ],
    ),
    "an affinity alone": (
        loosen_selector,
        scenario(TWO, demands=Demands(terms=())),
        [["take the required node affinity out of the pod"]],
    ),
    "nothing is required": (loosen_selector, scenario(TWO), []),
}  # fmt: skip


@pytest.mark.parametrize(("search", "question", "expected"), TRIED.values(), ids=TRIED.keys())
def test_the_candidates_in_order(
    search: Search, question: Scenario, expected: list[list[str]]
) -> None:
    tried = [list(map(str, edits)) for edits in search(question, question.placement())]

    assert tried == expected


def test_taints_that_keep_a_pod_off() -> None:
    tainted = node("n1", taints=[GPU, SPOT, OLD])
    tolerating = scenario([tainted], demands=Demands(tolerations=(Toleration("gpu", "Exists"),)))

    assert untolerated_taints(tainted, scenario([tainted])) == (GPU, SPOT)
    assert untolerated_taints(tainted, tolerating) == (SPOT,)


def test_nothing_alone_is_nothing_together() -> None:
    assert list(alone_and_together([])) == []
