"""Fixtures for commands: each runs in an empty folder, without variables of evenspread."""

import asyncio
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
import pytest

from tests.apiserver import ApiServer, listening, write_kubeconfig
from tests.cli import files
from tests.cli.shop import NODES, PODS, WEB
from webhook.__main__ import main

PATIENCE_S = 60.0  # for what takes milliseconds

T = TypeVar("T")


class Ran(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def documents(self) -> list[Any]:
        """The lines of its output, decoded from JSON."""
        return [msgspec.json.decode(line) for line in self.out.splitlines()]


class Screen(io.StringIO):
    """A stream that counts as a terminal."""

    def isatty(self) -> bool:
        return True


Run: TypeAlias = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith("EVENSPREAD_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def configured(folder: Path) -> Path:
    """A folder with config.yaml."""
    (folder / "config.yaml").write_text(files.CONFIG)
    return folder


@pytest.fixture
def shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with shop.yaml, a cluster of three zones, the emptiest of which is cordoned."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "shop.yaml").write_text(f"{NODES}{WEB}{PODS}")
    return folder


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*args: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(args)
        return Ran(code, *capsys.readouterr())

    return run


@contextmanager
def in_background(context: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Enter a context in the event loop of another thread, since commands block."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(PATIENCE_S)
    finally:
        leaving = asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop)
        leaving.result(PATIENCE_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()


@pytest.fixture
def api(folder: Path) -> Iterator[ApiServer]:
    """An API server without objects; the file ``kubeconfig`` in the folder names it."""
    with in_background(listening()) as server:
        write_kubeconfig(folder, server.url)
        yield server
