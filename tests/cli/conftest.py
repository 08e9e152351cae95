"""Fixtures for commands: each runs in an empty folder, without variables of evenspread."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pytest

from webhook.__main__ import main


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
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*args: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(args)
        return Ran(code, *capsys.readouterr())

    return run
