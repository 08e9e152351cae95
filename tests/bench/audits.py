"""
What an audit of a large cluster takes, and what it takes to place one pod there.

The audit is a process, measured from its start to its end by what the kernel reports of it when it
ends. It is compared with a process that reads and decodes the same snapshot by the same decoder,
collects no garbage either, and ends. A pod is placed with nothing remembered: the pods of its
namespace are counted anew, and so are the domains of all nodes.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.bench import fleet
from tests.bench.cpu import KIB_A_MIB
from webhook.audit.inventory import Inventory
from webhook.audit.snapshot import load_snapshot
from webhook.audit.snapshotpods import SnapshotPod
from webhook.config.configuration import Configuration
from webhook.config.gates import gates_in_force
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gates
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.model import Node
from webhook.policy.placement import place
from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.run import filter_nodes
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.placement.topology import Topology

DECODE = (
    "import gc, sys; gc.disable(); "
    "from webhook.audit.snapshot import load_snapshot; load_snapshot(sys.argv[1])"
)

LAUNCH = """\
import os, sys
null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[null])
_, status, used = os.wait4(pid, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""
Starts a command from a small process: one that is started from a large one counts as large.

Source: Linux fs/exec.c ``exec_mmap``, which keeps the peak of the memory that was left.
"""

ASKING_MOST = "checkout-service-45"
"""A workload whose pods have two constraints and ask for one pool; beside it are DaemonSets."""


class Used(NamedTuple):
    """What a process had used when it ended: CPU seconds, and MiB when it was largest."""

    cpu: float
    largest: float


class LargeCluster:
    """The made cluster in a file."""

    def __init__(self, folder: Path, program: Path, size: fleet.Size) -> None:
        """
        Make the cluster and write its snapshot: half a minute for a large one.

        Args:
            folder: For the snapshot.
            program: The evenspread to measure.
            size: Of the cluster.
        """
        self._file = folder / "fleet.json.gz"
        self._program = program
        fleet.write(size, self._file)

    def decode(self) -> Used:
        """Read and decode the snapshot, and nothing else."""
        return used_by(sys.executable, "-c", DECODE, str(self._file))

    def audit(self) -> Used:
        """Audit the snapshot; the output is the table."""
        return used_by(str(self._program), "audit", "--snapshot", str(self._file))

    def placements(self, times: int) -> list[float]:
        """CPU seconds for placing a pod, once and again."""
        configuration = Configuration()
        snapshot = load_snapshot(str(self._file))
        audited = Inventory(snapshot, configuration.owner_selectors)
        subjects = (workload.subject for workload in audited.audited)
        subject = next(
            candidate for candidate in subjects if candidate.metadata.name == ASKING_MOST
        )
        pods = [pod for pod in snapshot.pods if _namespace(pod) == subject.namespace]
        gates = gates_in_force(configuration, NEWEST_VERSION, "", allow_locked=False)
        nodes = audited.state.topology.nodes
        return [place_anew(subject, nodes, pods, gates) for _ in range(times)]


def used_by(*command: str) -> Used:
    """
    Run a command to its end; what it prints is thrown away.

    Raises:
        CalledProcessError: It failed.
    """
    done = subprocess.run(
        (sys.executable, "-c", LAUNCH, *command), check=True, capture_output=True, text=True
    )
    cpu, largest = map(float, done.stdout.split())
    return Used(cpu, largest / KIB_A_MIB)


def place_anew(
    subject: Subject, nodes: tuple[Node, ...], pods: list[SnapshotPod], gates: Gates
) -> float:
    """
    Place the next pod of a workload.

    Args:
        subject: The workload.
        nodes: Of the cluster.
        pods: Of its namespace.
        gates: The gates in force.

    Returns:
        CPU seconds of this thread.
    """
    start = time.thread_time()
    census, topology = Census(), Topology(nodes)
    for pod in pods:
        census.add(subject.namespace, pod.labels, pod.spec.node_name if pod.spec else "")
    incoming = place.incoming_pod(subject.pod, subject.namespace)
    next_pod = FilterPod(incoming.namespace, incoming.labels, incoming.demands)
    spreads = resolve_constraints(subject.constraints, subject.next_labels, gates)
    measured = place.tally_constraints(incoming, spreads, topology, census)
    placed = place.place_pod(
        measured, topology, filter_nodes(next_pod, (), SchedulingCluster(topology))
    )
    took = time.thread_time() - start
    assert placed.passing, "there is room for it"
    return took


def _namespace(pod: SnapshotPod) -> str:
    return pod.metadata.namespace if pod.metadata else ""
