"""The live cluster of a rebalancing, read again for each plan: ``LiveScope``."""

import msgspec

from webhook.cli.inputs.namespaces import require_namespace
from webhook.cli.inputs.rebalancescope import RebalanceRequest
from webhook.cluster.evictions import PODS, evict_pod
from webhook.cluster.lists import list_objects
from webhook.cluster.protocol import ApiClient
from webhook.cluster.rebalancing import PlannedScope
from webhook.cluster.scheduling.planningobjects import (
    PlanningObjects,
    ProgressReporter,
    list_planning_objects,
)
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.policy.nesting import decode_nested
from webhook.rebalance.plan import plan_rebalance
from webhook.rebalance.pods import WorkloadPod


class LiveScope:
    """
    The workloads of a request in a live cluster.

    Attributes:
        found: The objects of the last plan; empty before it.
    """

    def __init__(
        self,
        client: ApiClient,
        request: RebalanceRequest,
        report: ProgressReporter = lambda _kind, _number: None,
    ) -> None:
        """Store the client; ``report`` receives the progress of reading."""
        self.found = PlanningObjects()
        self._client, self._request, self._report = client, request, report

    async def plan(self) -> PlannedScope:
        """
        Read the cluster, and plan.

        Raises:
            ApiError: The cluster cannot be read.
            ConfigError: The namespace does not exist.
            SourceError: A named workload has no pods.
        """
        namespace = self._request.namespace
        self.found = await list_planning_objects(self._client, namespace, self._report)
        require_namespace(namespace, {one.name for one in self.found.objects.namespaces or ()})
        scope = self._request.find_scope(self.found)
        plan = plan_rebalance(*scope)
        plan = plan.without_proof() if self.found.unknown else plan
        return PlannedScope(plan, scope.pods, scope.budgets)

    async def read_pods(self, namespace: str) -> tuple[WorkloadPod, ...]:
        """Read the pods of a namespace; their ReplicaSets are those of the last plan."""
        pods = [
            decode_nested(_decode_pod, item)
            async for item in list_objects(self._client, PODS, namespace)
        ]
        return self._request.read_pods(self.found, pods, namespace)

    async def evict(self, one: WorkloadPod) -> bool:
        """
        Evict a pod; return False if it has gone.

        Raises:
            ApiError: The API server refuses it.
        """
        return await evict_pod(self._client, one.pod.namespace, one.pod.name, one.pod.uid)


_decode_pod = msgspec.json.Decoder(ApiPod).decode
