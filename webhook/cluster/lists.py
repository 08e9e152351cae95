"""What an API server holds at one moment, listed once and then forgotten; nothing is followed."""

from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus

import msgspec

from webhook.cluster.discovery import Resource, ResourcePath, list_resources, locate
from webhook.cluster.facts import Cluster
from webhook.cluster.listwatch import PAGE_OBJECTS, next_limit, page_query, read_page
from webhook.cluster.protocol import NO_QUERY, ApiClient, Query, read
from webhook.errors import ApiError

_WIDE = frozenset({"Namespace", "Node"})  # of the kinds that are followed, those in no namespace
LIST_TRIES = 3  # lists that are begun anew, since their resource version was forgotten meanwhile


async def list_pages(
    source: ApiClient, path: str, query: Query = NO_QUERY, first: int = PAGE_OBJECTS
) -> AsyncIterator[Sequence[msgspec.Raw]]:
    """
    Give the objects of a list, in the order of their namespaces and names.

    Args:
        path: Of the list.
        query: What is asked for besides.
        first: Objects of the first page at most; how large they are is known only after it.

    Raises:
        ApiError: It cannot be had; ExpiredError if its rest was forgotten meanwhile.
    """
    limit, rest = first, ""
    while True:
        body = await read(source, path, {**query, **page_query(limit, rest)})
        page = read_page(source.name, body)
        yield page.items or ()
        limit, rest = next_limit(limit, len(body)), page.metadata.rest or ""
        if not rest:
            return


async def list_objects(
    source: ApiClient, place: ResourcePath, namespace: str = ""
) -> AsyncIterator[bytes]:
    """
    Give the objects of a kind, page by page, each as JSON.

    Args:
        place: Where they are.
        namespace: Whose objects; empty: all there are.

    Raises:
        ApiError: They cannot be listed.
    """
    async for page in list_pages(source, place.within(namespace).collection):
        for item in page:
            yield bytes(item)


async def read_object(
    source: ApiClient, place: ResourcePath, namespace: str, name: str
) -> bytes | None:
    """
    Give an object as JSON; None if there is none of that name.

    Raises:
        ApiError: It cannot be told.
    """
    try:
        return await read(source, place.item(namespace, name))
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


async def fill_once(source: ApiClient, cluster: Cluster, namespace: str) -> None:
    """
    Put what counts for the pods of a namespace into the stores of a cluster.

    That is all Nodes, the Namespace itself, and its Services and controllers; an object that
    cannot be read counts as absent.

    Raises:
        ApiError: A kind cannot be listed.
    """
    for resource in list_resources(cluster):
        place = await locate(source, resource)
        if place is not None:
            await _fill(source, resource, place, namespace)


async def _fill(source: ApiClient, resource: Resource, place: ResourcePath, namespace: str) -> None:
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
