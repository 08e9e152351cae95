"""
The process that audits: ``python -m webhook.server.audits.worker``, started by the server.

It takes one order from its standard input and ends when it is carried out, or when the server is
gone. It waits for nothing but the server, so its reads and writes may block.
"""

import asyncio
import os
import resource
import sys
from datetime import timedelta
from typing import BinaryIO

from webhook.audit.scan import AuditOptions
from webhook.audit.sweep import ClusterSweep
from webhook.cluster.protocol import JSON, NO_QUERY, FailureReason, Query, Response
from webhook.errors import ApiError, EvenspreadError
from webhook.policy.api.versions import parse_version
from webhook.server.audits.messages import (
    LENGTH,
    ApiRequest,
    AuditFailure,
    AuditOrder,
    AuditResult,
    decode_answer,
    decode_order,
    encode,
    frame,
)
from webhook.server.audits.metrics import AuditGauges
from webhook.server.audits.policyreports import PolicyReportWriter
from webhook.server.reload import PolicySources, read_policy
from webhook.telemetry.exposition import expose

LOWEST = 19  # of priorities: whoever answers callers goes first, also on a single core
MOST_PROBLEMS = 20  # that are told; more say no more

OK = range(200, 300)


class PipeClient:
    """
    The API server, called through the server's pipe.

    Implements ``webhook.cluster.protocol.ApiClient``.

    Its calls block, and end the process when the server is gone.
    """

    name = "the API server"

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        """Take both ends of the pipes."""
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

        Args:
            content_type: Always JSON.

        Raises:
            ApiError: There was no response.
        """
        del content_type
        self.tell(ApiRequest(method, path, dict(query), body))
        answer = decode_answer(self.hear())
        if answer.reason:
            raise ApiError(self.name, answer.reason, FailureReason.UNREACHABLE)
        return Response(answer.status, answer.body)

    def tell(self, message: ApiRequest | AuditResult | AuditFailure) -> None:
        """Say something to the server."""
        self._sink.write(frame(encode(message)))
        self._sink.flush()

    def hear(self) -> bytes:
        """
        Wait for what the server says.

        Raises:
            EOFError: It is gone.
        """
        length = self._take(LENGTH)
        return self._take(int.from_bytes(length, "big"))

    def _take(self, number: int) -> bytes:
        taken = self._source.read(number)
        if len(taken) < number:
            raise EOFError
        return taken


async def audit(order: AuditOrder, server: PipeClient) -> AuditResult:
    """
    Carry out an order.

    Raises:
        EvenspreadError: It cannot be.
    """
    asked = PolicySources(
        order.config,
        order.scheduler_config,
        order.feature_gates,
        parse_version(order.version),
        order.allow_locked_gates,
        timedelta(),  # no certificate is made here
    )
    configuration, policy = read_policy(asked)
    question = AuditOptions(policy, configuration.actions, configuration.not_exemptible)
    sweep, gauges = ClusterSweep(server, configuration, question), AuditGauges()
    reports = PolicyReportWriter(server, order.policy_reports) if order.policy_reports else None
    if reports is not None:
        await reports.look()
    async for report in sweep.reports():
        gauges.add(report)
        if reports is not None:
            await reports.write(report)
    if reports is not None:
        await reports.delete_stale()
    problems = [*map(str, sweep.problems), *(reports.problems if reports else ())]
    return AuditResult(
        exposition=expose(gauges.samples()),
        workloads=gauges.workloads,
        pods=gauges.pods,
        findings=gauges.findings,
        problems=tuple(problems[:MOST_PROBLEMS]),
    )


def main() -> int:
    """Take an order and carry it out; returns the exit code."""
    os.nice(LOWEST)
    server = PipeClient(sys.stdin.buffer, sys.stdout.buffer)
    try:
        order = decode_order(server.hear())
        resource.setrlimit(resource.RLIMIT_DATA, (order.memory, order.memory))
        outcome = _outcome(order, server)
        server.tell(outcome)
    except (EOFError, BrokenPipeError):  # the server has gone, and with it who wants to know
        return 1
    return 0


def _outcome(order: AuditOrder, server: PipeClient) -> AuditResult | AuditFailure:
    try:
        return asyncio.run(audit(order, server))
    except EvenspreadError as error:
        return AuditFailure(str(error))
    except MemoryError:
        says = f"a namespace of the cluster needs more than {order.memory >> 20} MiB"
    return AuditFailure(f"{says}: allow more by --audit-memory")


if __name__ == "__main__":
    sys.exit(main())
