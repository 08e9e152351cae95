"""What is listed of a cluster for an audit, and where an API server has it."""

from collections.abc import Collection

from webhook.cluster.discovery import locate_custom
from webhook.cluster.protocol import ApiClient
from webhook.errors import ApiError, SourceError
from webhook.policy.kinds import BUILT_IN_KINDS, POD, KindRow
from webhook.policy.model import GroupKind

LISTED_CLUSTER_SCOPED: tuple[KindRow, ...] = tuple(
    row for row in BUILT_IN_KINDS.values() if not row.namespaced
)
"""The kinds that are in no namespace."""

LISTED_PODS = BUILT_IN_KINDS[POD]
"""Listed last, so that hardly one is older than its controller."""

LISTED_BUILT_IN: tuple[KindRow, ...] = tuple(
    row
    for row in BUILT_IN_KINDS.values()
    if row.namespaced and row.audited and row is not LISTED_PODS
)
"""The kinds that are listed in the namespaces of every cluster, besides its pods."""


async def find_custom_kinds(
    source: ApiClient, kinds: Collection[GroupKind], problems: list[SourceError]
) -> list[KindRow]:
    """
    Find where an API server has the custom ones among some kinds; those that it has not are left.

    Args:
        problems: Is told of those of which that cannot be told.
    """
    found: list[KindRow] = []
    for kind in sorted(set(kinds) - BUILT_IN_KINDS.keys()):
        try:
            place = await locate_custom(source, kind)
        except ApiError as error:
            problems.append(error)
            continue
        if place is not None:
            version = place.root.rpartition("/")[2]
            found.append(KindRow(kind.group, version, kind.kind, place.plural))
    return found
