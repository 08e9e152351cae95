"""Whether a pod gets a rank when it is bound, and why not."""

from typing import Any

import pytest

from webhook.policy.scaledown.binding import Binding, BindingResult, RankedPod, judge_binding
from webhook.policy.scaledown.ranks import FOREIGN_COST

WEB = RankedPod(key="zone")
TO_NODE = Binding("n1")

CASES: dict[str, tuple[BindingResult, dict[str, Any]]] = {
    "a known pod": (BindingResult.RANKED, {}),
    "an empty label value is a domain": (BindingResult.RANKED, {"domain": ""}),
    "a dry run": (BindingResult.DRY_RUN, {"dry_run": True}),
    "a dry run of an unknown pod": (BindingResult.DRY_RUN, {"dry_run": True, "pod": None}),
    "another client wrote the cost": (
        BindingResult.HAS_COST,
        {"binding": Binding("n1", annotated=True, has_cost=True)},
    ),
    "other annotations": (BindingResult.RANKED, {"binding": Binding("n1", annotated=True)}),
    "a pod that the cache does not have": (BindingResult.UNKNOWN_POD, {"pod": None}),
    "the author wrote the cost": (
        BindingResult.HAS_COST,
        {"pod": RankedPod(key="zone", rank=FOREIGN_COST)},
    ),
    "a pod that has a rank": (BindingResult.HAS_COST, {"pod": RankedPod(key="zone", rank=2)}),
    "a pod that has a node": (BindingResult.BOUND, {"pod": RankedPod(key="zone", node="n1")}),
    "a node without the key": (BindingResult.NO_DOMAIN, {"domain": None}),
    "recommend mode": (BindingResult.RECOMMEND_MODE, {"recommends": True}),
}


@pytest.mark.parametrize(("result", "changes"), CASES.values(), ids=CASES.keys())
def test_a_pod_gets_a_rank_or_a_reason_why_not(
    result: BindingResult, changes: dict[str, Any]
) -> None:
    facts: dict[str, Any] = {
        "binding": TO_NODE,
        "pod": WEB,
        "domain": "a",
        "recommends": False,
        "dry_run": False,
        **changes,
    }

    assert judge_binding(**facts) is result
