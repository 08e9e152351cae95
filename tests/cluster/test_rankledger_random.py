"""Ranks held and reserved, compared with a count of all pods; time and memory of many pods."""

import tracemalloc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.objects import cached_pod, labelled_pod, node
from webhook.cluster.nodes import NodeStore
from webhook.cluster.pods import PodStore
from webhook.cluster.rankledger import RESERVED_S
from webhook.cluster.wire import PodObject
from webhook.policy.model import ZONE
from webhook.policy.scaledown.ranks import lowest_free_rank

NAMES, NODES, ZONES = "pqrs", "mno", "ab"


@dataclass
class Model:
    """Pods, nodes and reservations in plain dictionaries, all searched at every binding."""

    now: float = 0.0
    zones: dict[str, str] = field(default_factory=dict[str, str])
    pods: dict[str, tuple[str, str, int]] = field(default_factory=dict[str, tuple[str, str, int]])
    reserved: dict[str, tuple[str, str, int, float]] = field(
        default_factory=dict[str, tuple[str, str, int, float]]
    )

    def put(self, name: str, owner: str, on: str, rank: int) -> None:
        if on or self.pods.get(name, (owner,))[0] != owner:
            self.reserved.pop(name, None)
        self.pods[name] = (owner, on, rank)

    def remove(self, name: str) -> None:
        self.pods.pop(name, None)
        self.reserved.pop(name, None)

    def reserve(self, name: str, zone: str) -> int:
        owner = self.pods[name][0]
        self.reserved = {key: held for key, held in self.reserved.items() if held[3] > self.now}
        known = self.reserved.pop(name, None)
        if known is not None and known[1] == zone:
            rank = known[2]
        else:
            held = [
                r for o, on, r in self.pods.values() if (o, self.zones.get(on)) == (owner, zone)
            ]
            held += [r for o, z, r, _ in self.reserved.values() if (o, z) == (owner, zone)]
            rank = lowest_free_rank(held)
        self.reserved[name] = (owner, zone, rank, self.now + RESERVED_S)
        return rank


names, owners, zones = st.sampled_from(NAMES), st.sampled_from("12"), st.sampled_from(ZONES)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), names, owners, st.sampled_from(["", *NODES]), st.integers(0, 4)),
        st.tuples(st.just("remove"), names),
        st.tuples(st.just("reserve"), names, zones),
        st.tuples(st.just("label"), st.sampled_from(NODES), zones),
        st.tuples(st.just("lose"), st.sampled_from(NODES)),
        st.tuples(st.just("wait"), st.sampled_from([1.0, 7.0, RESERVED_S])),
    ),
    max_size=40,
)


@given(STEPS)
def test_every_rank_is_the_lowest_that_is_free(steps: list[tuple[str, ...]]) -> None:
    model, nodes = Model(), NodeStore()
    pods = PodStore(nodes, lambda: model.now)
    for step in steps:
        match step:
            case ("put", name, owner, on, rank):
                model.put(name, owner, on, int(rank))
                pods.put(cached_pod(name, on, rank=int(rank), controller=owner))
            case ("remove", name):
                model.remove(name)
                pods.remove("shop", name)
            case ("reserve", name, zone) if name in model.pods:
                assert pods.reserve("shop", name, zone) == model.reserve(name, zone)
            case ("label", on, zone):
                model.zones[on] = zone
                nodes.put(node(on, {ZONE: zone}))
            case ("lose", on):
                model.zones.pop(on, None)
                nodes.remove("", on)
            case ("wait", seconds):
                model.now += float(seconds)
            case _:
                pass


def zone_of(number: int) -> str:
    return ZONES[number % 2]


def filled(controllers: int, each: int) -> PodStore:
    """Build a store of pods of controllers, half of them in each zone, ranked."""
    nodes = NodeStore()
    for number in range(50):
        nodes.put(node(f"node-{number}", {ZONE: zone_of(number)}))
    pods = PodStore(nodes, lambda: 0.0)
    for controller in range(controllers):
        uid = f"5f0c3b1c-4a44-9a68-0e3b-{controller:012}"
        for number in range(each):
            name, on = f"web-{controller:05}-5d8f7c9b4-{number:05}", f"node-{number % 50}"
            obj = labelled_pod(name, on, rank=number // 2 + 1, controller=uid)
            pods.put(msgspec.json.decode(msgspec.json.encode(obj), type=PodObject))
    return pods


def test_a_controller_of_5000_pods_delays_no_binding() -> None:
    def bind_all(pods: PodStore) -> float:
        uid = "5f0c3b1c-4a44-9a68-0e3b-000000000000"
        for number in range(1_000):
            pods.put(cached_pod(f"new-{number}", controller=uid))
        pods.reserve("shop", "new-0", "a")  # counts all pods once
        started = process_time()
        for number in range(1, 1_000):
            pods.reserve("shop", f"new-{number}", zone_of(number))
        return process_time() - started

    assert bind_all(filled(1, 5_000)) < 3 * bind_all(filled(1, 5))


@contextmanager
def measuring() -> Generator[Callable[[], int]]:
    """Measure the bytes that are allocated and not freed."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield lambda: tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_a_pod_takes_at_most_300_bytes() -> None:
    with measuring() as allocated:
        pods = filled(1_500, 10)
        per_pod = allocated() / len(pods)

    assert per_pod < 300


def test_repeated_bindings_take_no_memory() -> None:
    pods = filled(1, 5)
    pods.put(cached_pod("new"))
    pods.reserve("shop", "new", "a")
    with measuring() as allocated:
        for number in range(5_000):
            pods.reserve("shop", "new", zone_of(number))
            pods.reserve("shop", "new", zone_of(number))
        grown = allocated()

    assert grown < 10_000
