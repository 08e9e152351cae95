"""Creation of pods through kube-apiserver: how long each takes, and what it costs the servers."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import NamedTuple

from tests.bench import cpu
from tests.bench.live import LiveCluster
from tests.bench.load import LoadError
from tests.controlplane.api import Api, ApiError, Json
from tests.controlplane.waiting import until
from tests.e2e.objects import POD_SPEC, constraints, controlled_by, service, workload

STEADY = 50  # creations a second while their times are taken
CLIENTS = 4  # that create pods at once while they are counted: more than two cores can serve
LABELS = {"app": "checkout"}  # of the pods, and of the Service that selects them
POD: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": POD_SPEC}
NO_LABELS: Mapping[str, str] = MappingProxyType({})
TRIED = {"dryRun": "All"}  # the query of a creation that writes nothing


class Turn(NamedTuple):
    """
    One turn of creations.

    Attributes:
        took: Seconds of each, at a steady rate.
        cpu: CPU seconds of the API server for each of these.
        rate: Creations a second as fast as a few clients can.
        webhook: CPU seconds of the server of the webhooks for each; 0 if there is none.
    """

    took: list[float]
    cpu: float
    rate: float
    webhook: float = 0.0


class Creator:
    """
    Creates pods of one ReplicaSet, each with a name of its own.

    Attributes:
        api: The client that creates them.
        namespace: Where they are.

    Args:
        live: The cluster; it gets a namespace with a Service and the ReplicaSet.
        seconds: Of a turn, half of it at a steady rate.
        labels: Of the namespace.
        pod: What the pods are like, but for their names, labels and owner.
        services: Number of Services in the namespace; one of them selects the pods.
        dry_run: Whether the pods are only tried, so that there are no more objects afterwards.
    """

    def __init__(
        self,
        live: LiveCluster,
        seconds: float,
        *,
        labels: Mapping[str, str] = NO_LABELS,
        pod: Json = POD,
        services: int = 1,
        dry_run: bool = False,
    ) -> None:
        self.api: Api = live.plane.api
        self._apiserver = live.plane.apiserver.process.pid
        self._seconds = seconds / 2
        self._like, self._query = pod, TRIED if dry_run else {}
        self._created = 0
        self.namespace = live.plane.create_namespace(labels)
        self.api.create(service("checkout", self.namespace, LABELS))
        for number in range(1, services):
            self.api.create(service(f"s-{number}", self.namespace, {"app": f"s-{number}"}))
        self._owner = self.api.create(workload("ReplicaSet", "checkout", self.namespace, LABELS))

    def take_turn(self, *webhook: int) -> Turn:
        """
        Create pods at a steady rate, then as fast as possible.

        Args:
            webhook: The process that the webhooks call, if there is one.
        """
        watched = (self._apiserver, *webhook)
        before = [cpu.spent(pid) for pid in watched]
        took = self._at_a_steady_rate()
        used = [cpu.spent(pid).since(was).running for pid, was in zip(watched, before, strict=True)]
        return Turn(took, used[0] / len(took), self._at_once(), sum(used[1:]) / len(took))

    def expect(self, *, injected: bool) -> list[Json]:
        """
        Wait until a pod that is tried gets constraints, or none; returns them.

        It also opens the connections of the API server to a webhook.
        """
        found: list[list[Json]] = [[]]

        def is_so() -> bool:
            with suppress(ApiError):  # a policy may refuse pods until it has read what it needs
                found[0] = constraints(self.api.create(self._pod(), **TRIED))
                return bool(found[0]) is injected
            return False

        until(is_so, "pods to be treated as they should be")
        return found[0]

    def check(self, wanted: list[Json]) -> None:
        """
        Wait until a pod that is tried gets constraints.

        Raises:
            LoadError: They are other ones.
        """
        if (found := self.expect(injected=True)) != wanted:
            raise LoadError(f"pods get {found} instead of {wanted}")

    def create(self) -> float:
        """Create a pod; returns the seconds that it took."""
        pod, begun = self._pod(), time.perf_counter()
        self.api.create(pod, **self._query)
        return time.perf_counter() - begun

    def remove_owner(self) -> None:
        """Delete the ReplicaSet, so that the cluster has those alone that it is filled with."""
        self.api.delete(self._owner)

    def _at_a_steady_rate(self) -> list[float]:
        (took,) = create_alternately([self], self._seconds)
        return took

    def _at_once(self) -> float:
        start = time.perf_counter()

        def create(_client: int) -> int:
            count = 0
            while time.perf_counter() < start + self._seconds:
                self.api.create(self._pod(), **self._query)
                count += 1
            return count

        with ThreadPoolExecutor(CLIENTS) as clients:
            created = sum(clients.map(create, range(CLIENTS)))
        return created / (time.perf_counter() - start)

    def _pod(self) -> Json:
        self._created += 1
        metadata = {
            **self._like["metadata"],
            "generateName": f"checkout-{self._created}-",
            "namespace": self.namespace,
            "labels": LABELS,
            "ownerReferences": [controlled_by(self._owner)],
        }
        return {**self._like, "metadata": metadata}


def create_alternately(creators: Sequence[Creator], seconds: float) -> list[list[float]]:
    """
    Create pods at a steady rate, one of each creator in turn.

    Returns:
        Seconds of each creation, by creator: what others on the machine do is the same for all.
    """
    took: list[list[float]] = [[] for _ in creators]
    start = time.perf_counter()
    for number in range(max(len(creators), int(seconds * STEADY))):
        # Only the clock is waited for, so that the rate is the configured one.
        time.sleep(max(0.0, start + number / STEADY - time.perf_counter()))
        took[number % len(creators)].append(creators[number % len(creators)].create())
    return took


@contextmanager
def in_force(creator: Creator, made: Sequence[Json], wanted: list[Json]) -> Iterator[None]:
    """
    Let objects, such as a policy, have these constraints written into every pod.

    Raises:
        LoadError: Pods get other constraints.
    """
    for obj in made:
        creator.api.create(obj)
    creator.check(wanted)
    yield
    for obj in reversed(made):
        creator.api.delete(obj)
    creator.expect(injected=False)
