"""
The audit process, seen from the server: start it, forward its requests, end it.

``AuditProcess.run`` is the entry point. The event loop moves bytes, and never looks into them. Each
audit ends: a process that fails, hangs or sends an invalid message gives an ``AuditFailure``.
"""

import asyncio
import sys
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from webhook.cluster.protocol import DECODE_ERRORS, ApiClient, ApiRequest, describe_error
from webhook.errors import ApiError
from webhook.server.audits.messages import (
    LENGTH,
    MESSAGE_BYTES,
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

PROCESS = "the audit process"
STDERR_BYTES = 4096  # bytes kept from the end of the standard error of a process that failed
BUFFER_BYTES = 64 * 1024  # of each pipe that wait to be read, as asyncio's own streams keep
GRACE_S = 2.0  # seconds for a process to end after it has closed its pipes; it takes milliseconds


class _Started(NamedTuple):
    """A process, and the transport that ends it even if another process holds its pipes."""

    process: Process
    transport: asyncio.SubprocessTransport


class AuditProcess:
    """Runs audits, each in a process of its own."""

    def __init__(self, api: ApiClient, silence_s: float, command: Sequence[str] = COMMAND) -> None:
        """
        Start no process yet.

        Args:
            silence_s: Seconds without a message after which a process counts as hanging.
            command: The command that carries out an order.
        """
        self._api = api
        self._silence_s = silence_s
        self._command = command

    async def run(self, order: AuditOrder) -> AuditResult | AuditFailure:
        """Carry out an order; cancelling this kills the process."""
        try:
            process, transport = await self._start()
        except (OSError, ValueError) as error:
            return AuditFailure(f"{PROCESS} cannot be started: {describe_error(error)}")
        stderr = bytearray()
        reading = asyncio.create_task(_read_stderr(process, stderr), name="audit's standard error")
        try:
            return await self._serve(process, order)
        except TimeoutError:
            return AuditFailure(f"{PROCESS} sent nothing for {self._silence_s:g} s")
        except DECODE_ERRORS:
            return AuditFailure(f"{PROCESS} sent an invalid message")
        except (asyncio.IncompleteReadError, ConnectionError):
            return AuditFailure(await _describe_end(process, reading, stderr))
        finally:
            reading.cancel()
            transport.close()  # kills the process, and closes its pipes
            await asyncio.gather(reading, process.wait(), return_exceptions=True)

    async def _start(self) -> _Started:
        """Start the process; if cancelled meanwhile, kill it, because uvloop leaves it running."""
        starting = asyncio.ensure_future(_start_process(self._command))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with suppress(OSError, ValueError):
                (await starting).transport.close()
            raise

    async def _serve(self, process: Process, order: AuditOrder) -> AuditResult | AuditFailure:
        message = encode(order)
        while True:
            async with asyncio.timeout(self._silence_s):
                received = await _exchange(process, message)
            if not isinstance(received, ApiRequest):
                return received
            message = encode(await self._forward(received))

    async def _forward(self, request: ApiRequest) -> ApiResponse:
        try:
            response = await self._api.send(*msgspec.structs.astuple(request))
        except ApiError as error:
            return ApiResponse(0, problem=error.problem, reason=error.reason)
        return ApiResponse(response.status, response.body)


async def _start_process(command: Sequence[str]) -> _Started:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: SubprocessStreamProtocol(limit=BUFFER_BYTES, loop=loop), *command
    )
    return _Started(Process(transport, protocol, loop), transport)


async def _read_stderr(process: Process, kept: bytearray) -> None:
    """Read to the end, so that the process never waits for a reader; keep the last bytes."""
    assert process.stderr is not None, "it has pipes"
    while piece := await process.stderr.read(STDERR_BYTES):
        kept += piece
        del kept[:-STDERR_BYTES]


async def _describe_end(process: Process, reading: asyncio.Task[None], stderr: bytearray) -> str:
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await process.wait()
            await asyncio.wait((reading,))
    if process.returncode is None:
        return f"{PROCESS} closed its output and went on"
    text = stderr.decode(errors="replace").strip()
    return f"{PROCESS} ended with {process.returncode}: {text.rpartition(chr(10))[2]}"


async def _exchange(process: Process, message: bytes) -> WorkerMessage:
    """
    Send a message and receive the next one.

    Raises:
        IncompleteReadError: The process has ended; so does ConnectionError.
        DecodeError: The message is invalid; so do the others of DECODE_ERRORS.
    """
    assert process.stdin is not None, "it has pipes"
    assert process.stdout is not None, "it has pipes"
    if process.stdin.is_closing():  # to write to it would be a RuntimeError of uvloop
        raise BrokenPipeError
    process.stdin.write(frame(message))
    await process.stdin.drain()
    length = int.from_bytes(await process.stdout.readexactly(LENGTH), "big")
    if length > MESSAGE_BYTES:
        raise msgspec.DecodeError("the message is too long")
    return decode_message(await process.stdout.readexactly(length))
