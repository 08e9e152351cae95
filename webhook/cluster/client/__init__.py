"""
Client of an API server, for code that reads, watches or writes a cluster.

Only this package imports kubernetes_asyncio. Its import takes 0.2 s and 20 MiB, most of them for
aiohttp: import it only where a cluster is used.
"""

from webhook.cluster.client.client import RELOAD_S, Api, Timeouts
from webhook.cluster.client.credentials import ApiAccess, default_namespace

__all__ = ["RELOAD_S", "Api", "ApiAccess", "Timeouts", "default_namespace"]
