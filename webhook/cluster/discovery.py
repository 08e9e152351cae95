"""
Where an API server has a custom kind.

Source: apimachinery pkg/apis/meta/v1 ``APIGroupList`` and ``APIResourceList``.
"""

import msgspec

from webhook.cluster.resources import Place, Resource
from webhook.cluster.source import Reader, Reason
from webhook.errors import ApiError
from webhook.policy.model import GroupKind


class _Version(msgspec.Struct, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    preferred_version: _Version


class _Groups(msgspec.Struct):
    groups: list[_Group]


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


_decode_groups = msgspec.json.Decoder(_Groups).decode
_decode_resources = msgspec.json.Decoder(_Resources).decode


async def locate(source: Reader, resource: Resource) -> Place | None:
    """
    Find where the objects of a kind are.

    Returns:
        None if the API server has no such kind. That is believed only of a complete list of all
        groups, and of all kinds of one; a 404 could be anybody's.

    Raises:
        ApiError: It cannot be told.
    """
    if resource.custom is None:
        return resource.place
    return await locate_custom(source, resource.custom)


async def locate_custom(source: Reader, custom: GroupKind) -> Place | None:
    """
    Find where the objects of a custom kind are, as ``locate`` does.

    Raises:
        ApiError: It cannot be told.
    """
    try:
        return await _search(source, custom)
    except msgspec.MsgspecError:
        raise ApiError(source.name, "answered with no list of kinds", Reason.GARBAGE) from None


async def _search(source: Reader, custom: GroupKind) -> Place | None:
    for group in _decode_groups(await source.read("/apis")).groups:
        if group.name == custom.group:
            root = f"/apis/{group.preferred_version.group_version}"
            listed = _decode_resources(await source.read(root)).resources
            names = (each.name for each in listed if each.kind == custom.kind)
            plural = next((name for name in names if "/" not in name), None)  # no subresource
            return None if plural is None else Place(root, plural)
    return None
