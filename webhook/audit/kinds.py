"""What is listed of a cluster for an audit, and where an API server has it."""

from collections.abc import Collection
from typing import NamedTuple

from webhook.cluster.discovery import locate_custom
from webhook.cluster.protocol import Reader
from webhook.errors import ApiError, SourceError
from webhook.policy.model import GroupKind, group_of


class ListedKind(NamedTuple):
    """
    A kind, and where its objects are.

    Attributes:
        namespaced: Whether its objects are in namespaces.
    """

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def group_kind(self) -> GroupKind:
        """The kind, whatever its version."""
        return GroupKind(group_of(self.api_version), self.kind)

    def path(self, namespace: str) -> str:
        """The path of all objects, or of those in a namespace."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else "/api/v1"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{inside}/{self.plural}"


LISTED_CLUSTER_SCOPED: tuple[ListedKind, ...] = (
    ListedKind("v1", "Node", "nodes", namespaced=False),
    ListedKind("v1", "Namespace", "namespaces", namespaced=False),
)
"""The kinds that are in no namespace."""

LISTED_BUILT_IN: tuple[ListedKind, ...] = (
    ListedKind("v1", "Service", "services"),
    ListedKind("v1", "ReplicationController", "replicationcontrollers"),
    ListedKind("apps/v1", "Deployment", "deployments"),
    ListedKind("apps/v1", "ReplicaSet", "replicasets"),
    ListedKind("apps/v1", "StatefulSet", "statefulsets"),
    ListedKind("apps/v1", "DaemonSet", "daemonsets"),
    ListedKind("batch/v1", "CronJob", "cronjobs"),
    ListedKind("batch/v1", "Job", "jobs"),
)
"""What is listed in every cluster, besides its pods."""

LISTED_PODS = ListedKind("v1", "Pod", "pods")
"""Listed last, so that hardly one is older than its controller."""

_KNOWN = frozenset(
    {
        *(each.group_kind for each in (*LISTED_CLUSTER_SCOPED, *LISTED_BUILT_IN, LISTED_PODS)),
        GroupKind("", "PodTemplate"),
    }
)


async def find_custom_kinds(
    source: Reader, kinds: Collection[GroupKind], problems: list[SourceError]
) -> list[ListedKind]:
    """
    Find where an API server has the custom ones among some kinds; those that it has not are left.

    Args:
        problems: Is told of those of which that cannot be told.
    """
    found: list[ListedKind] = []
    for kind in sorted(set(kinds) - _KNOWN):
        try:
            place = await locate_custom(source, kind)
        except ApiError as error:
            problems.append(error)
            continue
        if place is not None:
            version = place.root.removeprefix("/apis/")
            found.append(ListedKind(version, kind.kind, place.plural))
    return found
