"""
The server's side of the process that audits: start it, send on what it asks for, end it.

What passes through here is not looked at: the event loop only moves bytes, a page at a time.
Whatever the process does, the audit ends: a process that cannot be started, dies, hangs, or says
what is no message gives ``AuditFailure``, with the reason.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from webhook.cluster.protocol import DECODE_ERRORS, ApiClient, describe_error
from webhook.errors import ApiError
from webhook.server.audits.messages import (
    LENGTH,
    MESSAGE_BYTES,
    ApiRequest,
    ApiResponse,
    AuditFailure,
    AuditOrder,
    AuditResult,
    WorkerMessage,
    decode_message,
    encode,
    frame,
)

COMMAND: Sequence[str] = (sys.executable, "-m", "webhook.server.audits.worker")

WHO = "the process that audits"
LAST_WORDS = 4096  # bytes of what a process that failed says on its standard error
GRACE_S = 2.0  # seconds for a process to end that has closed its pipes; it takes milliseconds


class AuditProcess:
    """One audit in a process of its own."""

    def __init__(self, api: ApiClient, silence_s: float, command: Sequence[str] = COMMAND) -> None:
        """
        Start nothing yet.

        Args:
            silence_s: Seconds without a message, after which a process counts as hanging.
            command: What carries out an order.
        """
        self._api = api
        self._silence_s = silence_s
        self._command = command

    async def run(self, order: AuditOrder) -> AuditResult | AuditFailure:
        """Have an order carried out; when this is cancelled, the process is ended."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE
            )
        except (OSError, ValueError) as error:
            return AuditFailure(f"{WHO} cannot be started: {describe_error(error)}")
        async with _ended(process), _heard_out(process) as last_words:
            return await self._outcome(process, order, last_words)

    async def _outcome(
        self, process: Process, order: AuditOrder, last_words: "_LastWords"
    ) -> AuditResult | AuditFailure:
        try:
            return await self._serve(process, order)
        except TimeoutError:
            return AuditFailure(f"{WHO} said nothing for {self._silence_s:g} s")
        except DECODE_ERRORS:
            return AuditFailure(f"{WHO} sent what is no message")
        except (asyncio.IncompleteReadError, ConnectionError):
            return AuditFailure(await last_words.tell(process))

    async def _serve(self, process: Process, order: AuditOrder) -> AuditResult | AuditFailure:
        message = encode(order)
        while True:
            async with asyncio.timeout(self._silence_s):
                said = await _exchange(process, message)
            if not isinstance(said, ApiRequest):
                return said
            message = encode(await self._answer(said))

    async def _answer(self, ask: ApiRequest) -> ApiResponse:
        try:
            response = await self._api.send(ask.method, ask.path, ask.query, ask.body)
        except ApiError as error:
            return ApiResponse(0, reason=error.problem)
        return ApiResponse(response.status, response.body)


class _LastWords:
    """The end of what a process writes to its standard error, read while it runs."""

    def __init__(self) -> None:
        self._kept = b""
        self._read = asyncio.Event()

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read to the end, so that the process never waits for a reader."""
        while piece := await stream.read(LAST_WORDS):
            self._kept = (self._kept + piece)[-LAST_WORDS:]
        self._read.set()

    async def tell(self, process: Process) -> str:
        """Say how a process ended that was not expected to."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
                await self._read.wait()
        if process.returncode is None:
            return f"{WHO} closed its output and went on"
        said = self._kept.decode(errors="replace").strip()
        return f"{WHO} ended with {process.returncode}: {said.rpartition(chr(10))[2]}"


@asynccontextmanager
async def _ended(process: Process) -> AsyncGenerator[None]:
    """End a process with the context, and read its pipes to their end, which closes them."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.communicate()


@asynccontextmanager
async def _heard_out(process: Process) -> AsyncGenerator[_LastWords]:
    """Read what a process writes to its standard error as long as the context lasts."""
    assert process.stderr is not None, "it has pipes"
    last_words = _LastWords()
    reading = asyncio.create_task(last_words.read(process.stderr), name="audit's standard error")
    try:
        yield last_words
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _exchange(process: Process, message: bytes) -> WorkerMessage:
    """
    Send a message, and wait for the one that comes back.

    Raises:
        IncompleteReadError: The process has gone, as with a ConnectionError.
        DecodeError: It said something else; so do the others of DECODE_ERRORS.
    """
    assert process.stdin is not None, "it has pipes"
    assert process.stdout is not None, "it has pipes"
    process.stdin.write(frame(message))
    await process.stdin.drain()
    length = int.from_bytes(await process.stdout.readexactly(LENGTH), "big")
    if length > MESSAGE_BYTES:
        raise msgspec.DecodeError("longer than any message")
    return decode_message(await process.stdout.readexactly(length))
