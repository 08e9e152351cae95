"""
The memory of a command: what is not searched for garbage, and what is never freed.

``pause_garbage_collection`` is for the work of a command, ``keep_until_end`` for what it has read.
"""

import gc
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

_kept: list[object] = []


@contextmanager
def pause_garbage_collection() -> Generator[None]:
    """
    Disable the cyclic garbage collector in the context; reference counting still frees objects.

    A command keeps everything it reads, such as 20 000 pods, until it ends. Repeated collections
    take a tenth of the time of an audit and a fifth of that of ``explain``, and free nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def keep_until_end(*objects: object) -> None:
    """
    Keep objects until the process ends, which frees all its memory at once.

    To free those of 150 000 pods one by one, after a search for garbage among them, takes a tenth
    of the time of an audit.
    """
    gc.freeze()
    _kept.extend(objects)


def release_kept() -> None:
    """Release what is kept, in a process that goes on."""
    _kept.clear()
    gc.unfreeze()


def end_process(code: int, exit_now: Callable[[int], object] = os._exit) -> None:
    """
    Prepare the end of the process; end it at once if it keeps objects.

    Args:
        code: The exit code.
        exit_now: Ends the process without freeing anything. Standard output is flushed already.
    """
    gc.freeze()  # else all that the process has created would be searched for garbage
    if _kept:
        sys.stderr.flush()
        exit_now(code)
