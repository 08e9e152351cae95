"""``evenspread serve`` in a thread of the test, so that its tasks can be found and made to fail."""

import asyncio
import base64
import threading
import urllib.request
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

import uvloop

from certs.issue import make_authority, sign_leaf
from tests.apiserver import write_kubeconfig
from tests.certs.world import real_clock
from tests.controlplane.api import Api
from tests.controlplane.processes import free_port
from tests.e2e.apiproxy import ApiProxy, proxying
from tests.e2e.replica import CONFIG, Lenient, total
from webhook.config.settings import read_settings
from webhook.server.http.drain import StopRequest
from webhook.server.http.limits import Limits
from webhook.server.run import ServerAddresses, serve

Result = TypeVar("Result")

LIFE = timedelta(days=1)
PATIENCE_S = 60.0  # for what takes a second alone on a core
QUICK = Limits(
    config_poll=0.2,
    certificate_poll=0.2,
    version_poll=0.2,
    stalled_reply=0.2,
    audit_lease=10,
    request=30.0,
    drain_least=0,
    drain_quiet=0,
    drain_most=0,
)


class InjectedError(Exception):
    """What no part of the server expects."""


class _Quiet(StopRequest):
    """A stop that leaves the signals to the test: they belong to the main thread."""

    def listen(self) -> None:
        """Take no signals."""


class InProcess:
    """
    One server whose API server is reached through a proxy; a context manager.

    Attributes:
        config: The configuration file that it follows.
        tls: The folder of its certificate.
        proxy: What it takes for the API server.
    """

    def __init__(self, folder: Path, api: Api, namespace: str) -> None:
        self.config = folder / "config.yaml"
        self.configure(CONFIG.encode())
        self.tls = folder / "tls"
        self.tls.mkdir()
        self._authority = make_authority(now=real_clock(), lifetime=LIFE)
        self.certify()
        self.proxy: ApiProxy
        self._folder, self._api, self._namespace = folder, api, namespace
        self._port = free_port()
        self._thread = ThreadPoolExecutor(1)
        self._started = threading.Event()
        self._ready: ServerAddresses

    def __enter__(self) -> Self:
        self._serving = self._thread.submit(lambda: uvloop.run(self._serve()))
        while not self._started.wait(0.05):
            assert not self._serving.done(), self._serving.exception()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.requested.set)
        self._serving.result(PATIENCE_S)
        self._thread.shutdown()

    @property
    def url(self) -> str:
        return self._ready.url

    @property
    def ca_bundle(self) -> str:
        return base64.b64encode(self._authority.certificate_pem()).decode()

    def configure(self, text: bytes) -> None:
        """Change the configuration."""
        fresh = self.config.with_name("fresh.yaml")
        fresh.write_bytes(text)
        fresh.replace(self.config)

    def certify(self) -> None:
        """Put another certificate of the same authority into the folder."""
        hosts = ("localhost", "127.0.0.1")
        pair = sign_leaf(self._authority, hosts, now=real_clock(), lifetime=LIFE)
        (self.tls / "tls.crt").write_bytes(pair.certificate_pem())
        (self.tls / "tls.key").write_bytes(pair.key_pem())
        (self.tls / "ca.crt").write_bytes(self._authority.certificate_pem())

    def page(self, path: str) -> str:
        """A page of the health listener, whatever its status."""
        opener = urllib.request.build_opener(Lenient())
        with opener.open(f"{self._ready.health}{path}", timeout=PATIENCE_S) as answer:
            text: str = answer.read().decode()
        return text

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels."""
        return total(self.page("/metrics"), name, **labels)

    def tasks(self) -> set[str]:
        """The names of the tasks that there are."""

        async def names() -> set[str]:
            return {task.get_name() for task in asyncio.all_tasks()}

        return self.call(names())

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the event loop of the server."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    def cancel(self, name: str) -> None:
        """Cancel a task."""

        async def cancel() -> None:
            (await _found(name)).cancel()

        self.call(cancel())

    def fail(self, name: str) -> None:
        """Let what a task waits for raise what it cannot expect."""

        async def fail() -> None:
            while True:
                waits_for: Any = await _found(name)
                while isinstance(waits_for, asyncio.Task):
                    waits_for = getattr(waits_for, "_fut_waiter")  # noqa: B009  # not in the stubs
                if waits_for is not None and not waits_for.done():
                    waits_for.set_exception(InjectedError())
                    return
                await asyncio.sleep(0)

        self.call(fail())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = _Quiet(lambda code: None)
        async with proxying(self._api) as self.proxy:
            url = f"http://127.0.0.1:{self.proxy.port}"
            settings = read_settings(
                {
                    "kubeconfig": write_kubeconfig(
                        self._folder, url, user={"token": self._api.token}
                    ),
                    "config": str(self.config),
                    "tls": "files",
                    "tls_dir": str(self.tls),
                    "bind": "127.0.0.1",
                    "port": self._port,
                    "health_port": 0,
                    "namespace": self._namespace,
                    "audit_interval": "1s",
                }
            )
            await serve(settings, lambda _: None, self._greet, limits=QUICK, stop=self._stop)

    def _greet(self, ready: ServerAddresses) -> None:
        self._ready = ready
        self._started.set()


async def _found(name: str) -> asyncio.Task[Any]:
    """Wait for a task of that name."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for task in asyncio.all_tasks():
                if task.get_name() == name and not task.done():
                    return task
            await asyncio.sleep(0)
