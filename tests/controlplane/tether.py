"""
Becomes the program named by its arguments, and dies with the process that started it.

Run as a script: ``python -I -S tether.py PARENT PROGRAM ARGUMENT...`` with PARENT the starter's
process id. Linux only: the promise is the kernel's (prctl(2), ``PR_SET_PDEATHSIG``), so it holds
also when the starter is killed with SIGKILL and can clean up nothing. A script and not a
``preexec_fn``, because between fork and exec of a process with threads Python code may deadlock.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(arguments: list[str]) -> None:
    """Ask for the signal, then exec; returns only if the parent is gone already."""
    parent, program = int(arguments[0]), arguments[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() == parent:  # else it ended before prctl()
        os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
