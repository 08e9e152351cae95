"""
The API server, for whoever follows a cluster or writes to it.

The only room of the package that knows kubernetes_asyncio. Importing that costs 0.6 s and 55 MiB,
so import this where there is a cluster to be reached, and nowhere else.
"""

from webhook.cluster.client.client import MAX_BODY_BYTES, RELOAD_S, Api, Timeouts
from webhook.cluster.client.credentials import ApiAccess

__all__ = ["MAX_BODY_BYTES", "RELOAD_S", "Api", "ApiAccess", "Timeouts"]
