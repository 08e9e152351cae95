"""Reading what the kernel counts."""

import os
import signal
import subprocess
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.bench import cpu
from tests.bench.cpu import Spent


def write(proc: Path, name: str, text: str) -> None:
    file = proc / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_schedstat_is_in_nanoseconds() -> None:
    spent = cpu.read_schedstat("2835451244 1192115584 1663\n")

    assert spent == pytest.approx((2.835451244, 1.192115584))


def test_all_threads_of_a_process_count(tmp_path: Path) -> None:
    write(tmp_path, "7/task/7/schedstat", "2000000000 500000000 3\n")
    write(tmp_path, "7/task/8/schedstat", "1000000000 250000000 1\n")
    write(tmp_path, "70/task/70/schedstat", "9000000000 9000000000 1\n")

    assert cpu.spent(7, tmp_path) == pytest.approx((3.0, 0.75))


def test_a_process_that_has_ended_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ProcessLookupError, match="process 7 has no schedstat"):
        cpu.spent(7, tmp_path)


def test_what_came_since() -> None:
    assert Spent(3.0, 1.5).since(Spent(1.0, 1.0)) == Spent(2.0, 0.5)


def test_memory_is_read_in_mib(tmp_path: Path) -> None:
    write(tmp_path, "7/status", "Name:\tx\nVmHWM:\t  99999 kB\nVmRSS:\t   65536 kB\nThreads:\t1\n")

    assert cpu.resident_mib(7, tmp_path) == 64.0


def test_a_process_without_memory_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "7/status", "Name:\tx\nState:\tZ (zombie)\n")

    with pytest.raises(ProcessLookupError, match="process 7"):
        cpu.resident_mib(7, tmp_path)


def test_this_process_can_be_read() -> None:
    before = cpu.spent(os.getpid())
    signal.setitimer(signal.ITIMER_PROF, 0)  # any call to the kernel

    assert cpu.spent(os.getpid()).running >= before.running > 0
    assert cpu.resident_mib(os.getpid()) > 1


def test_server_and_load_get_different_cores() -> None:
    assert cpu.choose_cores({3, 1, 2}) == (1, 3)


def test_one_core_is_not_enough() -> None:
    with pytest.raises(ValueError, match="needs two cores"):
        cpu.choose_cores({0})


def test_what_yields_does_so_as_long_as_the_context_lasts_with_all_its_threads() -> None:
    done = Event()
    thread = Thread(target=done.wait)
    thread.start()
    tasks = [os.getpid(), thread.native_id or 0]

    with cpu.yielding([os.getpid()]):
        during = [os.sched_getscheduler(task) for task in tasks]
    after = [os.sched_getscheduler(task) for task in tasks]
    done.set()
    thread.join()

    assert during == [os.SCHED_IDLE] * 2
    assert after == [os.SCHED_OTHER] * 2


@pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="this kernel has no autogroups"
)
def test_what_yields_leaves_its_core_to_other_sessions() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        weight = Path(f"/proc/{other.pid}/autogroup")
        with cpu.yielding([other.pid]):
            during = weight.read_text()
        after = weight.read_text()
        other.kill()

    assert during.endswith("nice 19\n")
    assert after.endswith("nice 0\n")
