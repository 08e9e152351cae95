"""
Random churn of a workload whose pods are ranked, and of one whose pods are not.

Both get the same steps from one seed: pods are deleted, nodes are cordoned, replicas of evenspread
are killed, and the workloads are scaled up and down.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.fleet import Fleet
from tests.e2e.ranks import (
    BIND,
    KEEPS_SPREAD,
    count_by_zone,
    pods_in,
    rank_of,
    settle,
    spread_pods,
)
from tests.e2e.replica import MARK
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL

FEWEST, MOST = 3, 36  # pods between bursts
BURST = 200  # bindings at once
UNCHANGED_S = 10  # after which the ReplicaSet controller knows the ranks that were corrected


def ranking_fleet(plane: ControlPlane, folder: Path, further: str = "", **settings: Any) -> Fleet:
    """Build two replicas that rank pods, and fail open as shipped."""
    config = KEEPS_SPREAD + further
    return Fleet(plane, folder, policy="Ignore", config=config, hooks=[BIND], **settings)


class ScaleDown(NamedTuple):
    """
    One scale-down of ready pods.

    Attributes:
        before: The pods of the ranked workload by zone.
        unlabelled: The pods of the ranked workload before it that were created while no replica
            answered. They have no ranks and go first, whatever their zone.
        ranked: The pods of the ranked workload by zone, right after it.
        stock: The pods of the other workload by zone, right after it; empty without one.
    """

    before: Mapping[str, int]
    unlabelled: int
    ranked: Mapping[str, int]
    stock: Mapping[str, int]


def skew(counts: Mapping[str, int]) -> int:
    """Compute the skew of pods by zone."""
    return max(counts.values()) - min(counts.values())


def is_unlabelled(pod: Json) -> bool:
    """Whether a pod gets no ranks."""
    return bool(pod["metadata"].get("labels", {}).get(SCALE_DOWN_LABEL) != KEEP_SPREAD)


def ranks_by_zone(pods: list[Json], zones: Mapping[str, str]) -> dict[str, list[int]]:
    """List the ranks of labelled pods in each zone, sorted; none is positive without a rank."""
    found: dict[str, list[int]] = {zone: [] for zone in sorted({*zones.values()})}
    for pod in pods:
        if not is_unlabelled(pod):
            found[zones[pod["spec"]["nodeName"]]].append(rank_of(pod))
    return {zone: sorted(ranks) for zone, ranks in found.items()}


def are_complete(ranks: Mapping[str, list[int]]) -> bool:
    """Whether the ranks in each zone are 1, 2, 3 and so on."""
    return all(held == list(range(1, len(held) + 1)) for held in ranks.values())


class Churn:
    """
    Changes workloads at random; every step is decided by the seed.

    Attributes:
        workloads: The ranked Deployment, and the other one if there is one.
    """

    def __init__(
        self, plane: ControlPlane, fleet: Fleet, zones: dict[str, str], seed: int, *, stock: bool
    ) -> None:
        """Create the workloads; ``zones`` maps nodes to them."""
        namespaces = [plane.create_namespace(MARK)]
        namespaces += [plane.create_namespace()] if stock else []
        self._plane, self._fleet, self._zones = plane, fleet, zones
        self._random = Random(seed)
        self._replicas = FEWEST
        self._cordoned: set[str] = set()
        self.workloads = [spread_pods(FEWEST, name, kind="Deployment") for name in namespaces]
        for workload in self.workloads:
            plane.api.create(workload)
        self.settle()

    def settle(self) -> None:
        """Wait until all pods are bound and ready; pods of cordoned nodes may need them again."""
        for node in sorted(self._cordoned):
            self._cordon(node, unschedulable=None)
        self._cordoned.clear()
        for workload in self.workloads:
            settle(self._plane, workload, self._replicas)

    def disturb(self) -> None:
        """Delete pods and cordon nodes."""
        node = self._random.choice(sorted(self._zones))
        self._cordon(node, unschedulable=True)
        self._cordoned.add(node)
        share = self._random.random() / 2
        chosen = [self._random.random() < share for _ in range(self._replicas)]
        for workload in self.workloads:
            pods = sorted(self._pods(workload), key=self._place)
            for pod, is_chosen in zip(pods, chosen, strict=False):
                if is_chosen:
                    self._plane.api.delete(pod)

    def scale_up(self, *, burst: bool = False, kill: bool = False) -> None:
        """Add pods, and kill a replica while they are created and bound."""
        more = self._random.randint(self._replicas, MOST)
        self._scale(self._replicas + BURST if burst else more)
        if kill:
            victim = self._random.choice(self._fleet.replicas)
            victim.process.kill()
            self.settle()
            self._fleet.service.remove(victim.port)
            self._fleet.replace(victim)
        else:
            self.settle()

    def scale_down(self) -> ScaleDown:
        """Remove ready pods."""
        pods = self._pods(self.workloads[0])
        before, unlabelled = count_by_zone(pods, self._zones), sum(map(is_unlabelled, pods))
        self._scale(self._random.randint(FEWEST, max(FEWEST, min(self._replicas, MOST) - 1)))
        self.settle()
        after = [count_by_zone(self._pods(workload), self._zones) for workload in self.workloads]
        return ScaleDown(before, unlabelled, after[0], after[1] if len(after) > 1 else {})

    def wait_for_ranks(self) -> float:
        """Wait until ranks are corrected; how many seconds that took."""
        began = time.monotonic()
        until(lambda: are_complete(self._ranks()), "the ranks to be corrected")
        return time.monotonic() - began

    def wait_without_change(self) -> None:
        """Wait until no pod of the ranked workload has changed for a while."""
        versions: set[str] = set()
        since = time.monotonic()

        def is_unchanged() -> bool:
            nonlocal versions, since
            found = {pod["metadata"]["resourceVersion"] for pod in self._pods(self.workloads[0])}
            if found != versions:
                versions, since = found, time.monotonic()
            return time.monotonic() - since >= UNCHANGED_S

        until(is_unchanged, f"pods that do not change for {UNCHANGED_S} s")

    def close(self) -> None:
        """Delete the workloads."""
        for workload in self.workloads:
            self._plane.api.delete(workload)

    def _ranks(self) -> dict[str, list[int]]:
        return ranks_by_zone(self._pods(self.workloads[0]), self._zones)

    def _pods(self, workload: Json) -> list[Json]:
        return pods_in(self._plane, workload["metadata"]["namespace"])

    def _scale(self, replicas: int) -> None:
        self._replicas = replicas
        for workload in self.workloads:
            self._plane.api.merge(workload, {"spec": {"replicas": replicas}})

    def _cordon(self, name: str, *, unschedulable: bool | None) -> None:
        node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        self._plane.api.merge(node, {"spec": {"unschedulable": unschedulable}})

    def _place(self, pod: Json) -> tuple[str, str]:
        """Sort pods of both workloads alike, as far as they are in the same zones."""
        return self._zones.get(pod["spec"].get("nodeName", ""), ""), pod["metadata"]["name"]
