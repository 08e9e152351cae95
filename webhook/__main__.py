"""The command ``evenspread``, also installed as ``kubectl-evenspread``."""

import codecs
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from webhook.cli.exits import ClosedOutputError, ExitCode, report
from webhook.cli.program import program

READABLE = "evenspread.readable"
"""What is done with letters that an encoding lacks, among the error handlers of ``codecs``."""

_BLOCKS = frozenset(map(chr, range(0x2580, 0x25A0)))
"""Block Elements, of which bars are made. Source: the Unicode Standard, its block of this name."""

PLUGIN_PREFIX = "kubectl-"  # kubectl runs `kubectl evenspread` as `kubectl-evenspread`


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run a command.

    Args:
        argv: Its arguments, without the program's name; those of the process if None.

    Returns:
        The exit code. Nothing is raised.
    """
    _open_what_is_closed()
    _write_any_text()
    try:
        code = program.main(args=argv, prog_name=_name(), standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as end:  # click's, in any mode, once a shell has its completions
        code = end.code
    except BaseException as error:  # noqa: BLE001 - the last place where anything can be told
        code = report(error)
        if isinstance(error, OSError | ClosedOutputError):
            _let_go_of_stdout()
    return int(code or ExitCode.FINE)


def _open_what_is_closed() -> None:
    """Lead streams that the caller has closed to nowhere, before a file takes their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _write_any_text() -> None:
    """Write escapes where the terminal's encoding has no such character, and # for bars."""
    codecs.register_error(READABLE, _readable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=READABLE)


def _readable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "nothing is read with it"
    letters = error.object[error.start : error.end]
    return "".join(map(_in_ascii, letters)), error.end


def _in_ascii(letter: str) -> str:
    return "#" if letter in _BLOCKS else letter.encode("ascii", "backslashreplace").decode()


def _name() -> str:
    called = Path(sys.argv[0]).name
    return "kubectl evenspread" if called.startswith(PLUGIN_PREFIX) else "evenspread"


def _let_go_of_stdout() -> None:
    """Lead what is still buffered to nowhere, or the interpreter complains when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
