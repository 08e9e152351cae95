"""
Run the tests of a module on one of its mutants.

``run`` is the entry point. A process that has imported the test tools and all tests forks for each
mutant. The child imports the mutant under the name of the module, and what imports that module
anew, and runs its tests. So a mutant costs half a second, and no file is changed.
"""

import gc
import importlib
import importlib.util
import os
import resource
import signal
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple, NoReturn

import pytest

from tests.mutation.imports import forget, list_importers

MOST_BYTES = 4 * 2**30
"""Address space of a child: a mutant that allocates without end must not take the machine."""

_CONFTESTS = ("tests.conftest", "tests.controlplane.fixtures", "tests.deploy.fixtures")
_QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # for plugins that are warm

_SURVIVED, _KILLED, _NO_TESTS = 0, 1, 2


class Outcome(StrEnum):
    """Result of a trial."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


class Trial(NamedTuple):
    """
    What to run.

    Attributes:
        module: Dotted name.
        path: Of its source, from the root of the repository.
        tests: Its mirrored test file, and those that continue it.
        cpu_s: Seconds of CPU time after which a mutant counts as killed.
    """

    module: str
    path: Path
    tests: tuple[Path, ...]
    cpu_s: int


class TrialError(Exception):
    """The tests cannot run, whatever the mutant."""


def warm_up(tests: Iterable[Path]) -> None:
    """Import what the tests of all modules need."""
    os.environ["HYPOTHESIS_PROFILE"] = "thorough"
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    for name in _CONFTESTS:
        importlib.import_module(name)
    for path in tests:
        importlib.import_module(".".join(path.with_suffix("").parts))
    gc.freeze()  # a collection in a child would copy all memory of its parent


def run(trial: Trial, text: bytes) -> Outcome:
    """
    Run the tests of a module whose source is ``text``.

    Raises:
        TrialError: There are no tests.
    """
    child = os.fork()
    if child == 0:
        _run_in_child(trial, text)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        is_slow = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM)
        return Outcome.TIMED_OUT if is_slow else Outcome.KILLED
    code = os.WEXITSTATUS(status)
    if code == _NO_TESTS:
        raise TrialError(f"{trial.tests[0]} has no tests that run without the control plane")
    return Outcome.SURVIVED if code == _SURVIVED else Outcome.KILLED


def _run_in_child(trial: Trial, text: bytes) -> NoReturn:
    code = _KILLED
    try:
        _limit(trial.cpu_s)
        sys.meta_path.insert(0, _MutantFinder(trial, text))
        forget(list_importers(trial.module))
        code = _exit_code(_run_tests(trial.tests))
    finally:
        os._exit(code)


def _limit(cpu_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.alarm(20 * cpu_s + 60)  # for a mutant that waits; a busy machine gives little CPU time
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)


def _run_tests(tests: Sequence[Path]) -> int:
    options = ["-x", "-q", "--no-header", "--tb=native", "-p", "no:cacheprovider", *_QUIET]
    return pytest.main([*options, "-m", "not integration", *map(str, tests)])


def _exit_code(code: int) -> int:
    match code:
        case pytest.ExitCode.OK:
            return _SURVIVED
        case pytest.ExitCode.NO_TESTS_COLLECTED:
            return _NO_TESTS
        case _:
            return _KILLED


class _MutantFinder(MetaPathFinder):
    """Finds one module: the mutant."""

    def __init__(self, trial: Trial, text: bytes) -> None:
        self._trial = trial
        self._text = text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the mutant; None for every other module."""
        if fullname != self._trial.module:
            return None
        loader = _MutantLoader(fullname, str(self._trial.path), self._text)
        return importlib.util.spec_from_file_location(fullname, self._trial.path, loader=loader)


class _MutantLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, text: bytes) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType | None:
        """Compile the mutant; its bytecode is never stored."""
        code: Any = compile(self._text, self.path, "exec", dont_inherit=True)
        return code if isinstance(code, CodeType) else None
