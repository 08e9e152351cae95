"""
Creations of pods by the API server alone, with a policy in it, with evenspread, and with Kyverno.

All write the same constraints into the same pods, which are only tried, and take turns on one
control plane, so that what others on the machine do is the same for all.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.bench import cpu, reviews
from tests.bench.creations import admission_policy, configurations_for
from tests.bench.creator import Creator, Turn, in_force
from tests.bench.kyverno.build import KyvernoBuild
from tests.bench.kyverno.server import Kyverno
from tests.bench.live import LiveCluster
from tests.controlplane.api import Json
from tests.deploy.manifests import read
from tests.e2e.replica import Registered

POLICIES = Path(__file__).with_name("policies")


class Injector(NamedTuple):
    """
    One way to get constraints into pods.

    Attributes:
        name: As the table shows it.
        in_force: Lets it write them as long as a context lasts.
        webhook: The process that is called for a pod, if there is one.
    """

    name: str
    in_force: Callable[[], AbstractContextManager[None]]
    webhook: tuple[int, ...] = ()


class Measurement(NamedTuple):
    """
    The turns of one injector.

    Attributes:
        name: Of the injector.
        turns: In the order of the rounds.
        resident: Memory of the webhook's process in MiB after each; empty if there is none.
    """

    name: str
    turns: list[Turn]
    resident: list[float]


def compare(
    live: LiveCluster, build: KyvernoBuild, services: int, rounds: int, seconds: float
) -> list[Measurement]:
    """
    Let each inject in turn.

    Args:
        services: Number of Services in the namespace of the pods.
        rounds: Turns of each.
        seconds: Of a turn.

    Raises:
        LoadError: Pods get other constraints than those that evenspread writes.
        ToolError: Helm, which renders evenspread's chart, has not been built.
    """
    creator = Creator(live, seconds, pod=reviews.reference_pod(), services=services, dry_run=True)
    with Kyverno(live.plane, build) as kyverno:
        injectors = _injectors(live, creator, kyverno)
        measured = [Measurement(injector.name, [], []) for injector in injectors]
        for _ in range(rounds):
            for injector, measurement in zip(injectors, measured, strict=True):
                with injector.in_force():
                    measurement.turns.append(creator.take_turn(*injector.webhook))
                    measurement.resident.extend(map(cpu.resident_mib, injector.webhook))
    return measured


def policies(name: str) -> list[Json]:
    """Read the objects of a file of policies."""
    return read((POLICIES / name).read_text())


def _injectors(live: LiveCluster, creator: Creator, kyverno: Kyverno) -> list[Injector]:
    entry, by_services = policies("services.yaml")
    creator.api.create(entry)  # once, since Kyverno spends seconds on many Services
    server = live.serve()
    hooks = configurations_for(server)
    with Registered(live.plane, hooks):
        wanted = creator.expect(injected=True)

    def kyverno_policy(made: Json) -> Callable[[], AbstractContextManager[None]]:
        return partial(_enforced, kyverno, creator, made, wanted)

    def evenspread_hooks(made: list[Json]) -> Callable[[], AbstractContextManager[None]]:
        return partial(_registered, live, creator, made, wanted)

    in_process = partial(in_force, creator, admission_policy(wanted), wanted)
    (by_labels,) = policies("own-labels.yaml")
    return [
        Injector("nothing", partial(_nothing, creator)),
        Injector("MutatingAdmissionPolicy", in_process),
        Injector("Kyverno, own labels", kyverno_policy(by_labels), (kyverno.pid,)),
        Injector("Kyverno, Services", kyverno_policy(by_services), (kyverno.pid,)),
        Injector("evenspread, mutating hook", evenspread_hooks(hooks[:1]), (server.pid,)),
        Injector("evenspread, both hooks", evenspread_hooks(hooks), (server.pid,)),
    ]


@contextmanager
def _nothing(creator: Creator) -> Iterator[None]:
    creator.expect(injected=False)
    yield


@contextmanager
def _registered(
    live: LiveCluster, creator: Creator, hooks: list[Json], wanted: list[Json]
) -> Iterator[None]:
    with Registered(live.plane, hooks):
        creator.check(wanted)
        yield


@contextmanager
def _enforced(
    kyverno: Kyverno, creator: Creator, policy: Json, wanted: list[Json]
) -> Iterator[None]:
    with kyverno.called(), in_force(creator, [policy], wanted):
        yield
