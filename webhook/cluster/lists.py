"""What an API server holds at one moment, listed once and then forgotten; nothing is followed."""

from collections.abc import AsyncIterator
from http import HTTPStatus

import msgspec

from webhook.cluster import watching
from webhook.cluster.discovery import locate
from webhook.cluster.lookup import Cluster
from webhook.cluster.resources import Place, Resource, resources
from webhook.cluster.source import Source
from webhook.errors import ApiError

_WIDE = frozenset({"Namespace", "Node"})  # of the kinds that are followed, those in no namespace


async def list_objects(source: Source, place: Place, namespace: str = "") -> AsyncIterator[bytes]:
    """
    Give the objects of a kind, page by page, each as JSON.

    Args:
        place: Where they are.
        namespace: Whose objects; empty: all there are.

    Raises:
        ApiError: They cannot be listed.
    """
    path, rest = place.within(namespace).collection, ""
    while True:
        body = await source.read(path, watching.page_query(watching.PAGE, rest))
        page = watching.read_page(source.name, body)
        for item in page.items or ():
            yield bytes(item)
        rest = page.metadata.rest or ""
        if not rest:
            return


async def read_object(source: Source, place: Place, namespace: str, name: str) -> bytes | None:
    """
    Give an object as JSON; None if there is none of that name.

    Raises:
        ApiError: It cannot be told.
    """
    try:
        return await source.read(place.item(namespace, name))
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


async def fill_once(source: Source, cluster: Cluster, namespace: str) -> None:
    """
    Put what counts for the pods of a namespace into the stores of a cluster.

    That is all Nodes, the Namespace itself, and its Services and controllers; an object that
    cannot be read counts as absent.

    Raises:
        ApiError: A kind cannot be listed.
    """
    for resource in resources(cluster):
        place = await locate(source, resource)
        if place is not None:
            await _fill(source, resource, place, namespace)


async def _fill(source: Source, resource: Resource, place: Place, namespace: str) -> None:
    if resource.kind == "Namespace":
        found = await read_object(source, place, "", namespace)
        if found is not None:
            resource.store.put(resource.decode(found))
        return
    inside = "" if resource.kind in _WIDE else namespace
    async for written in list_objects(source, place, inside):
        try:
            resource.store.put(resource.decode(written))
        except msgspec.MsgspecError:
            continue
