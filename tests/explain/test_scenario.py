import dataclasses
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.explain.scenario import (
    DropAffinity,
    DropSelector,
    HonorPolicy,
    LowerMinDomains,
    RaiseMaxSkew,
    Scale,
    Scenario,
    ScenarioEdit,
    Tolerate,
    apply_all,
    list_used_keys,
)
from webhook.policy.model import (
    HOSTNAME,
    SCHEDULE_ANYWAY,
    ZONE,
    LabelSelectorRequirement,
    Taint,
)
from webhook.policy.placement.filters import nodefilters
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.placement.nodes import Demands, Toleration

TAINT = Taint(key="spot", value="yes", effect="NoExecute")
ASKING = Demands(pairs=(("disk", "ssd"), ("tier", "x")), terms=())
SCENARIO = scenario(
    [node("n1", "a", taints=[GPU])],
    spread_over(min_domains=3),
    spread_over(HOSTNAME),
    spread_over("rack", when_unsatisfiable=SCHEDULE_ANYWAY),
    demands=ASKING,
)


def skews(question: Scenario) -> list[tuple[int, int]]:
    """List maxSkew and minDomains of the hard constraints."""
    return [(spread.max_skew, spread.min_domains) for spread in question.spreads.hard]


def honored(question: Scenario) -> list[tuple[bool, bool]]:
    """List whether the hard constraints honor taints and affinity."""
    return [(spread.honors_taints, spread.honors_affinity) for spread in question.spreads.hard]


def demands(question: Scenario) -> Demands:
    return question.pod.demands


# edit, its sentence, what to look at, how that is before and after
EDITS: dict[str, tuple[ScenarioEdit, str, Callable[[Scenario], object], object, object]] = {
    "a greater maxSkew": (
        RaiseMaxSkew(1, HOSTNAME, 1, 4),
        "raise maxSkew of constraint 1 (hostname) from 1 to 4",
        skews, [(1, 3), (1, 1)], [(1, 3), (4, 1)],
    ),
    "a smaller minDomains": (
        LowerMinDomains(0, ZONE, 3, 2),
        "drop minDomains of constraint 0 (zone) from 3 to 2",
        skews, [(1, 3), (1, 1)], [(1, 2), (1, 1)],
    ),
    "taints that are honored": (
        HonorPolicy(0, ZONE, "nodeTaintsPolicy"),
        "set nodeTaintsPolicy of constraint 0 (zone) to Honor",
        honored, [(False, True), (False, True)], [(True, True), (False, True)],
    ),
    "affinity that is honored already": (
        HonorPolicy(1, HOSTNAME, "nodeAffinityPolicy"),
        "set nodeAffinityPolicy of constraint 1 (hostname) to Honor",
        honored, [(False, True), (False, True)], [(False, True), (False, True)],
    ),
    "a taint that is tolerated": (
        Tolerate(TAINT),
        "tolerate taint spot=yes:NoExecute",
        lambda question: demands(question).tolerations,
        (), (Toleration("spot", "Equal", "yes", "NoExecute"),),
    ),
    "a label that is not required": (
        DropSelector("disk", "ssd"),
        "take disk=ssd out of nodeSelector",
        lambda question: demands(question).pairs,
        ASKING.pairs, (("tier", "x"),),
    ),
    "an affinity that is not required": (
        DropAffinity(),
        "take the required node affinity out of the pod",
        lambda question: demands(question).terms,
        ASKING.terms, None,
    ),
}  # fmt: skip


def test_labels_of_the_runtime_class_are_not_the_authors() -> None:
    classed = replace(scenario([], demands=ASKING), class_labels=frozenset({("tier", "x")}))

    assert classed.own_labels == (("disk", "ssd"),)


@pytest.mark.parametrize(
    ("edit", "sentence", "look", "before", "after"), EDITS.values(), ids=EDITS.keys()
)
def test_an_edit(
    edit: ScenarioEdit,
    sentence: str,
    look: Callable[[Scenario], object],
    before: object,
    after: object,
) -> None:
    assert str(edit) == sentence
    assert look(SCENARIO) == before
    assert look(edit.apply(SCENARIO)) == after
    assert look(SCENARIO) == before


def test_edits_are_made_in_order() -> None:
    twice = [RaiseMaxSkew(0, ZONE, 1, 2), RaiseMaxSkew(0, ZONE, 2, 5)]

    assert skews(apply_all(twice, SCENARIO)) == [(5, 3), (1, 1)]
    assert apply_all([], SCENARIO) is SCENARIO


def test_a_toleration_is_added_to_those_there_are() -> None:
    both = apply_all([Tolerate(GPU), Tolerate(TAINT)], SCENARIO)

    assert [spread.key for spread in demands(both).tolerations or ()] == ["gpu", "spot"]


def test_programs_can_distinguish_edits() -> None:
    written = msgspec.to_builtins(RaiseMaxSkew(0, ZONE, 1, 2))

    assert written == {
        "edit": "raiseMaxSkew", "index": 0, "topologyKey": ZONE, "before": 1, "after": 2
    }  # fmt: skip


class Half(ScenarioEdit, frozen=True):
    """An edit with a sentence that cannot be applied."""

    def __str__(self) -> str:
        return "hope"


def test_an_impossible_change_is_no_edit() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]


CORDONED = replace(node("n3", "c", disk="ssd"), unschedulable=True)
NODES = (
    node("n1", "a", disk="ssd"),
    node("n2", "b", taints=[GPU], disk="ssd"),
    CORDONED,
    node("n4", "d", disk="hdd"),
    node("n5", "e", disk="ssd"),
)


def test_all_modelled_filters_are_applied() -> None:
    demands = Demands(pairs=(("disk", "ssd"),))
    placement = scenario(
        NODES, spread_over(min_domains=9), pods={"n5": 1}, demands=demands
    ).placement()

    assert placement.passing == ("n1",)
    assert placement.refused == {
        "n2": nodefilters.TAINT, "n3": nodefilters.CORDON, "n4": nodefilters.NODE_AFFINITY
    }  # fmt: skip
    assert not placement.statuses["n5"].passes


def test_a_pod_without_demands_goes_anywhere() -> None:
    assert scenario(NODES).placement().passing == ("n1", "n4", "n5")


def test_a_scale_changes_neither_the_pod_nor_the_cluster() -> None:
    assert Scale(3).apply(SCENARIO) is SCENARIO
    assert (str(Scale(1)), str(Scale(3))) == ("scale to 1 replica", "scale to 3 replicas")


def test_a_pod_uses_the_keys_of_its_constraints_and_of_its_affinity() -> None:
    requirement = LabelSelectorRequirement(key="cpu", operator="In", values=("fast",))
    demands = Demands(
        pairs=(("pool", "web"),),
        terms=(NodeSelectorTerm(match_expressions=(requirement,)), NodeSelectorTerm()),
    )

    spreads = scenario((), spread_over("rack")).spreads

    assert list(list_used_keys(demands, spreads)) == ["rack", "pool", "cpu"]
    assert list(list_used_keys(Demands(), spreads)) == ["rack"]


# edit, whether it changes the pod
CHANGES: dict[str, tuple[ScenarioEdit, bool]] = {
    "a constraint": (RaiseMaxSkew(0, ZONE, 1, 2), True),
    "a constraint of another key": (RaiseMaxSkew(0, "rack", 1, 2), False),
    "a soft constraint": (RaiseMaxSkew(2, "rack", 1, 2), False),
    "a toleration": (Tolerate(TAINT), True),
    "the number of pods": (Scale(3), False),
}


@pytest.mark.parametrize(("edit", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_an_edit_changes_the_pod_or_not(edit: ScenarioEdit, *, expected: bool) -> None:
    assert edit.changes_pod(SCENARIO) is expected


ROOMY, SMALL = Resources(4000, pods=10), Resources(1000, pods=5, scalars={"gpu": 1})


def test_new_nodes_have_the_resources_of_a_node() -> None:
    nodes = [node(name) for name in ("n1", "n2", "n3")]
    allocatable = {"n1": SMALL, "n2": ROOMY, "n3": ROOMY}
    before = scenario(nodes)
    before = replace(before, cluster=dataclasses.replace(before.cluster, allocatable=allocatable))

    after = before.with_nodes(nodes[:2]).change_nodes([node("n4")], like="n2")

    assert [one.name for one in after.topology.nodes] == ["n1", "n2", "n4"]
    assert (after.cluster.allocatable["n1"], after.cluster.allocatable["n4"]) == (SMALL, ROOMY)
    assert before.cluster.allocatable.keys() == {"n1", "n2", "n3"}


def test_new_nodes_beside_unknown_resources_are_unknown_too() -> None:
    after = scenario([node("n1")]).change_nodes([node("n2")], like="n1")

    assert after.cluster.allocatable == {}


def test_a_pod_that_is_put_on_a_node_counts_in_the_copy_alone() -> None:
    requesting = SCENARIO.change_pod(requests=Resources(500))
    copy = requesting.copy_pods()

    copy.put("n1")

    selector = SCENARIO.spreads.hard[0].selector
    assert copy.census.count("shop", selector) == {"n1": 1}
    assert copy.cluster.placed.usage("n1").requests.milli_cpu == 500
    assert requesting.census.count("shop", selector) == {}


# edit, the filters that it may lift
LIFTS: dict[ScenarioEdit, set[str]] = {
    Tolerate(TAINT): {"NodeUnschedulable", "TaintToleration"},
    DropSelector("disk", "ssd"): {"NodeAffinity"},
    DropAffinity(): {"NodeAffinity"},
    RaiseMaxSkew(0, ZONE, 1, 2): set(),
}


@pytest.mark.parametrize(("edit", "filters"), LIFTS.items(), ids=map(str, LIFTS))
def test_an_edit_names_the_filters_that_it_may_lift(edit: ScenarioEdit, filters: set[str]) -> None:
    assert edit.lifts == filters
