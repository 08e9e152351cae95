"""
The server's side of the process that audits: start it, send on what it asks for, end it.

What passes through here is not looked at: the event loop only moves bytes, a page at a time.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from webhook.auditing.messages import (
    LENGTH,
    LONGEST,
    Answer,
    Ask,
    Done,
    Failed,
    Order,
    Said,
    decode_said,
    encode,
    framed,
)
from webhook.cluster.source import Sender
from webhook.errors import ApiError

COMMAND: Sequence[str] = (sys.executable, "-m", "webhook.auditing.worker")

LAST_WORDS = 4096  # bytes of what a process that failed says on its standard error


class Audit:
    """One audit in a process of its own."""

    def __init__(self, api: Sender, command: Sequence[str] = COMMAND) -> None:
        """
        Start nothing yet.

        Args:
            command: What carries out an order.
        """
        self._api = api
        self._command = command

    async def run(self, order: Order) -> Done | Failed:
        """Have an order carried out; when this is cancelled, the process is ended."""
        async with _started(self._command) as process:
            try:
                return await self._serve(process, order)
            except (asyncio.IncompleteReadError, ConnectionError):
                return Failed(await _last_words(process))

    async def _serve(self, process: Process, order: Order) -> Done | Failed:
        assert process.stdin is not None, "it has pipes"
        assert process.stdout is not None, "it has pipes"
        message = encode(order)
        while True:
            process.stdin.write(framed(message))
            await process.stdin.drain()
            said = await _heard(process.stdout)
            if not isinstance(said, Ask):
                return said
            message = encode(await self._answer(said))

    async def _answer(self, ask: Ask) -> Answer:
        try:
            status, body = await self._api.send(ask.method, ask.path, ask.query, ask.body)
        except ApiError as error:
            return Answer(0, reason=error.problem)
        return Answer(status, body)


@asynccontextmanager
async def _started(command: Sequence[str]) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _heard(stream: asyncio.StreamReader) -> Said:
    length = int.from_bytes(await stream.readexactly(LENGTH), "big")
    assert length <= LONGEST, "it says nothing longer"
    return decode_said(await stream.readexactly(length))


async def _last_words(process: Process) -> str:
    """Say how a process ended that was not expected to."""
    assert process.stderr is not None, "it has pipes"
    said = (await process.stderr.read())[-LAST_WORDS:].decode(errors="replace").strip()
    code = await process.wait()
    return f"the process that audits ended with {code}: {said.rpartition(chr(10))[2]}"
