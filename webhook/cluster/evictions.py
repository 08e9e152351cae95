"""
Evictions by the eviction API, which respects PodDisruptionBudgets: ``evict_pod``.

Source: kubernetes pkg/registry/core/pod/storage/eviction.go.
"""

from http import HTTPStatus

import msgspec

from webhook.cluster.discovery import ResourcePath
from webhook.cluster.protocol import ApiClient, status_error

PODS = ResourcePath("/api/v1", "pods")

_EVICTED = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""The pod has gone, or another pod has its name."""


async def evict_pod(client: ApiClient, namespace: str, name: str, uid: str) -> bool:
    """
    Evict a pod.

    Args:
        uid: Of the pod; a pod of a StatefulSet has the name of the one that it replaces.

    Returns:
        False if the pod has gone meanwhile.

    Raises:
        ApiError: The API server refuses it; with status 429 if a PodDisruptionBudget allows no
            disruption at the moment.
    """
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": namespace, "name": name},
        "deleteOptions": {"preconditions": {"uid": uid}},
    }
    path = f"{PODS.item(namespace, name)}/eviction"
    response = await client.send("POST", path, body=msgspec.json.encode(body))
    if response.status in _EVICTED:
        return True
    if response.status in _GONE:
        return False
    raise status_error(client.name, response.status, response.body, response.headers)
