"""
``evenspread serve --standalone`` as a child process, with limits of the test's choice.

SIGUSR1 blocks its event loop, as a bug would.
"""

import asyncio
import json
import os
import signal
import ssl
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tests.controlplane.processes import Process
from tests.e2e.objects import service
from tests.e2e.replica import CONFIG, Replica
from tests.server.serving import Wire

PATIENCE_S = 60.0
PAUSE_S = 0.1  # between two looks
PATIENT = {"body_read": 60.0, "request": 60.0, "handshake": 60.0}
"""Limits of a server on a machine that does other things."""

BLOCKED_S = 2.0  # seconds for which SIGUSR1 blocks the event loop

PROGRAM = """
import asyncio, json, signal, sys, time, uvloop
from webhook.config.settings import read_settings
from webhook.server.http.limits import Limits
from webhook.server.run import serve

async def run():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, time.sleep, float(sys.argv[3]))
    settings, limits = map(json.loads, sys.argv[1:3])
    await serve(read_settings(settings), print, limits=Limits(**limits))

uvloop.run(run())
"""


class Standalone(Replica):
    """
    One server that knows a Service and nothing else of a cluster.

    Attributes:
        tls: Of clients.
    """

    def __init__(self, folder: Path, settings: dict[str, Any], **limits: float) -> None:
        """
        Prepare a server; ``with`` starts it.

        Args:
            settings: Further settings, by the names of flags with underscores.
            limits: Members of ``Limits``.
        """
        known = folder / "cluster.json"
        known.write_text(json.dumps(service("it", "shop", {"app": "it"})))
        settings = {"standalone": True, "facts": str(known), **settings}
        super().__init__(folder, Path(), CONFIG.replace("fieldDefaults: none", ""), **settings)
        del self.settings["kubeconfig"]
        arguments = [json.dumps(self.settings), json.dumps(limits), str(BLOCKED_S)]
        command = [sys.executable, "-c", PROGRAM, *arguments]
        self.process = Process("evenspread", command, log=self.log)
        self.tls = client_tls()

    @contextmanager
    def started(self) -> Generator[Self]:
        """Run the server, and wait until it is ready."""
        with self:
            yield self.wait()

    def block(self) -> None:
        """Block the event loop for BLOCKED_S."""
        os.kill(self.process.pid, signal.SIGUSR1)

    def rejected(self, reason: str) -> int:
        """How many requests and connections were refused for this reason."""
        return int(self.metric("admission_rejected_total", reason=reason))

    async def connect(self, tls: ssl.SSLContext | None = None) -> Wire:
        """Open a connection; the handshake is done."""
        context = tls or self.tls
        opened = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
        return Wire(*opened)

    async def plain(self) -> Wire:
        """Open a connection without a handshake."""
        return Wire(*await asyncio.open_connection("127.0.0.1", self.port))


def client_tls() -> ssl.SSLContext:
    """A client that accepts any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def eventually(holds: Callable[[], object]) -> None:
    """Wait until a condition holds, checked in a thread; fails after ``PATIENCE_S``."""
    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110  # nothing sets an event
            await asyncio.sleep(PAUSE_S)
