"""
List and read objects of an API server once, without watching them.

``list_pages`` reads a list in pages of about the same number of bytes, with a ``PageReader``;
``fill_once`` fills the stores of a ``Cluster`` for some namespaces.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from http import HTTPStatus

import msgspec

from webhook.cluster.discovery import (
    Resource,
    ResourcePath,
    describe_exceptions,
    list_resources,
    locate_custom,
)
from webhook.cluster.facts import Cluster
from webhook.cluster.listwatch import PAGE_OBJECTS, decode_page, next_limit, page_query
from webhook.cluster.policyexceptions import POLICY_EXCEPTION
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    JSON,
    METADATA_LIST,
    NO_QUERY,
    ApiClient,
    FailureReason,
    Query,
    read,
)
from webhook.errors import ApiError, SourceError
from webhook.policy.model import GroupKind
from webhook.policy.nesting import finish

LIST_TRIES = 3  # attempts at a list whose resource version expires while it is read

TOO_LARGE = "an object is larger than an answer may be, and is left out"


class PageReader:
    """
    Reads a list page by page.

    A page above the client's limit is read again with half as many objects; a single object above
    it is replaced by its metadata.

    Attributes:
        whole: Whether the last page holds whole objects, and not metadata.
    """

    def __init__(
        self, source: ApiClient, path: str, query: Query = NO_QUERY, first: int = PAGE_OBJECTS
    ) -> None:
        """Prepare to read; the arguments are those of ``list_pages``."""
        self.whole = True
        self._source, self._path, self._query = source, path, query
        self._limit = first

    async def read(self, rest: str) -> bytes:
        """
        Read the page at a continue token; the first one if it is empty.

        Raises:
            ApiError: The page cannot be read.
        """
        self.whole = True
        while True:
            query = {**self._query, **page_query(self._limit, rest)}
            try:
                media_type = JSON if self.whole else METADATA_LIST
                body = await read(self._source, self._path, query, media_type)
            except ApiError as error:
                if error.reason != FailureReason.OVERSIZED or not self.whole:
                    raise
                self.whole = self._limit > 1
                self._limit = max(self._limit // 2, 1)
            else:
                if self.whole:  # metadata does not show how large objects are
                    self._limit = next_limit(self._limit, len(body))
                return body


async def list_pages(
    source: ApiClient,
    path: str,
    query: Query = NO_QUERY,
    first: int = PAGE_OBJECTS,
    problems: list[SourceError] | None = None,
) -> AsyncIterator[Sequence[msgspec.Raw]]:
    """
    Yield the pages of a list, ordered by namespace and name.

    Args:
        path: Path of the list.
        query: Further query parameters, such as a field selector.
        first: Most objects of the first page, whose size in bytes is unknown in advance.
        problems: Receives an error for each object that is too large; None raises it.

    Raises:
        ApiError: The list cannot be read; ExpiredError if it expired between two pages.
    """
    reader, rest = PageReader(source, path, query, first), ""
    while True:
        page = finish(decode_page(source.name, await reader.read(rest)))
        if reader.whole:
            yield page.items or ()
        elif problems is None:
            raise ApiError(path, TOO_LARGE, FailureReason.OVERSIZED)
        else:
            problems.append(SourceError(path, TOO_LARGE))
        rest = page.metadata.rest or ""
        if not rest:
            return


async def list_objects(
    source: ApiClient, place: ResourcePath, namespace: str = ""
) -> AsyncIterator[bytes]:
    """
    Yield the objects of a kind as JSON, of one namespace or of all if it is empty.

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
    Read an object as JSON; None if it does not exist.

    Raises:
        ApiError: It cannot be read.
    """
    try:
        return await read(source, place.item(namespace, name))
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


async def fill_once(source: ApiClient, cluster: Cluster, namespaces: Collection[str]) -> None:
    """
    Fill the stores of a cluster with everything that matters to the pods of some namespaces.

    These are all Nodes, the Namespaces themselves, and their Services and controllers. An object
    that cannot be decoded counts as absent.

    Args:
        namespaces: An empty one stands for all, each kind of which is read in one list.

    Raises:
        ApiError: A kind cannot be listed.
    """
    for resource in list_resources(cluster):
        place, key = resource.place, resource.key
        if isinstance(key, GroupKind):
            place = await locate_custom(source, key)
        if place is not None:
            # Nodes are in no namespace.
            for namespace in ("",) if resource.kind == "Node" else namespaces:
                await _fill(source, resource, place, namespace)


async def fill_exceptions(source: ApiClient, cluster: Cluster, namespaces: Collection[str]) -> None:
    """
    Fill the store of SpreadPolicyExceptions for some namespaces; no exception without the kind.

    Raises:
        ApiError: They cannot be listed.
    """
    resource = describe_exceptions(cluster.exception_store)
    place = await locate_custom(source, POLICY_EXCEPTION, resource.version)
    if place is not None:
        for namespace in namespaces:
            await _fill(source, resource, place, namespace)


async def _fill(source: ApiClient, resource: Resource, place: ResourcePath, namespace: str) -> None:
    if resource.kind == "Namespace" and namespace:
        found = await read_object(source, place, "", namespace)
        if found is not None:
            resource.store.put(resource.decode(found))
        return
    async for data in list_objects(source, place, namespace):
        try:
            resource.store.put(resource.decode(data))
        except DECODE_ERRORS:
            continue
