from collections.abc import Sequence

from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import (
    Situation,
    budget,
    repel,
    web_pods,
    workload_pod,
)
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.filters.filterpods import CLAIM, GCE_DISK, HostPort, PodVolume
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.filters.storage import Claim, CsiNode, Storage, VolumeTraits
from webhook.policy.placement.nodes import Demands
from webhook.rebalance.compilation import remove_pods
from webhook.rebalance.kinds import (
    NEVER,
    SortedPods,
    find_families,
    find_label_keys,
    sort_pods,
)
from webhook.rebalance.pods import WorkloadPod

DATA = PodVolume(CLAIM, "data", "shop")


def sort(situation: Situation) -> SortedPods:
    rest = remove_pods(situation.cluster, situation.pods)
    return sort_pods(situation.pods, rest, situation.budgets)


def labelled(number: int, on: str, **labels: str) -> WorkloadPod:
    carried = {"app": "web", "pod": f"{number}", **labels}
    return workload_pod(f"web-{number}", on, [spread_over()], labels=carried)


def test_names_and_labels_that_no_selector_uses_make_no_difference() -> None:
    pods = sort(Situation([labelled(1, "a1"), labelled(0, "a1"), labelled(2, "b1")]))

    assert len(pods.kinds) == 1
    assert {place: [one.pod.name for one in found] for place, found in pods.members.items()} == {
        (0, "a1"): ["web-0", "web-1"],
        (0, "b1"): ["web-2"],
    }
    assert pods.is_simple


def test_labels_that_a_selector_uses_make_a_difference() -> None:
    avoiding = workload_pod(
        "api-0", "c1", labels={"app": "api"}, anti_affinity=(repel(ZONE, "web"),)
    )
    pods = [labelled(0, "a1"), labelled(1, "a1", app="other"), avoiding]
    placed = Situation(pods[:2], others=[avoiding.pod])

    assert len(sort(Situation(pods)).kinds) == 3
    assert len(sort(placed).kinds) == 2
    assert len(list(find_families(pods[:2], find_label_keys(pods, placed.cluster)))) == 2
    assert len(list(find_families(pods[:2], frozenset()))) == 1


def test_nodes_that_a_replacement_passes_beside_pods_that_stay() -> None:
    pods = [
        workload_pod("web-0", "a1", demands=Demands(((ZONE, "a"),))),
        workload_pod("web-1", "a1", demands=Demands(((ZONE, "b"),))),
    ]

    assert [kind.nodes for kind in sort(Situation(pods, slots={"b1": 0})).kinds] == [
        (True, False, False),
        (False, False, False),
    ]


def test_the_kind_of_a_replacement_is_ready_and_takes_what_is_requested() -> None:
    resized = workload_pod("web-0", "a1", is_ready=False)
    pod = replace(resized.pod, requests=Resources(milli_cpu=7))

    kinds = sort(Situation([replace(resized, pod=pod), workload_pod("web-1", "a1")])).kinds

    assert [(one.is_ready, one.requests.milli_cpu, one.successor) for one in kinds] == [
        (False, 7, 1),
        (True, 0, 1),
    ]
    assert kinds[0].spreads == resized.spreads
    assert kinds[0].replacement == resized.replacement


def test_the_budget_of_a_kind() -> None:
    def indexes(number: int) -> list[int | None]:
        budgets = [budget(1, 1)] * number
        return [one.budget for one in sort(Situation(web_pods({"a1": 1}), budgets=budgets)).kinds]

    assert [indexes(number) for number in range(3)] == [[None], [0], [NEVER]]


def is_simple(one: WorkloadPod, storage: Storage) -> bool:
    return sort(Situation([one], storage=storage)).is_simple


def test_filters_that_look_at_pods_that_move() -> None:
    def storage(*modes: str, nodes: Sequence[CsiNode] = ()) -> Storage:
        traits = VolumeTraits(access_modes=frozenset(modes))
        claim = Claim(namespace="shop", name="data", traits=traits)
        return Storage({("shop", "data"): claim}, csi_nodes={f"{one}": one for one in nodes})

    shared = storage("ReadWriteMany", nodes=[CsiNode()])
    limited = storage(nodes=[CsiNode(limits={"driver": 9})])
    with_data = workload_pod("web", "a1", volumes=(DATA,))

    assert is_simple(with_data, shared)
    assert not is_simple(with_data, storage("ReadWriteOncePod"))
    assert not is_simple(with_data, limited)
    assert is_simple(workload_pod("web", "a1"), limited)
    for fields in (
        {"volumes": (PodVolume(GCE_DISK, "disk"),)},
        {"ports": (HostPort("0.0.0.0", "TCP", 80),)},
        {"affinity": (repel(HOSTNAME, "web"),)},
    ):
        assert not is_simple(workload_pod("web", "a1", **fields), shared)
    entangled = sort(Situation([workload_pod("web", "a1", ports=(HostPort("", "TCP", 1),))]))
    assert entangled.kinds[0].nodes == (True, True, True)
