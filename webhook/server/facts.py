"""
Sources of facts for verdicts: what the rest of the server needs of them.

``FactsSource`` is the interface of ``FileFacts`` and ``LiveFacts``; the rest of the server does not
need to know which one it uses. Nothing here decides a verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from webhook.cluster.caches import Supervise
from webhook.cluster.pods import PodStore
from webhook.config.ownerselectors import OwnerSelector
from webhook.policy.facts import Facts
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.health import Conditions
from webhook.server.review_thread import Freeze
from webhook.server.reviews import Fetch


@dataclass(frozen=True, slots=True)
class WatchedKinds:
    """
    The kinds that a configuration needs besides those that are always read.

    Attributes:
        owners: The custom controllers.
        pods: Whether pods are ranked when they are bound.
    """

    owners: Sequence[OwnerSelector]
    pods: bool = False


class FactsSource(Protocol):
    """A source of facts about the cluster."""

    @property
    def facts(self) -> Facts:
        """The facts that are known now."""
        ...

    @property
    def fetch(self) -> Fetch:
        """Looks up what a verdict needs and the facts do not have yet."""
        ...

    @property
    def freeze(self) -> Freeze:
        """Keeps the facts as they are for the time of a context."""
        ...

    def check(self) -> Conditions:
        """Report whether the facts are known, and how old they are."""
        ...

    def find_ranks(self) -> PodStore | BindingResult:
        """Return the store that ranks pods, or why there is none."""
        ...

    def find_namespaces(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return the labels of all Namespaces, by name; None if not all are known."""
        ...

    def follow(self, watched: WatchedKinds) -> None:
        """Read other kinds if other ones are needed; the last call wins."""
        ...

    async def complete(self) -> None:
        """Wait until every kind has been listed once."""
        ...

    async def run(self, supervise: Supervise) -> None:
        """Keep the facts current until cancelled; files never change."""
        ...
