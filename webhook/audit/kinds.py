"""
Kinds that an audit lists, derived from ``webhook.policy.kinds``.

``find_custom_kinds`` finds the versions of custom kinds by discovery.
"""

from collections.abc import Collection

from webhook.cluster.discovery import locate_custom
from webhook.cluster.protocol import ApiClient
from webhook.errors import ApiError, SourceError
from webhook.policy.kinds import BUILT_IN_KINDS, POD, KindRow
from webhook.policy.model import GroupKind

LISTED_CLUSTER_SCOPED: tuple[KindRow, ...] = tuple(
    row for row in BUILT_IN_KINDS.values() if not row.namespaced
)
"""Kinds that are not namespaced."""

LISTED_PODS = BUILT_IN_KINDS[POD]
"""Pods; listed last, so that almost every pod has its controller in the snapshot."""

LISTED_BUILT_IN: tuple[KindRow, ...] = tuple(
    row
    for row in BUILT_IN_KINDS.values()
    if row.namespaced and row.audited and row is not LISTED_PODS
)
"""Namespaced kinds that every audit lists, apart from pods."""


async def find_custom_kinds(
    source: ApiClient, kinds: Collection[GroupKind], problems: list[SourceError]
) -> list[KindRow]:
    """
    Find the request paths of custom kinds; leave out kinds that the API server does not have.

    Args:
        kinds: The kinds of the configuration, built-in ones included.
        problems: Receives the errors of kinds that cannot be looked up.
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
