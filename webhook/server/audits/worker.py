"""
The audit process: ``python -m webhook.server.audits.worker``, started by the server.

It reads one order from its standard input, and ends when it has carried it out or the server has
ended. It only ever waits for the server, so its reads and writes may block.
"""

import asyncio
import os
import resource
import sys
from typing import BinaryIO

from msgspec.structs import replace

from webhook.audit.scan import AuditOptions
from webhook.audit.sweep import ClusterSweep
from webhook.cluster.protocol import JSON, NO_QUERY, ApiRequest, Query, Response
from webhook.errors import ApiError, EvenspreadError
from webhook.server.audits.messages import (
    LENGTH,
    AuditFailure,
    AuditOrder,
    AuditResult,
    WorkerMessage,
    decode_order,
    decode_response,
    encode,
    frame,
)
from webhook.server.audits.metrics import AuditGauges
from webhook.server.audits.policycounts import PolicyTally
from webhook.server.audits.policyreports import PolicyReportWriter
from webhook.server.reload import read_policy
from webhook.telemetry.exposition import expose

LOWEST_PRIORITY = 19  # so that admission goes first, also on a single core
DISCARDED_BYTES = 64 * 1024  # at a time, of an answer for which there is no memory
MOST_PROBLEMS = 20  # in one result; further ones would not help


class PipeClient:
    """
    A client of the API server that sends through a pipe.

    Implements ``webhook.cluster.protocol.ApiClient``. Its calls block, and raise EOFError when the
    server has ended.
    """

    name = "the API server"

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        """Use the process' ends of two pipes."""
        self._source = source
        self._sink = sink

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        """
        Send a request through the server.

        Raises:
            ApiError: There was no response.
        """
        self.write(ApiRequest(method, path, query, body, content_type))
        response = decode_response(self.receive())
        if response.problem:
            raise ApiError(self.name, response.problem, response.reason)
        return Response(response.status, response.body)

    def write(self, message: WorkerMessage) -> None:
        """Send a message to the server."""
        self._sink.write(frame(encode(message)))
        self._sink.flush()

    def receive(self) -> bytes:
        """
        Wait for the next message of the server.

        Raises:
            EOFError: The server has ended.
        """
        return self._read_exactly(int.from_bytes(self._read_exactly(LENGTH), "big"))

    def _read_exactly(self, number: int) -> bytes:
        try:
            data = self._source.read(number)
        except MemoryError:  # raised before a byte is read
            self._discard(number)  # so that the next message begins where it should
            raise
        if len(data) < number:
            raise EOFError
        return data

    def _discard(self, number: int) -> None:
        while number > 0 and (read := self._source.read(min(number, DISCARDED_BYTES))):
            number -= len(read)


async def audit(order: AuditOrder, server: PipeClient) -> AuditResult:
    """
    Carry out an order.

    Raises:
        EvenspreadError: The audit is not possible.
    """
    configuration, of_files = read_policy(order.sources)
    policy = replace(of_files, profiles=order.profiles)
    sweep = ClusterSweep(server, configuration, AuditOptions(policy))
    gauges, tally = AuditGauges(), PolicyTally()
    reports = PolicyReportWriter(server, order.policy_reports) if order.policy_reports else None
    if reports is not None:
        await reports.read_stored()
    async for report in sweep.reports():
        gauges.add(report)
        tally.add(report)
        if reports is not None:
            await reports.write(report)
    if reports is not None:
        await reports.delete_stale(sweep.left_out)
    names = [profile.name for profile in order.profiles]
    problems = [*map(str, sweep.problems), *(reports.problems if reports else ())]
    return AuditResult(
        exposition=expose(gauges.samples(sweep.left_out)),
        workloads=gauges.workloads,
        pods=gauges.pods,
        findings=gauges.findings,
        problems=tuple(problems[:MOST_PROBLEMS]),
        left_out=tuple(sweep.left_out),
        counts=tally.counts(names, complete=not sweep.left_out),
    )


def main() -> int:
    """Read an order and carry it out; returns the exit code."""
    os.nice(LOWEST_PRIORITY)
    server = PipeClient(sys.stdin.buffer, sys.stdout.buffer)
    try:
        order = decode_order(server.receive())
        resource.setrlimit(resource.RLIMIT_DATA, (order.memory, order.memory))
        result = _carry_out(order, server)
        server.write(result)
    except (EOFError, BrokenPipeError):  # the server has ended: no reader is left
        return 1
    return 0


def _carry_out(order: AuditOrder, server: PipeClient) -> AuditResult | AuditFailure:
    try:
        return asyncio.run(audit(order, server))
    except EvenspreadError as error:
        return AuditFailure(str(error))
    except MemoryError:
        problem = f"the nodes, or a page of a list, need more than {order.memory >> 20} MiB"
    return AuditFailure(f"{problem}: allow more by --audit-memory")


if __name__ == "__main__":
    sys.exit(main())
