"""
The ranks that pods of a controller hold in topology domains, and those that are reserved.

``RankLedger.reserve`` gives a pod a rank when it is bound. It is reserved until the watch shows the
pod with its node, which takes milliseconds, or until ``RESERVED_S``: the binding may have failed.

The ledger of a controller is built from its pods at its first binding, and then follows every
change, so that a binding takes as long with 5 000 pods as with five. Two things end it: other
controllers that are bound meanwhile, since only the last ``LEDGERS`` are kept, and other labels of
a Node, which may move pods to another domain.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from webhook.cluster.heldranks import HeldRanks
from webhook.cluster.nodes import NodeStore
from webhook.policy.scaledown.binding import RankedPod

RESERVED_S = 15.0  # a scheduler gives up a binding after 10 s; the watch is rarely late by seconds
LEDGERS = 64  # controllers that are bound at a time; each takes 100 bytes a pod


class Controller(NamedTuple):
    """
    The controller of pods.

    A user of one namespace may write the uid of any controller into a pod: with its namespace, such
    a pod affects no other one.
    """

    namespace: str
    uid: str


class ControllerPods(dict[str, RankedPod]):
    """The pods of one controller, by name."""

    __slots__ = ("controller",)

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.controller = controller


class Reservation(NamedTuple):
    """
    A rank given to a pod that is being bound.

    Attributes:
        key: Topology key of the domain.
    """

    key: str
    domain: str
    rank: int


_Domains: TypeAlias = defaultdict[str, HeldRanks]
"""Ranks held in each domain of one topology key."""


class RankLedger:
    """The ranks in use; only ``PodStore`` changes it."""

    def __init__(self, nodes: NodeStore, clock: Callable[[], float]) -> None:
        """
        Start without a rank.

        Args:
            nodes: The Nodes whose labels are the domains.
            clock: Monotonic, in seconds.
        """
        self._nodes = nodes
        self._clock = clock
        self._labels_version = nodes.labels_version
        self._ledgers: OrderedDict[Controller, dict[str, _Domains]] = OrderedDict()
        self._reserved: dict[Controller, dict[str, Reservation]] = {}  # by name of the pod
        self._deadlines = OrderedDict[tuple[Controller, str], float]()  # earliest first

    def add(self, controller: Controller, pod: RankedPod) -> None:
        """Count the rank of a pod that the store has now."""
        for held in self._list_ledgers_of(controller, pod):
            held.add(pod.rank)

    def remove(self, controller: Controller, pod: RankedPod) -> None:
        """Stop counting the rank of a pod that the store no longer has."""
        for held in self._list_ledgers_of(controller, pod):
            held.remove(pod.rank)

    def reserve(self, pods: ControllerPods, name: str, domain: str) -> int:
        """Reserve the lowest free rank for a pod; the same one again if its binding is repeated."""
        self._free_late()
        controller, key = pods.controller, pods[name].key
        known = self._reserved.get(controller, {}).get(name)
        if known is None or (known.key, known.domain) != (key, domain):
            self.free(controller, name)
            held = self._domains_of(pods, key)[domain]
            known = Reservation(key, domain, held.lowest_free)
            held.add(known.rank)
            self._reserved.setdefault(controller, {})[name] = known
        self._deadlines[controller, name] = self._clock() + RESERVED_S
        self._deadlines.move_to_end((controller, name))
        return known.rank

    def free(self, controller: Controller, name: str) -> None:
        """Free the rank reserved for a pod, if there is one."""
        reserved = self._reserved.get(controller, {})
        reservation = reserved.pop(name, None)
        if reservation is None:
            return
        del self._deadlines[controller, name]
        if not reserved:
            del self._reserved[controller]
        domains = self._refresh_ledgers().get(controller, {}).get(reservation.key)
        if domains is not None:
            domains[reservation.domain].remove(reservation.rank)

    def _free_late(self) -> None:
        """Free the reservations whose time is over."""
        now = self._clock()
        while self._deadlines:
            place, deadline = next(iter(self._deadlines.items()))
            if deadline > now:
                return
            self.free(*place)

    def _refresh_ledgers(self) -> OrderedDict[Controller, dict[str, _Domains]]:
        """Return the ledgers; none if a Node got other labels."""
        if self._labels_version != self._nodes.labels_version:
            self._labels_version = self._nodes.labels_version
            self._ledgers.clear()
        return self._ledgers

    def _list_ledgers_of(self, controller: Controller, pod: RankedPod) -> list[HeldRanks]:
        """List the ledgers that count the rank of a pod."""
        if pod.rank <= 0:
            return []
        found = self._refresh_ledgers().get(controller, {}).items()
        places = ((domains, self._nodes.label(pod.node, key)) for key, domains in found)
        return [domains[domain] for domains, domain in places if domain is not None]

    def _domains_of(self, pods: ControllerPods, key: str) -> _Domains:
        """Return the ranks held in the domains of a key; count all pods if they are not known."""
        ledgers, controller = self._refresh_ledgers(), pods.controller
        ledger = ledgers.setdefault(controller, {})
        ledgers.move_to_end(controller)
        if len(ledgers) > LEDGERS:
            ledgers.popitem(last=False)
        if key not in ledger:
            ledger[key] = self._count(pods, key)
        return ledger[key]

    def _count(self, pods: ControllerPods, key: str) -> _Domains:
        domains: _Domains = defaultdict(HeldRanks)
        for pod in pods.values():
            domain = self._nodes.label(pod.node, key) if pod.rank > 0 else None
            if domain is not None:
                domains[domain].add(pod.rank)
        for reservation in self._reserved.get(pods.controller, {}).values():
            if reservation.key == key:
                domains[reservation.domain].add(reservation.rank)
        return domains
