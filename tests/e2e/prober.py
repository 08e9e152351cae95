"""Handshakes with every replica, again and again, trusting what is published alone."""

import threading
import time
from typing import NamedTuple, Self

from cryptography import x509

from tests.e2e.certified import Certificates, Certified
from tests.e2e.forwarding import Address
from tests.e2e.replica import Replica

LAG_S = 2.0
"""How late an API server may learn of a caBundle: less than half an overlap, as is promised."""


class PublishedBundle(NamedTuple):
    """A bundle of a webhook, and when it was first seen, by ``time.monotonic``."""

    seen: float
    bundle: Certificates


class Prober:
    """
    Verifies every replica again and again, trusting what is published alone; a context manager.

    Also what was published LAG_S ago is trusted, alone, as by an API server that learns late.

    Attributes:
        failures: Of replicas that were endpoints all the while.
        verified: How many handshakes came to a good end.
        leaves: The leaves that replicas served.
        bundles: Those of the mutating webhook, in their order.
    """

    def __init__(self, certified: Certified) -> None:
        self.failures: list[OSError] = []
        self.verified = 0
        self.leaves: set[x509.Certificate] = set()
        self.bundles: list[PublishedBundle] = []
        self._certified = certified
        self._history: dict[Certificates, float] = {}  # when a bundle was published last
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def serials(self) -> int:
        """How many different serial numbers the leaves have."""
        return len({leaf.serial_number for leaf in self.leaves})

    @property
    def shortest_transition_s(self) -> float:
        """The shortest time for which two authorities were published, until one left; seconds."""
        pairs = zip(self.bundles, self.bundles[1:], strict=False)
        return min(after.seen - before.seen for before, after in pairs if len(after.bundle) == 1)

    def _run(self) -> None:
        while not self._over.is_set():
            self._look()
        self._look()  # what was published last

    def _look(self) -> None:
        now, published = time.monotonic(), self._certified.published
        if not self.bundles or self.bundles[-1].bundle != published[0]:
            self.bundles.append(PublishedBundle(now, published[0]))
        self._history |= dict.fromkeys(published, now)
        for bundle, seen in self._history.items():
            for replica in self._certified.replicas:
                if seen >= now - LAG_S:
                    self._probe(replica, bundle)

    def _probe(self, replica: Replica, bundle: Certificates) -> None:
        if not self._is_called(replica):
            return
        try:
            self.leaves.add(self._certified.fetch_leaf(replica, bundle))
            self.verified += 1
        except OSError as error:
            is_late = time.monotonic() > self._history[bundle] + 2 * LAG_S  # a stall of ours
            if self._is_called(replica) and not is_late:  # else it was on its way out
                self.failures.append(error)

    def _is_called(self, replica: Replica) -> bool:
        return Address(port=replica.port) in self._certified.service.endpoints
