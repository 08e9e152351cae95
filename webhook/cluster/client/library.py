"""
The parts of kubernetes_asyncio that the client uses, without its API classes and models.

No other module imports kubernetes_asyncio. Before any submodule, its packages import a class for
each API group and each kind: 840 modules, which take 1.3 s of CPU time and 53 MiB. This module
defers them, and urllib3, which the library needs for basic authentication alone. Other code may
import all of the library before or afterwards, and gets the same classes.
"""

from typing import Any

from webhook.cluster.client.deferred import defer_packages

with defer_packages(
    "urllib3", "kubernetes_asyncio", "kubernetes_asyncio.client", "kubernetes_asyncio.client.models"
):
    from kubernetes_asyncio import client
    from kubernetes_asyncio.client.api_client import ApiClient
    from kubernetes_asyncio.client.configuration import Configuration
    from kubernetes_asyncio.client.rest import RESTClientObject

    # The next modules import these two from the package, which would execute all of it.
    client.__dict__.update(ApiClient=ApiClient, Configuration=Configuration)
    from kubernetes_asyncio.config import incluster_config, kube_config
    from kubernetes_asyncio.config.incluster_config import (
        SERVICE_CERT_FILENAME,
        SERVICE_HOST_ENV_NAME,
        SERVICE_TOKEN_FILENAME,
    )

__all__ = [
    "SERVICE_CERT_FILENAME",
    "SERVICE_HOST_ENV_NAME",
    "SERVICE_TOKEN_FILENAME",
    "Configuration",
    "KubeConfigLoader",
    "KubeConfigMerger",
    "RESTClientObject",
    "load_incluster_config",
]

# Their types in the library are incomplete.
KubeConfigLoader: Any = kube_config.KubeConfigLoader
KubeConfigMerger: Any = kube_config.KubeConfigMerger
load_incluster_config: Any = vars(incluster_config)["load_incluster_config"]
