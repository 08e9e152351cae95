"""Caches without an object, and an API server in which a ReplicaSet can be looked up."""

from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.apiserver import ApiServer, Behavior, Json
from tests.build import NAMESPACE, owned_by, pod, policy, profile, request, selector, service
from tests.cluster.environment import LISTS, following, reflector_environment
from webhook.cluster.caches import Caches
from webhook.cluster.facts import Cluster
from webhook.cluster.fallback import OwnerFallback
from webhook.policy.facts import Facts
from webhook.policy.model import OwnerReference
from webhook.policy.request import AdmissionRequest

OWNER = OwnerReference("apps/v1", "ReplicaSet", "web-54f7")
REPLICA_SET = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets/web-54f7"
POLICY = policy(profile())
NAMESPACE_POLICY = policy(profile(namespace_selector=selector(tier="prod")))
LONG_TIMEOUT_S = 10.0  # seconds that the caller waits


def replica_set(app: str = "web") -> Json:
    metadata = {"name": OWNER.name, "namespace": NAMESPACE}
    return {"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": app}}}}


class World:
    """Caches without an object, an API server, and the look-ups there are results of."""

    def __init__(self, answers: Mapping[str, Behavior] | None = None) -> None:
        requests = {f"GET {path}": answer for path, answer in (answers or {}).items()}
        self.source = ApiServer(service("a"), service("b"), answers=requests)
        self.caches = Caches(Cluster(owners=()), reflector_environment(self.source))
        self.results: list[str] = []
        self.now = 0.0
        self.fallback = OwnerFallback(
            self.caches, self.source, self.results.append, lambda: self.now
        )

    def fetch(
        self, request: AdmissionRequest | None = None, timeout_s: float = LONG_TIMEOUT_S
    ) -> Awaitable[Facts] | None:
        return self.fallback.fetch(request or owned(), POLICY, timeout_s)

    @property
    def lookups(self) -> list[str]:
        return [path for path in self.source.paths if path not in LISTS]


@asynccontextmanager
async def world(answers: Mapping[str, Behavior] | None = None) -> AsyncGenerator[World]:
    made = World(answers)
    async with following(made.caches):
        await made.caches.wait_synced()
        yield made
        await made.fallback.close()


def owned(**owner: Any) -> AdmissionRequest:
    return request(pod(owner=owned_by(**owner)))
