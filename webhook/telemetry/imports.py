"""Which modules a library may not import, though it could use them if they are there."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without(name: str) -> Generator[None]:
    """
    Let a module look as if it were not installed, as long as the context lasts.

    For libraries that import at once what they seldom need, and do without it where it is missing.
    Whoever imports it outside of the context gets it, and whoever has it keeps it.

    Args:
        name: Of a module at the top, as ``rich``.

    Source: Python Language Reference 5.3.1, The module cache: None stands for what is not there.
    """
    modules: dict[str, Any] = sys.modules
    before = modules.get(name)
    modules[name] = None
    try:
        yield
    finally:
        del modules[name]
        if before is not None:
            modules[name] = before
