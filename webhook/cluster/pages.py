"""Lists, page by page, each page of about the same size whatever its objects are."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from webhook.cluster.source import NO_QUERY, Query, Reader
from webhook.cluster.watching import PAGE, next_limit, page_query, read_page

TRIES = 3  # lists that are begun anew, since their resource version was forgotten meanwhile


async def pages(
    source: Reader, path: str, query: Query = NO_QUERY, first: int = PAGE
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
        body = await source.read(path, {**query, **page_query(limit, rest)})
        page = read_page(source.name, body)
        yield page.items or ()
        limit, rest = next_limit(limit, len(body)), page.metadata.rest or ""
        if not rest:
            return
