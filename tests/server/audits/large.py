"""
What an audit of a large cluster costs: ``python -m tests.server.audits.large [PODS]`` prints it.

The audit process is the real one. Here it is answered page by page, with the objects of the
benchmarks' cluster, each made as long as those that API servers send. Not a test: the figures are
those of the machine.
"""

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench.fleet import Fleet, Size
from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response, read
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.server.audits.messages import AuditOrder, AuditResult
from webhook.server.audits.subprocess import AuditProcess
from webhook.server.reload import PolicySources

MIB = 2**20
MEMORY = 512 * MIB  # more than is needed, so that it is seen what is

LENGTHS = {"pods": 7000, "nodes": 12_000, "deployments": 6000, "replicasets": 6000}
"""Bytes of objects with managedFields, environment, probes and status."""

OTHERS = 3000  # bytes

WHOLE = Size()


class Paged:
    """An API server that answers in pages."""

    name = "the API server"

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._lists: dict[str, list[bytes]] = {}
        self.requests = self.bytes = self.resident = self.data = 0

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        del content_type
        assert (method, body) == ("GET", b"")
        self._look_at_child()
        if path == "/apis":
            return Response(200, b'{"groups": []}')
        items = await self._items(path)
        start = int(query.get("continue", "0"))
        end = start + int(query["limit"])
        metadata = {"resourceVersion": "1", "continue": str(end) if end < len(items) else ""}
        length = LENGTHS.get(path.rpartition("/")[2], OTHERS)
        page = b",".join(each.ljust(length) for each in items[start:end])
        answer = b'{"metadata":%s,"items":[%s]}' % (json.dumps(metadata).encode(), page)
        self.requests += 1
        self.bytes += len(answer)
        return Response(200, answer)

    def _look_at_child(self) -> None:
        """Note the most memory that the process has had; ru_maxrss counts what it was forked of."""
        me = os.getpid()
        (child,) = Path(f"/proc/{me}/task/{me}/children").read_text().split()
        status = Path(f"/proc/{child}/status").read_text()
        lines = dict(line.split(":", 1) for line in status.splitlines())
        self.resident = max(self.resident, int(lines["VmHWM"].split()[0]) * 1024)
        self.data = max(self.data, int(lines["VmData"].split()[0]) * 1024)

    async def _items(self, path: str) -> list[bytes]:
        if path not in self._lists:
            made: list[Any] = json.loads(await read(self._fleet, path))["items"]
            made.sort(key=_position)
            self._lists[path] = [json.dumps(each, separators=(",", ":")).encode() for each in made]
        return self._lists[path]


def _position(made: Any) -> tuple[str, str]:
    metadata = made["metadata"]
    return f"{metadata.get('namespace', '')}/", metadata["name"]


async def measure(pods: int) -> None:
    share = pods / WHOLE.pods
    size = Size(max(3, int(WHOLE.nodes * share)), pods, max(10, int(WHOLE.workloads * share)))
    server = Paged(Fleet(size))
    order = AuditOrder(
        sources=PolicySources(version=NEWEST_VERSION),
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
    print(f"  {server.requests} requests, {server.bytes / MIB:.0f} MiB; {done.findings} findings")
    print(f"  {len(done.exposition) / MIB:.2f} MiB of metrics")


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else WHOLE.pods))
