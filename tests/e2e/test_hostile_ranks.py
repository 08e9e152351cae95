"""
A tenant attacks the ranks of pods; those of another tenant are corrected all the same.

The figures of each test are printed: ``pytest -rP`` shows them.
"""

import json
import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.build import binding_body
from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.fixtures import run_plane
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.customkinds import define
from tests.e2e.objects import rounds
from tests.e2e.rankedattacks import (
    CROWD,
    DEPTHS,
    NODES,
    ODD,
    bindings,
    generated_pods,
    labelled,
    write_pod,
)
from tests.e2e.ranks import bind, join_zones, rank_of
from tests.e2e.siege import Siege, besiege_ranks
from tests.e2e.tenantkinds import definitions
from webhook.policy.nesting import prune
from webhook.policy.scaledown.ranks import annotate_rank

pytestmark = pytest.mark.alone

SECONDS = float(os.environ.get("EVENSPREAD_HOSTILE_SECONDS", "20")) / 4
"""How long generated attacks go on: a quarter of the time of those in test_hostile.py."""

BATCH = 5  # generated attacks with one seed
PODS = rounds(150, 3_000)  # of one controller, all with wrong ranks
BINDINGS = 20  # through the API server
UNKNOWN = 50  # Bindings of pods that do not exist, each of which waits for 0.1 s
CORRECTED_S = 20.0  # for the ranks of another tenant: 5 s are after its last change


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """One of its own: what lies in it would break the replicas of other tests."""
    options = Options(controllers=False, scheduler=False, service_accounts=False, audit=True)
    with run_plane(ControlPlane(control_plane_assets, options), request.config) as started:
        join_zones(started, a=2, b=1)
        for custom in definitions():
            define(started, custom)
        yield started


@pytest.fixture
def siege(plane: ControlPlane, tmp_path: Path) -> Siege:
    return besiege_ranks(plane, tmp_path)


def withstood(siege: Siege) -> None:
    """Print the figures of a siege that is over; nothing may have been broken."""
    print("\n".join(siege.figures))
    assert not siege.troubles, "\n".join(siege.troubles)


def post(siege: Siege, pod: Json, depth: int = 0) -> int:
    """Create a pod as the tenant; returns the status."""
    path = siege.tenant.collection("v1", "Pod", siege.namespace)
    return siege.tenant.request("POST", path, write_pod(pod, depth)).status


def create_crowd(siege: Siege) -> None:
    """Create very many pods of one controller, half of them with the rank of another one."""
    for number in range(PODS):
        annotations = annotate_rank(number // 2 + 2)
        name, node = f"crowd-{number}", NODES[number % len(NODES)]
        pod = labelled(name, siege.namespace, node, uid=CROWD, annotations=annotations)
        assert post(siege, pod) == 201


def correct_others(siege: Siege) -> float:
    """Create pods of another tenant with wrong ranks; seconds until they are corrected."""
    plane, namespace = siege.plane, siege.plane.create_namespace()
    wrong = {"p": ("a0", 0), "q": ("a1", 7), "r": ("b0", 7)}
    pods = [
        labelled(name, namespace, node, annotations=annotate_rank(rank) if rank else {})
        for name, (node, rank) in wrong.items()
    ]
    began = time.monotonic()
    for pod in pods:
        plane.api.create(pod)
    until(
        lambda: [rank_of(plane.api.read(pod)) for pod in pods] == [2, 1, 1],
        "the ranks of another tenant to be corrected",
        patience_s=4 * CORRECTED_S,
    )
    return time.monotonic() - began


def test_labelled_pods(siege: Siege) -> None:
    """Odd annotations, deep managedFields, thousands of pods of one controller."""
    deep = {f"{depth} levels": annotate_rank(50 + depth) for depth in DEPTHS}
    with siege:
        for number, (title, annotations) in enumerate(ODD.items()):
            with siege.step(title):
                pod = labelled(f"odd-{number}", siege.namespace, annotations=annotations)
                post(siege, pod)
        for title, annotations in deep.items():
            depth = int(title.split()[0])
            with siege.step(f"a labelled pod, managedFields {title} deep"):
                pod = labelled(f"deep-{depth}", siege.namespace, uid="d", annotations=annotations)
                assert post(siege, pod, depth) == 201
        with siege.step(f"{PODS} pods of one controller"):
            create_crowd(siege)
        taken = correct_others(siege)
        until(lambda: deep_ranks(siege) == [1, 2, 3, 4], "the ranks of deep pods to be corrected")
        corrected = siege.called.metric("rank_repairs_total", reason="gap")

    print(f"ranks of another tenant corrected after {taken:.1f} s, {corrected:.0f} gaps in all")
    withstood(siege)
    assert taken < CORRECTED_S
    assert not [line for line in siege.called.lines if "cannot be corrected" in str(line)]


def deep_ranks(siege: Siege) -> list[int]:
    return sorted(rank_of(read(siege, f"deep-{depth}")) for depth in DEPTHS)


def are_cached(siege: Siege, number: int) -> bool:
    return siege.called.metric("cache_objects", kind="Pod") >= number


def read(siege: Siege, name: str) -> Json:
    """Read a pod of any depth."""
    path = siege.plane.api.path_of(labelled(name, siege.namespace))
    body = siege.plane.api.request("GET", path).body
    pod: Json = json.loads(prune(body["text"].encode())) if "text" in body else body
    return pod


def test_bindings(siege: Siege) -> None:
    """Of labelled pods, of deep ones, and of pods that do not exist."""
    plane = siege.plane
    with siege:
        names = [f"new-{number}" for number in range(BINDINGS)]
        for number, name in enumerate(names):
            depth = DEPTHS[number % len(DEPTHS)] if number % 2 else 0
            assert post(siege, labelled(name, siege.namespace, "", uid="n"), depth) == 201
        until(lambda: are_cached(siege, BINDINGS), "the pods to be in the cache")
        for name in names:
            with siege.step(f"the Binding of {name}"):
                bind(plane, labelled(name, siege.namespace, ""), "a0")
        with siege.step("Bindings of pods that do not exist"):
            for number in range(UNKNOWN):
                siege.send("bind", binding_body(f"w{number}-1", "a0", namespace=siege.namespace))
        ranks = [rank_of(read(siege, name)) for name in names]
        unknown = siege.direct.metric("bindings_total", result="unknown-pod")
        refused = siege.direct.metric("admission_rejected_total", reason="in-flight")

    print(f"ranks {ranks}, {unknown:.0f} Bindings of unknown pods")
    withstood(siege)
    assert sorted(ranks) == list(range(1, BINDINGS + 1))
    assert unknown == UNKNOWN
    assert refused == 0


def test_generated_labelled_pods_and_bindings(siege: Siege) -> None:
    """Random labelled pods and Bindings for SECONDS; ranks of another tenant are corrected."""
    numbers, statuses = count(), list[int]()

    def write(drawn: tuple[Json, int]) -> None:
        pod, depth = drawn
        pod["metadata"] |= {"name": f"generated-{next(numbers)}", "namespace": siege.namespace}
        with siege.step(f"{pod['metadata']['annotations']!a:.80}, depth {depth}"):
            statuses.append(post(siege, pod, depth))

    def send(drawn: Json) -> None:
        with siege.step(f"Binding {drawn!a:.80}"):
            answer = siege.send("bind", binding_body(**drawn))
        statuses.append(answer.status)

    with siege:
        end = time.monotonic() + SECONDS
        for batch in count():
            if time.monotonic() > end:
                break
            seed(batch)(_generate(given(generated_pods())(write)))()
            seed(batch)(_generate(given(bindings)(send)))()
        taken = correct_others(siege)

    print(f"{len(statuses)} attacks; ranks of another tenant corrected after {taken:.1f} s")
    withstood(siege)
    assert {200, 201} <= set(statuses)
    assert not {status for status in statuses if status >= 500 or not status}
    assert taken < CORRECTED_S


_generate = settings(
    max_examples=BATCH,
    phases=[Phase.generate],  # a replica that fell is not there to shrink an example with
    derandomize=False,
    database=None,
    suppress_health_check=list(HealthCheck),
)
