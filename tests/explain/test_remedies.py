from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from tests.explain.filterscenarios import PORT_80, cpu, filter_scenario, running, taking
from tests.explain.filterscenarios import TWO as HIGH
from tests.explain.filterscenarios import node as filternode
from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import GPU, node, spread_over
from tests.policy.placement.filters.objects import anti_affinity, pod_affinity, term
from webhook.explain.daemons import pin
from webhook.explain.remedies import (
    MOST_TOGETHER,
    Edits,
    alone_and_together,
    combine_changes,
    drop_ports,
    honor,
    label_nodes,
    loosen_pod_affinity,
    loosen_selector,
    lower_min_domains,
    lower_requests,
    raise_max_skew,
    tolerate,
    uncordon,
    untolerated_taints,
)
from webhook.explain.scenario import Scenario
from webhook.policy.model import HOSTNAME, ZONE, Node, Taint
from webhook.policy.placement.nodes import UNSCHEDULABLE, Demands, Toleration
from webhook.policy.placement.place import PodPlacement

OVERHEAD = {"overhead": {"cpu": "250m"}}
SPOT = Taint(key="spot", effect="NoExecute")
OLD = Taint(key="old", effect="PreferNoSchedule")
NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")
LEAVING = Taint(key="ToBeDeletedByClusterAutoscaler", value="1764194400", effect="NoSchedule")
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

GPUS = (node("n1", "a", taints=[GPU]), node("n2", "b", taints=[GPU]))
PINNED = pin(scenario(TWO), TWO[0])

Search = Callable[[Scenario, PodPlacement], Iterator[Edits]]

# way, scenario, what is tried
TRIED: dict[str, tuple[Search, Scenario, list[list[str]]]] = {
    "requests are lowered to what is free, by little first": (
        lower_requests,
        filter_scenario(
            [*HIGH, filternode("n3", "c", "3")],
            [running("x", "n1", "2"), running("y", "n2", "3500m")],
            **cpu("4"),
        ),
        [
            ["lower the request of the whole pod for cpu from 4 to 3"],
            ["lower the request of the whole pod for cpu from 4 to 2"],
            ["lower the request of the whole pod for cpu from 4 to 500m"],
        ],
    ),
    "no request is lowered to nothing": (
        lower_requests, filter_scenario(HIGH[:1], [running("x", "n1", "4")], **cpu("1")), [],
    ),
    "no request is lowered to less than the overhead takes": (
        lower_requests,
        filter_scenario(HIGH[:1], [running("x", "n1", "3750m")], **OVERHEAD, **cpu("500m")),
        [],
    ),
    "the containers keep some of a request": (
        lower_requests,
        filter_scenario(HIGH[:1], [running("x", "n1", "3700m")], **OVERHEAD, **cpu("500m")),
        [["lower the request of the whole pod for cpu from 750m to 300m"]],
    ),
    "ports are dropped one by one": (
        drop_ports,
        filter_scenario(
            HIGH, [taking("x", "n1", cpu("1", ports=PORT_80))],
            **cpu("1", ports=[*PORT_80, {"hostPort": 81}]),
        ),
        [
            ["take host port 80/TCP out of the pod"],
            ["take host port 81/TCP out of the pod"],
            ["take host port 80/TCP out of the pod", "take host port 81/TCP out of the pod"],
        ],
    ),
    "ports of a pod with hostNetwork are replaced": (
        drop_ports,
        replace(
            filter_scenario(
                HIGH, [taking("x", "n1", cpu("1", ports=PORT_80))], **cpu("1", ports=PORT_80)
            ),
            host_network=True,
        ),
        [["use a free port in place of 80/TCP, which is a host port by hostNetwork"]],
    ),
    "a port of a pod with hostNetwork is replaced beside other changes": (
        combine_changes,
        replace(
            filter_scenario(
                HIGH[:1],
                [taking("x", "n1", cpu("1", ports=PORT_80))],
                nodeSelector={"disk": "ssd"},
                **cpu("1", ports=PORT_80),
            ),
            host_network=True,
        ),
        [
            [
                "take disk=ssd out of nodeSelector",
                "use a free port in place of 80/TCP, which is a host port by hostNetwork",
            ]
        ],
    ),
    "ports that no node has taken stay": (
        drop_ports, filter_scenario(HIGH, **cpu("1", ports=PORT_80)), []
    ),
    "affinity to pods is dropped before both are": (
        loosen_pod_affinity,
        filter_scenario(
            HIGH,
            affinity={**anti_affinity(term("zone", app="x")), **pod_affinity(term(ZONE, a="b"))},
        ),
        [
            ["take the required podAffinity out of the pod"],
            ["take the required podAntiAffinity out of the pod"],
            [
                "take the required podAffinity out of the pod",
                "take the required podAntiAffinity out of the pod",
            ],
        ],
    ),
    "affinity that rejects no node stays": (
        loosen_pod_affinity, filter_scenario(HIGH, affinity=anti_affinity(term(ZONE, app="x"))), []
    ),
    "a skew is raised as far as the emptiest open domain requires": (
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
    "ignored taints are honored, then ignored affinity, then all of it": (
        honor,
        scenario(
            TWO,
            spread_over(node_affinity_policy="Ignore"),
            replace(HOST, node_taints_policy="Honor"),
        ),
        [
            ["set nodeTaintsPolicy of constraint 0 (zone) to Honor"],
            ["set nodeAffinityPolicy of constraint 0 (zone) to Honor"],
            [
                "set nodeTaintsPolicy of constraint 0 (zone) to Honor",
                "set nodeAffinityPolicy of constraint 0 (zone) to Honor",
            ],
        ],
    ),
    "all is honored": (honor, scenario(TWO, replace(HOST, node_taints_policy="Honor")), []),
    "there are no node policies": (
        honor, replace(scenario(TWO, spread_over()), node_policies=False), []
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
    "taints for a state that passes are not tolerated": (
        tolerate,
        scenario([node("n1", taints=[NOT_READY, GPU]), node("n2", taints=[SPOT])]),
        [["tolerate taint spot:NoExecute"], ["tolerate taint spot:NoExecute"]],
    ),
    "taints of a node that an autoscaler deletes are not tolerated": (
        tolerate,
        scenario([node("n1", taints=[LEAVING]), node("n2", taints=[SPOT])]),
        [["tolerate taint spot:NoExecute"], ["tolerate taint spot:NoExecute"]],
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
    "the affinity of a pod of a DaemonSet stays": (loosen_selector, PINNED, []),
    "no other node for a pod of a DaemonSet": (
        combine_changes,
        pin(scenario(GPUS), GPUS[0]).with_nodes(GPUS),
        [["tolerate taint gpu:NoSchedule"]],
    ),
    "a label of the RuntimeClass stays": (
        loosen_selector,
        replace(
            scenario(TWO, demands=Demands(pairs=(("disk", "ssd"), ("kata", "true")))),
            class_labels=frozenset({("kata", "true")}),
        ),
        [["take disk=ssd out of nodeSelector"]],
    ),
    "a node without a label of the RuntimeClass cannot be used": (
        combine_changes,
        replace(
            scenario([node("n1"), node("n2", kata="true", taints=[GPU])],
                     demands=Demands(pairs=(("kata", "true"),))),
            class_labels=frozenset({("kata", "true")}),
        ),
        [["tolerate taint gpu:NoSchedule"]],
    ),
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


SSD = Demands(pairs=(("disk", "ssd"),))


def cordoned(name: str, zone: str | None = None) -> Node:
    return replace(node(name, zone, taints=[UNSCHEDULABLE]), unschedulable=True)


# way, scenario, the first of what is tried
ON_NODES: dict[str, tuple[Search, Scenario, list[list[str]]]] = {
    "a cordoned node of each zone, then all": (
        uncordon,
        scenario([*TWO, cordoned("c1", "c"), cordoned("c2", "c"), cordoned("d1", "d")],
                  spread_over()),
        [["uncordon node c1"], ["uncordon node d1"], ["uncordon node c1", "uncordon node d1"]],
    ),
    "no node is cordoned": (uncordon, scenario(TWO, spread_over()), []),
    "a node that lacks the key joins the emptiest domain, then a new one": (
        label_nodes,
        scenario([*TWO, node("n3")], spread_over(), pods={"n1": 1}),
        [["label node n3 with zone=b"], ["label node n3 with zone=new-zone-1"]],
    ),
    "nodes that lack the key form new domains together": (
        label_nodes,
        scenario([node("n1"), node("n2")], spread_over()),
        [
            ["label node n1 with zone=new-zone-1"],
            ["label node n1 with zone=new-zone-1"],
            ["label node n1 with zone=new-zone-1", "label node n2 with zone=new-zone-2"],
        ],
    ),
    "nodes that the pod cannot go to are not labelled": (
        label_nodes, scenario([node("n1", taints=[GPU])], spread_over()), []
    ),
    "no node lacks the key": (label_nodes, scenario(TWO, spread_over()), []),
    "all that one node requires, the least first": (
        combine_changes,
        scenario(
            [replace(cordoned("n1"), taints=(GPU, UNSCHEDULABLE)), node("n2", disk="ssd")],
            spread_over(min_domains=2),
            demands=replace(SSD, terms=()),
            pods={"n2": 1},
        ),
        [
            [
                "take the required node affinity out of the pod",
                "label node n2 with zone=new-zone-1",
                "raise maxSkew of constraint 0 (zone) from 1 to 2",
            ],
            [
                "uncordon node n1",
                "tolerate taint gpu:NoSchedule",
                "take disk=ssd out of nodeSelector",
                "take the required node affinity out of the pod",
                "label node n1 with zone=new-zone-1",
            ],
        ],
    ),
    "a node in a state that passes is left out": (
        combine_changes,
        scenario([node("n1", "a", taints=[NOT_READY]), node("n2", "b", taints=[GPU])], demands=SSD),
        [["tolerate taint gpu:NoSchedule", "take disk=ssd out of nodeSelector"]],
    ),
    "a node that an autoscaler deletes is left out": (
        combine_changes,
        scenario([node("n1", "a", taints=[LEAVING]), node("n2", "b", taints=[GPU])], demands=SSD),
        [["tolerate taint gpu:NoSchedule", "take disk=ssd out of nodeSelector"]],
    ),
    "a node that requires nothing but a skew": (
        combine_changes,
        scenario([node("n1", "a", disk="ssd")], spread_over(min_domains=2),
                  demands=SSD, pods={"n1": 1}),
        [["raise maxSkew of constraint 0 (zone) from 1 to 2"]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("search", "question", "expected"), ON_NODES.values(), ids=ON_NODES.keys())
def test_the_first_candidates_of_nodes(
    search: Search, question: Scenario, expected: list[list[str]]
) -> None:
    tried = [list(map(str, edits)) for edits in search(question, question.placement())]

    assert tried[: len(expected)] == expected
    assert bool(tried) is bool(expected)


def test_only_so_many_nodes_are_changed_together() -> None:
    many = [node(f"n{i}") for i in range(MOST_TOGETHER + 4)]
    bare = scenario(many, spread_over(min_domains=MOST_TOGETHER + 1))
    shut = scenario([cordoned(node.name, node.name) for node in many], spread_over())

    for search, question in ((label_nodes, bare), (uncordon, shut)):
        assert max(map(len, search(question, question.placement()))) == MOST_TOGETHER
