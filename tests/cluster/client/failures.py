"""Calls of an API server that fail."""

import pytest

from webhook.cluster.client import Api
from webhook.cluster.protocol import read
from webhook.errors import ApiError


async def raised(api: Api, path: str = "/x") -> ApiError:
    """Return the error of a read."""
    with pytest.raises(ApiError) as caught:
        await read(api, path)
    return caught.value
