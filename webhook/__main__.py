"""The command ``evenspread``, also installed as ``kubectl-evenspread``."""

import codecs
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from webhook.cli.exits import ClosedOutputError, ExitCode, report
from webhook.cli.garbage import end_process, release_kept
from webhook.cli.program import program

ESCAPE_ERRORS = "evenspread.readable"
"""The name of our error handler in ``codecs``, for characters that an encoding lacks."""

_BLOCKS = frozenset(map(chr, range(0x2580, 0x25A0)))
"""Block Elements, the characters of bars. Source: Unicode Standard, block "Block Elements"."""

_STREAMS = (
    ("stdin", "r", os.O_WRONLY),
    ("stdout", "w", os.O_RDONLY),
    ("stderr", "w", os.O_WRONLY),
)
"""The standard streams, and how they are opened on /dev/null."""

PLUGIN_PREFIX = "kubectl-"  # kubectl runs `kubectl evenspread` as `kubectl-evenspread`


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run a command; it raises nothing.

    Args:
        argv: Arguments without the program's name; None for those of the process.

    Returns:
        The exit code.
    """
    _reopen_closed_streams()
    if argv is None:
        _buffer_stdout()
    _escape_unencodable()
    try:
        code = program.main(args=argv, prog_name=_name(), standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as end:  # click raises it after shell completion, in any mode
        code = end.code
    except BaseException as error:  # noqa: BLE001 - the last place to report an error
        code = report(error)
        if isinstance(error, OSError | ClosedOutputError):
            _discard_stdout()
    code = int(code or ExitCode.FINE)
    _flush_stderr()
    if argv is None:
        end_process(code)
    else:
        release_kept()
    return code


def _reopen_closed_streams() -> None:
    """
    Reopen closed standard streams on /dev/null, before a file gets their descriptors.

    Reading a closed stdin stays an error, because nothing was checked, and so does writing to a
    closed stdout, because the output is lost.
    """
    for name, mode, flags in _STREAMS:
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))


def _buffer_stdout() -> None:
    """
    Give stdout the buffer that PYTHONUNBUFFERED takes away.

    Without one, Python takes a write that the system makes in part for a whole one: a long report
    would be cut off where a disk is full, without an error.
    """
    stdout = sys.stdout
    if isinstance(getattr(stdout, "buffer", None), io.FileIO):
        sys.stdout = open(  # noqa: SIM115  # as long as the process
            stdout.fileno(), "w", encoding=stdout.encoding, errors=stdout.errors, closefd=False
        )


def _escape_unencodable() -> None:
    """Write escapes for characters that the terminal's encoding lacks, and # for bars."""
    codecs.register_error(ESCAPE_ERRORS, _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ESCAPE_ERRORS)


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "the handler is for output only"
    characters = error.object[error.start : error.end]
    return "".join(map(_to_ascii, characters)), error.end


def _to_ascii(character: str) -> str:
    return "#" if character in _BLOCKS else character.encode("ascii", "backslashreplace").decode()


def _name() -> str:
    program_file = Path(sys.argv[0]).name
    return "kubectl evenspread" if program_file.startswith(PLUGIN_PREFIX) else "evenspread"


def _flush_stderr() -> None:
    """Flush stderr; if it cannot be written, discard it, else the interpreter exits with 120."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _discard_stdout() -> None:
    """Write buffered output to /dev/null, else the interpreter reports an error when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
