"""
How an API server is reached, and as whom: kubeconfig, plugins, service accounts.

All of it is read by kubernetes_asyncio, which is imported here and nowhere else in the package.
Two of its habits are undone: its session obeys HTTPS_PROXY, here only a ``proxy-url`` of the
kubeconfig counts; and it renews a service account's token in the middle of a request, here
``client`` reads the files again between two.
"""

import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
from kubernetes_asyncio import config
from kubernetes_asyncio.client import ApiClient, Configuration
from kubernetes_asyncio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
)

from webhook.cluster.client.kubeconfig import find_kubeconfig, kubeconfig_error

READ_AHEAD = 128 * 1024  # bytes; twice as much is held of a watch whose events wait for their turn

_untyped: Any = config

Load: TypeAlias = Callable[[], Awaitable[Any]]
"""Reads a ``Configuration``, whose stubs leave types open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAccess:
    """
    How to reach a cluster.

    Attributes:
        kubeconfig: File, or several as in ``KUBECONFIG``; empty: the service account if this is a
            pod, else ``KUBECONFIG`` or ``~/.kube/config``.
        context: Of the kubeconfig; empty: its current one.
        strict: Whether certificates have to be as RFC 5280 wants them, which Python asks for since
            3.13; the CAs of some old clusters are not.
        token_file: Of the service account.
        ca_file: Of the service account.
        environ: Where Kubernetes tells a pod of its API server.
    """

    kubeconfig: str = ""
    context: str = ""
    strict: bool = True
    token_file: str = SERVICE_TOKEN_FILENAME
    ca_file: str = SERVICE_CERT_FILENAME
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def loader(access: ApiAccess) -> Load:
    """Choose where credentials are read from; nothing is read yet."""
    asked = access.kubeconfig or access.context
    in_pod = SERVICE_HOST_ENV_NAME in access.environ and Path(access.token_file).exists()
    return _of_kubeconfig(access) if asked or not in_pod else _of_pod(access)


def _of_pod(access: ApiAccess) -> Load:
    async def load() -> Configuration:
        configuration = Configuration()
        _untyped.load_incluster_config(
            configuration,
            try_refresh_token=False,  # it would fail in the middle of a request
            token_filename=access.token_file,
            cert_filename=access.ca_file,
            environ=access.environ,
        )
        return configuration

    return load


def _of_kubeconfig(access: ApiAccess) -> Load:
    kept: Any = None

    async def load() -> Configuration:
        nonlocal kept
        configuration = Configuration()
        if kept is None:
            kept = await _read_kubeconfig(access, configuration)
        else:  # runs a plugin only if what it gave has expired
            await kept.load_and_set(configuration)
        return configuration

    return load


async def _read_kubeconfig(access: ApiAccess, configuration: Configuration) -> Any:
    """Let the library read it; gives its loader. What can be said better than it does is."""
    named = find_kubeconfig(access.kubeconfig, access.environ)
    try:
        return await _untyped.load_kube_config(
            named,
            access.context or None,
            configuration,
            persist_config=False,  # the file is its owner's
        )
    except Exception as error:  # whatever YAML, plugins and the library raise
        raise kubeconfig_error(named, access.context) or error from error


def new_client(configuration: Configuration) -> ApiClient:
    """Make a client whose session obeys no proxy but the configuration's."""
    client = ApiClient(configuration)
    client.user_agent = "evenspread"
    made = client.rest_client.pool_manager
    client.rest_client.pool_manager = aiohttp.ClientSession(
        connector=made.connector, read_bufsize=READ_AHEAD
    )
    made.detach()
    return client


def identity_of(configuration: Configuration) -> bytes:
    """Digest all that makes a connection another one."""
    digest = hashlib.sha256()
    for value in (
        configuration.host,
        configuration.verify_ssl,
        configuration.tls_server_name,
        configuration.proxy,
    ):
        digest.update(f"{value}\n".encode())
    for file in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file):
        digest.update(hashlib.sha256(Path(file).read_bytes() if file else b"").digest())
    return digest.digest()
