"""
What an audit of a large cluster costs: ``python -m tests.server.audits.large [PODS]`` prints it.

The audit process is the real one. It lists the objects of the cluster of the benchmarks, which are
as long as those of real clusters. This is no test, because the figures depend on the machine.
"""

import asyncio
import json
import os
import resource
import sys
import time
from functools import cache
from pathlib import Path

from tests.apiserver import ApiServer, Json
from tests.bench.fleet import Size, build_objects
from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.server.audits.messages import AuditOrder, AuditResult
from webhook.server.audits.subprocess import AuditProcess
from webhook.server.reload import PolicySources

MIB = 2**20
MEMORY = 512 * MIB  # more than the process needs, to measure what it needs

LENGTHS = {"Pod": 7000, "Node": 12_000, "Deployment": 6000, "ReplicaSet": 6000}
"""Bytes of objects with managedFields, environment, probes and status."""

OTHERS = 3000  # bytes

WHOLE = Size()


class MeasuringServer(ApiServer):
    """
    An API server that measures the audit process at each request.

    Attributes:
        bytes: Bytes of all responses.
        resident: Most memory of the process.
        data: Most private memory of the process.
    """

    def __init__(self, size: Size) -> None:
        super().__init__(*map(lengthen, build_objects(size)))
        self.bytes = self.resident = self.data = 0

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        self._look_at_child()
        response = await super().send(method, path, query, body, content_type)
        self.bytes += len(response.body)
        return response

    def _look_at_child(self) -> None:
        """Read the peak from /proc: ru_maxrss includes the memory of the parent before exec."""
        me = os.getpid()
        (child,) = Path(f"/proc/{me}/task/{me}/children").read_text().split()
        status = Path(f"/proc/{child}/status").read_text()
        lines = dict(line.split(":", 1) for line in status.splitlines())
        self.resident = max(self.resident, int(lines["VmHWM"].split()[0]) * 1024)
        self.data = max(self.data, int(lines["VmData"].split()[0]) * 1024)


def lengthen(obj: Json) -> Json:
    """Give an object the length of those in large clusters, by its managedFields."""
    missing = LENGTHS.get(obj["kind"], OTHERS) - len(json.dumps(obj))
    obj["metadata"]["managedFields"] = [{"manager": text_of(max(0, missing))}]
    return obj


@cache
def text_of(length: int) -> str:
    """Build a text, which objects of the same length share."""
    return "x" * length


async def measure(pods: int) -> None:
    share = pods / WHOLE.pods
    size = Size(max(3, int(WHOLE.nodes * share)), pods, max(10, int(WHOLE.workloads * share)))
    server = MeasuringServer(size)
    order = AuditOrder(
        sources=PolicySources(version=NEWEST_VERSION),
        profiles=(),
        policy_reports="",
        memory=MEMORY,
    )
    begun, before = time.perf_counter(), time.process_time()
    done = await AuditProcess(server, 600).run(order)
    took, ours = time.perf_counter() - begun, time.process_time() - before
    assert isinstance(done, AuditResult), done
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{size.nodes} nodes, {done.workloads} workloads, {done.pods} pods")
    child = used.ru_utime + used.ru_stime
    print(f"  took {took:.1f} s, and of CPU {child:.1f} s there, {ours:.1f} s here")
    print(f"  at most {server.resident / MIB:.0f} MiB, {server.data / MIB:.0f} of them data")
    print(
        f"  {len(server.requests)} requests, {server.bytes / MIB:.0f} MiB; {done.findings} findings"
    )
    print(f"  {len(done.exposition) / MIB:.2f} MiB of metrics")


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else WHOLE.pods))
