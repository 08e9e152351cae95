"""
Client for the API server that the options of a command name, for one-shot commands.

``ServerOptions`` holds the values of the options, ``call`` runs an action with a client. The client
and asyncio are imported only when they are needed, because that takes 0.2 s and 20 MiB.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from webhook.cli.inputs.combining import combine_options
from webhook.errors import ConfigError

if TYPE_CHECKING:
    from webhook.cluster.client import Api

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """
    The values of the options that name an API server and a user; empty values mean absent options.

    Attributes:
        kubeconfig: Empty for the one that kubectl would find.
        context: Empty for the current one.
        as_user: User to act as.
        as_group: Groups to act as.
        as_uid: UID to act as.
        request_timeout: Limit for a response in seconds; 0 for the client's own.
    """

    kubeconfig: str = ""
    context: str = ""
    as_user: str = ""
    as_group: tuple[str, ...] = ()
    as_uid: str = ""
    request_timeout: float = 0.0

    @property
    def is_named(self) -> bool:
        """Whether any of the options is used."""
        return self != _ABSENT

    @property
    def impersonated(self) -> tuple[tuple[str, str], ...]:
        """
        The headers that request to act as another user.

        Source: client-go transport/round_trippers.go ``impersonatingRoundTripper``.
        """
        named = {"Impersonate-User": self.as_user, "Impersonate-Uid": self.as_uid}
        headers = tuple((name, value) for name, value in named.items() if value)
        return (*headers, *(("Impersonate-Group", group) for group in self.as_group))

    @classmethod
    def take(cls, values: dict[str, Any]) -> "ServerOptions":
        """
        Take the values of these options out of those of a command, by the option's name.

        Raises:
            ConfigError: Groups or a UID are given without a user, which API servers refuse.
        """
        server = cls(**{name: values.pop(name) for name in cls.__slots__})
        if server.impersonated and not server.as_user:
            raise ConfigError("is missing: --as-group and --as-uid need a user", "--as")
        return server


_ABSENT = ServerOptions()


takes_server = combine_options("server", ServerOptions.take)
"""Lets a command take the values of ``options.API_SERVER`` as its argument ``server``."""


def client(server: ServerOptions) -> "Api":
    """Create a client, which connects with its first request; the caller must close it."""
    from webhook.cluster.client import Api, ApiAccess, Timeouts  # noqa: PLC0415  # it takes 0.2 s

    access = ApiAccess(
        kubeconfig=server.kubeconfig, context=server.context, impersonated=server.impersonated
    )
    timeouts = Timeouts(answer=server.request_timeout) if server.request_timeout else Timeouts()
    return Api(access, time.monotonic, timeouts)


def default_namespace(server: ServerOptions) -> str:
    """Return the namespace of a context, or of the pod around the command; empty if unknown."""
    from webhook.cluster import client as package  # noqa: PLC0415  # it takes 0.2 s

    return package.default_namespace(
        package.ApiAccess(kubeconfig=server.kubeconfig, context=server.context)
    )


def call(server: ServerOptions, action: Callable[["Api"], Awaitable[T]]) -> T:
    """Run an action with a client in a new event loop, close the client, return the result."""
    import asyncio  # noqa: PLC0415  # it takes 20 ms

    async def run() -> T:
        async with client(server) as api:
            return await action(api)

    return asyncio.run(run())
