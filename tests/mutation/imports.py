"""
Which modules a trial imports again: those that import the mutated module, at any remove.

``list_importers`` is the entry point. All other modules stay as they are, which saves half of the
time of a trial.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

OUR_PACKAGES = frozenset({"webhook", "certs", "tests"})


def list_importers(module: str) -> set[str]:
    """List the imported modules of this project that import a module, and that module itself."""
    imports = _imports()
    found, pending = set[str](), {module}
    while pending:
        found |= pending
        pending = {name for name, names in imports.items() if names & pending} - found
    return found


def forget(modules: Iterable[str]) -> None:
    """Remove modules, so that the next import of each executes it."""
    for name in modules:
        sys.modules.pop(name, None)
        package, _, member = name.rpartition(".")
        if hasattr(sys.modules.get(package), member):  # found by `from package import member`
            delattr(sys.modules[package], member)


@cache
def _imports() -> dict[str, frozenset[str]]:
    """Read which modules each module imports, packages above them included."""
    return {
        name: frozenset(_names_in(Path(file)))
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in OUR_PACKAGES and (file := getattr(module, "__file__", None))
    }


def _names_in(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from _with_parents(alias.name)
            case ast.ImportFrom(module=str() as module, names=names):
                yield from _with_parents(module)
                yield from (f"{module}.{alias.name}" for alias in names)
            case _:
                continue


def _with_parents(name: str) -> Iterator[str]:
    """A module is imported after the packages that contain it."""
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))
