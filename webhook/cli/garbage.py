"""The cyclic garbage collector during a command: ``pause_garbage_collection``."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


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
