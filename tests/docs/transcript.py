"""
Transcripts of a terminal: commands after ``$``, and below each one what it prints.

``...`` stands for anything. A command that serves goes on in the background until the page is at
its end; the ports that it prints are free ones, and stand for those of the page, which leaves out
the lines of its log.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from doctest import ELLIPSIS, OutputChecker
from itertools import groupby
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from tests.docs.markdown import ROOT

SECONDS = 300.0  # for one command; the slowest waits for a rollout

_SERVES = re.compile(r"make run|evenspread serve(?!.*--help)")
_PORTS = {
    "8443": re.compile(r"https://127\.0\.0\.1:(\d+)"),
    "8080": re.compile(r"http://127\.0\.0\.1:(\d+)"),
}
_LOGGED = re.compile(r'\{"time":|\d\d:\d\d:\d\d (?:info|warning|error)')
_NOT_THERE = {".git", ".state", ".venv", "build", "dist"}  # in the copy of a checkout
_matches = OutputChecker().check_output


class Command(NamedTuple):
    """A command, and what it has to print."""

    text: str
    expected: str


def commands(transcript: str) -> Iterator[Command]:
    """
    Split a transcript; a command goes on in the next line after a backslash.

    Raises:
        ValueError: It does not begin with a command.
    """
    joined = transcript.replace("\\\n", "\\\0")
    number = 0
    lines: list[tuple[int, str]] = []
    for line in joined.splitlines():
        number += line.startswith("$ ")
        lines.append((number, line.replace("\0", "\n")))
    for number, group in groupby(lines, key=lambda line: line[0]):
        if not number:
            raise ValueError("a transcript begins with a command, after $ and a blank")
        first, *rest = (line for _, line in group)
        yield Command(first.removeprefix("$ "), "".join(f"{line}\n" for line in rest))


class Shell:
    """
    A shell in a copy of the checkout, where commands may leave what they like.

    Attributes:
        log: What servers have written besides what pages show.
    """

    def __init__(
        self, folder: Path, path: str = "", variables: Mapping[str, str] | None = None
    ) -> None:
        """
        Make the copy of links in ``folder``.

        Args:
            folder: It is made in here.
            path: A folder of programs that are found first.
            variables: Of the environment, besides what every shell has.
        """
        self._folder = folder / "evenspread"
        self._folder.mkdir()
        for source in ROOT.iterdir():
            if source.name not in _NOT_THERE:
                (self._folder / source.name).symlink_to(source)
        self._pretend_to_be_set_up()
        self._environment = {
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "PATH": ":".join([*filter(None, [path]), f"{sys.prefix}/bin", os.environ["PATH"]]),
            "EVENSPREAD_PORT": "0",
            "EVENSPREAD_HEALTH_PORT": "0",
            "PIP_DRY_RUN": "1",  # whatever make thinks, nothing is installed out of the copy
            **(variables or {}),
        }
        self._ports: dict[str, str] = {}
        self._servers: list[subprocess.Popen[str]] = []
        self.log = ""

    def _pretend_to_be_set_up(self) -> None:
        """Lend the copy the programs of this environment, with stamps that are newer than all."""
        environment = self._folder / ".venv"
        environment.mkdir()
        (environment / "bin").symlink_to(Path(sys.prefix, "bin"))
        for stamp in (".installed", ".setup"):
            (environment / stamp).touch()

    def run(self, command: Command) -> str:
        """Run a command; give what it prints, with the ports of the page."""
        output = self._serve(command) if _SERVES.match(command.text) else self._ask(command.text)
        return self._as_documented(output)

    def _as_documented(self, output: str) -> str:
        for documented, actual in self._ports.items():
            output = output.replace(f"127.0.0.1:{actual}", f"127.0.0.1:{documented}")
        return output

    def stop(self) -> None:
        """Interrupt the servers, as with Ctrl-C."""
        for server in self._servers:
            os.killpg(server.pid, signal.SIGINT)
            rest, _ = server.communicate(timeout=SECONDS)
            self.log += rest
        self._servers.clear()

    def _ask(self, text: str) -> str:
        for documented, actual in self._ports.items():
            text = text.replace(f"127.0.0.1:{documented}", f"127.0.0.1:{actual}")
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
            text=True,
        )
        return done.stdout

    def _serve(self, command: Command) -> str:
        """Start a server and wait for the last line that the page shows."""
        self.stop()
        server = subprocess.Popen(
            ["bash", "-c", command.text],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        self._servers.append(server)
        assert server.stdout is not None
        last = command.expected.splitlines()[-1]
        lines: list[str] = []
        with _patience(server):
            for line in server.stdout:
                if _LOGGED.match(line):
                    self.log += line
                    continue
                lines.append(line)
                self._learn(line)
                if _matches(f"{last}\n", self._as_documented(line), ELLIPSIS):
                    break
        return "".join(lines)

    def _learn(self, line: str) -> None:
        for documented, pattern in _PORTS.items():
            if found := pattern.search(line):
                self._ports[documented] = found[1]


@contextmanager
def _patience(server: subprocess.Popen[str]) -> Generator[None]:
    """End a server whose expected output does not come, so that no test waits for it."""
    timer = Timer(SECONDS, server.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def differs(command: Command, output: str) -> bool:
    """Whether a command printed something else than the page shows."""
    return not _matches(command.expected, output, ELLIPSIS)
