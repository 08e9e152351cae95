"""Processes of the command, and lines of a shell that start some."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
EVENSPREAD = (sys.executable, "-m", "webhook")


def spawn(folder: Path, *args: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [*EVENSPREAD, *args],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Send SIGINT until the process ends: one that precedes a read by microseconds waits for it."""
    for _ in range(12):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=15)
            return


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=environment, capture_output=True, check=False
    )
