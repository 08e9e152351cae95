"""A run of the writer of statuses: a fake API server with SpreadPolicies, a store, and a clock."""

import asyncio
import io
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.apiserver import ApiServer, Json
from tests.build import policy
from tests.server.serving import logged, server_context
from webhook.cluster.spreadpolicies import SpreadPolicyStore, decode_policy
from webhook.config.spreadpolicies import MergedProfiles, SpreadPolicy, merge_profiles
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.server.election import Clocks
from webhook.server.events import TaskObservers
from webhook.server.policyfacts import StatusSources
from webhook.server.policystatus import PolicyStatusWriter

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = "/apis/evenspread.io/v1alpha1/spreadpolicies"


class StatusOverError(Exception):
    """The time of a run is over."""


class StatusRun:
    """
    A replica that writes statuses, and a clock that waits move.

    What the API server stores reaches the store of the replica at the next wait.

    Attributes:
        later: What other clients do, by the time from which on they do it, the earliest first.
        written: For each write, the time and the name of the policy.
        is_cut_off: Whether changes reach the store no longer.
    """

    def __init__(self, *profiles: Profile, audits: bool = False) -> None:
        self.server = ApiServer()
        self.server.define("evenspread.io/v1alpha1", "SpreadPolicy")
        self.later: list[tuple[float, Callable[[], object]]] = []
        self.written: list[tuple[float, str]] = []
        self.namespaces: dict[str, dict[str, str]] | None = {"shop": {"tier": "prod"}, "test": {}}
        self.policy: Policy = policy()
        self.is_cut_off = False
        self.now = 0.0
        self._files = profiles
        self._end = 0.0
        self._stream = io.BytesIO()
        self._store = SpreadPolicyStore(lambda: None)
        context = server_context(self._stream, namespace="evenspread")
        self.metrics = context.metrics
        sources = StatusSources(
            lambda: self._store.objects,
            self.merge,
            lambda: self.policy,
            lambda: self.namespaces,
            audits,
        )
        self.clocks = Clocks(lambda: self.now, self.wall, self.wait)
        observers = TaskObservers(context.metrics, context.log)
        self.writer = PolicyStatusWriter(self.server, sources, self.clocks, observers)

    def merge(self, policies: Iterable[SpreadPolicy]) -> MergedProfiles:
        return merge_profiles(self._files, policies)

    def wall(self) -> datetime:
        return NOON + timedelta(seconds=self.now)

    def put(self, name: str, **spec: Any) -> None:
        """Create a policy, or change its specification."""
        known = self.server.objects.get(f"{PLACE}/{name}")
        before: Json = known["metadata"] if known else {}
        metadata = {**before, "generation": before.get("generation", 0) + 1, "name": name}
        self.server.put(
            f"{PLACE}/{name}",
            {
                **(known or {}),
                "apiVersion": "evenspread.io/v1alpha1",
                "kind": "SpreadPolicy",
                "metadata": metadata,
                "spec": {"defaultConstraints": [], **spec},
            },
        )

    def delete(self, name: str) -> None:
        self.server.delete(f"{PLACE}/{name}")

    def status(self, name: str) -> Json:
        found: Json = self.server.objects[f"{PLACE}/{name}"].get("status", {})
        return found

    def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        found = self.status(name).get("conditions", ())
        return {one["type"]: (one["status"], one["reason"]) for one in found}

    def count(self, result: str) -> float:
        name = "evenspread_policy_status_writes_total"
        return self.metrics.registry.get_sample_value(name, {"result": result}) or 0

    @property
    def messages(self) -> list[str]:
        return [line["message"] for line in logged(self._stream)]

    async def wait(self, seconds: float) -> None:
        self._note()
        self.now += seconds
        while self.later and self.later[0][0] <= self.now:
            self.later.pop(0)[1]()
        self.show()
        if self.now > self._end:
            raise StatusOverError
        await asyncio.sleep(0)

    def _note(self) -> None:
        """Note the writes since the last wait."""
        for write in self.server.writes[len(self.written) :]:
            name = write.path.removesuffix("/status").rpartition("/")[2]
            self.written.append((self.now, name))

    def show(self) -> None:
        """Let the store see what the API server has."""
        if self.is_cut_off:
            return
        for obj in self.server.objects.values():
            self._store.put(decode_policy(msgspec.json.encode(obj)))
        for _, name in [*self._store.iterate_keys()]:
            if f"{PLACE}/{name}" not in self.server.objects:
                self._store.remove("", name)

    async def run(self, seconds: float) -> None:
        """Hold the Lease for a time."""
        self.show()
        self._end = self.now + seconds
        with pytest.raises(StatusOverError):
            await self.writer.work()
