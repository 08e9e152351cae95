"""
Packages that execute their ``__init__`` only when it is needed: a submodule costs its own imports.

``defer_packages`` is the entry point. Afterwards such a package works as a complete one does: the
first attribute or submodule that is not there yet executes the whole ``__init__``.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any


@contextmanager
def defer_packages(*names: str) -> Generator[None]:
    """
    Import submodules of these packages without the packages, as long as the context lasts.

    A package that is imported already stays as it is. No other thread may import one meanwhile.

    Args:
        names: A parent stands before its children.
    """
    deferred = [_create_empty(name) for name in names if name not in sys.modules]
    try:
        yield
    finally:
        for package in deferred:
            _complete_on_demand(package)


def _create_empty(name: str) -> ModuleType:
    """Create a package that has nothing but its path, where imports of its submodules find it."""
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    package = sys.modules[name] = module_from_spec(spec)
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, package)
    return package


def _complete_on_demand(package: ModuleType) -> None:
    """
    Let the next access to a missing attribute execute a package.

    Its path is removed until then, since Python reads it to import a further submodule, which may
    require the whole package.

    Source: PEP 562 for ``__getattr__``.
    """
    attributes, spec = vars(package), package.__spec__
    assert spec is not None, "as it was created"
    path = attributes.pop("__path__")
    lock = RLock()  # another thread waits until the package is complete

    def complete(name: str) -> Any:
        with lock:
            if "__path__" not in attributes:  # else it is complete, or is being executed
                attributes["__path__"] = path
                assert spec.loader is not None, "only a folder without __init__ has none"
                spec.loader.exec_module(package)
        if name not in attributes:
            raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")
        return attributes[name]

    attributes["__getattr__"] = complete
