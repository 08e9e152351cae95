from typing import Any

import msgspec

from tests.rebalance.situations import Situation, web_pods
from webhook.cli.views.rebalancedocument import describe_plan
from webhook.policy.model import ZONE


def test_a_plan_as_a_document() -> None:
    plan = Situation(web_pods({"a1": 3, "b1": 1})).plan()

    assert describe_plan(plan, ("Node: unknown",)) == {
        "evictions": [
            {
                "namespace": "shop",
                "pod": "web-0",
                "workload": "Deployment/web",
                "node": "a1",
                "candidates": ["c1"],
                "target": "c1",
                "uid": "",
            }
        ],
        "constraints": [
            {
                "namespace": "shop",
                "workloads": ["Deployment/web"],
                "topologyKey": ZONE,
                "maxSkew": 1,
                "minDomains": 1,
                "whenUnsatisfiable": "DoNotSchedule",
                "before": {"pods": {"a": 3, "b": 1, "c": 0}, "skew": 3},
                "after": {"pods": {"a": 2, "b": 1, "c": 1}, "skew": 1},
                "holds": True,
                "obstacle": None,
                "obstacleDomains": [],
            }
        ],
        "notEvicted": [],
        "least": 1,
        "certain": True,
        "unknown": ["Node: unknown"],
        "notes": [],
    }


def test_the_domains_of_an_obstacle() -> None:
    plan = Situation(web_pods({"a1": 5, "b1": 2}), slots={"c1": 0}).plan()

    (constraint,) = msgspec.convert(describe_plan(plan)["constraints"], list[dict[str, Any]])

    assert constraint["obstacle"] == "the nodes of a domain take too few pods"
    assert constraint["obstacleDomains"] == ["c"]
