"""No program outlives the test that started it. /bin/sleep stands for a component here."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.processes import PORTS, Process, ProcessError, free_port
from tests.controlplane.waiting import until

SLEEP = ("/bin/sleep", "60")

ENDS_WITHOUT_STOPPING = """
import sys
from pathlib import Path
from tests.controlplane.processes import Process

process = Process("sleep", ("/bin/sleep", "60"), log=Path(sys.argv[1]))
process.start()
print(process.pid, flush=True)
{ending}
"""

ENDINGS = {
    "the interpreter ends": "",
    "an exception ends it": "raise SystemExit(3)",
    "SIGKILL ends it": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "it ends without exit handlers": "import os; os._exit(0)",
}


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Process]:
    process = Process("sleep", SLEEP, log=tmp_path / "sleep.log")
    yield process
    process.kill()


def runs(pid: int) -> bool:
    """False as well for one that has ended, and waits to be reaped by an init of its own pace."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS.keys())
def test_a_process_ends_with_the_one_that_started_it(ending: str, tmp_path: Path) -> None:
    script = ENDS_WITHOUT_STOPPING.format(ending=ending)

    starter = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "sleep.log")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        check=False,
    )

    pid = int(starter.stdout)
    until(lambda: not runs(pid), f"process {pid} to be gone")


def test_kill_waits_until_it_is_gone(sleeper: Process) -> None:
    sleeper.start()
    pid = sleeper.pid

    sleeper.kill()

    assert not sleeper.alive
    assert not runs(pid)


def test_a_killed_process_can_be_started_again(sleeper: Process) -> None:
    sleeper.start()
    first = sleeper.pid
    sleeper.kill()

    sleeper.start()

    assert sleeper.alive
    assert sleeper.pid != first


def test_a_paused_process_is_stopped_and_goes_on(sleeper: Process) -> None:
    sleeper.start()
    status = Path(f"/proc/{sleeper.pid}/status")

    sleeper.pause()
    until(lambda: "(stopped)" in status.read_text(), "it to stop")
    sleeper.resume()

    until(lambda: "(stopped)" not in status.read_text(), "it to go on")


def test_one_that_ends_by_itself_is_reported_with_its_log(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", "echo the port is taken; exit 1")
    process = Process("server", command, log=tmp_path / "server.log")
    process.start()

    with pytest.raises(ProcessError, match=r"server ended by itself[^$]*the port is taken"):
        process.wait_until(lambda: False)


def test_one_that_does_not_get_ready_is_reported_in_time(sleeper: Process) -> None:
    sleeper.start()

    with pytest.raises(ProcessError, match="sleep to be ready"):
        sleeper.wait_until(lambda: False, patience_s=0)


def test_ports_are_none_that_an_outgoing_connection_takes() -> None:
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])

    given = {free_port() for _ in range(200)}

    assert len(given) == 200
    assert given < {*PORTS}
    assert PORTS.stop <= low


def test_a_port_that_nobody_listens_on_yet_is_given_to_no_other_process() -> None:
    port = free_port()
    program = (
        "from tests.controlplane import processes\n"
        f"processes.PORTS = range({port}, {port + 1})\n"
        "processes.free_port()"
    )

    command = (sys.executable, "-c", program)
    other = subprocess.run(command, check=False, capture_output=True, text=True)

    assert f"no free port from {port} to {port}" in other.stderr
