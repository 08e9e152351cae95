"""
Credentials and connections: kubeconfig, plugins and service accounts, read by kubernetes_asyncio.

``make_loader`` chooses where credentials come from; ``Connection`` sends requests with them. Two
defaults of the library are undone: its session obeys HTTPS_PROXY (here only the ``proxy-url`` of
the kubeconfig counts), and it renews a service account's token in the middle of a request (here
``client`` reads the file between two).
"""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlencode

import aiohttp

from webhook.cluster.client.kubeconfig import (
    find_kubeconfig,
    find_namespace,
    kubeconfig_error,
)
from webhook.cluster.client.library import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    Configuration,
    KubeConfigLoader,
    KubeConfigMerger,
    RESTClientObject,
    load_incluster_config,
)
from webhook.cluster.client.plugins import PLUGIN_S, ExecPlugin
from webhook.cluster.protocol import ApiRequest
from webhook.errors import SourceError

LOAD_S = 10.0  # seconds to load credentials without a plugin; other providers use the network
READ_AHEAD = 128 * 1024  # bytes; a watch whose events wait for processing holds twice as much

_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "evenspread"}
_TOKEN = "BearerToken"  # noqa: S105  # the library's name for it

_now = partial(datetime.now, UTC)  # noqa: TID251

LoadConfiguration: TypeAlias = Callable[[], Awaitable[Any]]
"""Reads a ``Configuration``, whose type stubs are incomplete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAccess:
    """
    How to reach an API server and authenticate to it.

    Attributes:
        kubeconfig: One file, or several as in ``KUBECONFIG``; empty: the service account inside a
            pod, otherwise ``KUBECONFIG`` or ``~/.kube/config``.
        context: Context of the kubeconfig; empty: its current context.
        impersonated: The user, groups and UID to act as, as headers of every request.
        strict: Whether certificates must conform to RFC 5280, as Python requires since 3.13; the
            CAs of some old clusters do not.
        token_file: Token of the service account.
        ca_file: CA of the service account.
        environ: Environment variables; in a pod they hold the address of the API server.
        plugin_s: Seconds after which an exec plugin without a terminal is killed.
        now: Wall clock, to compare with the expiry of a plugin's credentials.
    """

    kubeconfig: str = ""
    context: str = ""
    impersonated: tuple[tuple[str, str], ...] = ()
    strict: bool = True
    token_file: str = SERVICE_TOKEN_FILENAME
    ca_file: str = SERVICE_CERT_FILENAME
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    plugin_s: float = PLUGIN_S
    now: Callable[[], datetime] = _now


def make_loader(access: ApiAccess) -> LoadConfiguration:
    """Choose the source of credentials; reads no file yet."""
    return _pod_loader(access) if _is_in_pod(access) else _kubeconfig_loader(access)


def default_namespace(access: ApiAccess) -> str:
    """
    Return the namespace of objects that name none: that of the context, or of the service account.

    Returns:
        Empty if none is set, or if it cannot be read; a request then fails with the reason.
    """
    try:
        if _is_in_pod(access):
            return Path(access.token_file).with_name("namespace").read_text().strip()
        files = find_kubeconfig(access.kubeconfig, access.environ)
        return find_namespace(files, access.context)
    except (OSError, ValueError, SourceError):
        return ""


def _is_in_pod(access: ApiAccess) -> bool:
    if access.kubeconfig or access.context:
        return False
    return SERVICE_HOST_ENV_NAME in access.environ and Path(access.token_file).exists()


def _pod_loader(access: ApiAccess) -> LoadConfiguration:
    async def load() -> Configuration:
        configuration = Configuration()
        load_incluster_config(
            configuration,
            try_refresh_token=False,  # it would fail in the middle of a request
            token_filename=access.token_file,
            cert_filename=access.ca_file,
            environ=access.environ,
        )
        return configuration

    return load


def _kubeconfig_loader(access: ApiAccess) -> LoadConfiguration:
    library_loader: Any = None
    plugin: ExecPlugin | None = None

    async def load() -> Configuration:
        nonlocal library_loader, plugin
        configuration = Configuration()
        if library_loader is None:
            library_loader, plugin = _read_kubeconfig(access)
        if plugin is not None:
            await plugin.refresh()
        async with asyncio.timeout(LOAD_S):
            await library_loader.load_and_set(configuration)
        return configuration

    return load


def _read_kubeconfig(access: ApiAccess) -> tuple[Any, ExecPlugin | None]:
    """Read the kubeconfig; return the library's loader and the plugin of the user, if any."""
    files = find_kubeconfig(access.kubeconfig, access.environ)
    try:
        merged = KubeConfigMerger(files).config
        context = access.context or merged["current-context"]
        loader = KubeConfigLoader(merged, context, config_base_path=None)
        name = merged["contexts"].get_with_name(context)["context"].safe_get("user")
        user = name and merged["users"].get_with_name(name, safe=True)
        runs = user and "exec" in user["user"]
        return loader, ExecPlugin(
            files, user["user"].value, access.now, access.plugin_s
        ) if runs else None
    except Exception as error:  # anything that YAML and the library raise
        raise kubeconfig_error(files, access.context) or error from error


class Connection:
    """
    HTTP connections to one API server, with the TLS settings, proxy and token of a configuration.

    Attributes:
        host: URL of the API server.
        configuration: Of kubernetes_asyncio.
        identity: Digest of the settings that require new connections when they change.
    """

    def __init__(
        self, configuration: Any, *, strict: bool, impersonated: Iterable[tuple[str, str]] = ()
    ) -> None:
        """
        Take a ``Configuration`` of the untyped library; call ``connect`` before the first request.

        Args:
            strict: Whether certificates must conform to RFC 5280.
            impersonated: Further headers of every request.

        Raises:
            OSError: A certificate file cannot be read.
        """
        if token := configuration.api_key.get(_TOKEN):
            configuration.api_key[_TOKEN] = token.strip()  # a header has no line breaks
        configuration.disable_strict_ssl_verification = not strict
        self.host = str(configuration.host)
        self.identity = _digest(configuration)
        self.configuration: Any = configuration
        self._headers = (*_HEADERS.items(), *impersonated)
        self._session: aiohttp.ClientSession | None = None

    def connect(self) -> None:
        """
        Create the session, whose only proxy is the configuration's.

        Raises:
            OSError: The certificates cannot be used.
        """
        library_session = RESTClientObject(self.configuration).pool_manager
        self._session = aiohttp.ClientSession(
            connector=library_session.connector, read_bufsize=READ_AHEAD
        )
        library_session.detach()

    def take_token(self, configuration: Any) -> None:
        """Use the token of a newer configuration of the same identity."""
        self.configuration.api_key = configuration.api_key

    async def request(
        self, request: ApiRequest, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """
        Send a request and return the response, whose body is not read yet.

        Raises:
            aiohttp.ClientError: The network failed; also TimeoutError, OSError and ValueError.
        """
        assert self._session is not None, "connected"
        configuration, headers = self.configuration, list(self._headers)
        if token := await configuration.get_api_key_with_prefix(_TOKEN):
            headers.append(("Authorization", token))
        headers.append(("Content-Type" if request.body else "Accept", request.content_type))
        return await self._session.request(
            request.method,
            f"{self.host}{request.path}{'?' if request.query else ''}{urlencode(request.query)}",
            headers=headers,
            data=request.body or None,
            timeout=limits,
            proxy=configuration.proxy or None,
            proxy_headers=configuration.proxy_headers,
            server_hostname=configuration.tls_server_name,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()


def _digest(configuration: Configuration) -> bytes:
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
