"""
Exit codes, and the exit code of each error.

Entry points: ``outcome`` for a command that ran to its end, ``report`` for an error that ended it.
Scripts distinguish findings from failures, so no code has two meanings.
"""

import errno
import os
import traceback
from contextlib import suppress
from enum import IntEnum
from io import StringIO
from pathlib import Path

import click

from certs.errors import CertError, StoreError
from webhook.errors import CombinedConfigError, ConfigError, EvenspreadError, SourceError
from webhook.policy.escape import printable, printable_lines

DEBUG_VARIABLE = "EVENSPREAD_DEBUG"  # if set and not empty, an unexpected error shows its traceback


class ExitCode(IntEnum):
    """Exit code of the process."""

    FINE = 0
    FINDINGS = 1
    """Findings at or above ``--fail-on``."""
    USAGE = 2
    """Invalid usage or configuration."""
    UNFINISHED = 3
    """The cluster is unreachable, or the work is incomplete; takes precedence over findings."""
    INTERRUPTED = 130
    """Ctrl-C; 128 + SIGINT, the convention of shells."""
    OUTPUT_CLOSED = 141
    """The reader closed our output, as ``| head`` does; 128 + SIGPIPE."""


class ClosedOutputError(BrokenPipeError):
    """The reader closed our output."""


def outcome(*, findings: bool, unfinished: bool) -> ExitCode:
    """The exit code of a command that ran to its end."""
    if unfinished:
        return ExitCode.UNFINISHED
    return ExitCode.FINDINGS if findings else ExitCode.FINE


def report(error: BaseException) -> ExitCode:
    """Write the error that ended a command to stderr, if it can be, and return the exit code."""
    code = next((code for fault, code in _CODES if isinstance(error, fault)), None)
    with suppress(OSError):
        _write_end(error, code)
    return ExitCode.UNFINISHED if code is None else code


def _write_end(error: BaseException, code: ExitCode | None) -> None:
    """Write the error that ended a command; one without an exit code is of the output, or a bug."""
    if code is None and isinstance(error, OSError) and error.errno in _FULL:
        _write_error(f"the output cannot be written: {os.strerror(error.errno)}")
    elif code is None and isinstance(error, FileNotFoundError) and not _has_working_directory():
        _write_error("the working directory does not exist any more: change to another one")
    elif code is None:
        _report_bug(error)
    elif isinstance(error, click.ClickException):
        _show_usage_error(error)
    elif code in (ExitCode.USAGE, ExitCode.UNFINISHED):
        _write_error(error)


def _has_working_directory() -> bool:
    """Whether the working directory exists, which another process may have deleted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (click.ClickException, ExitCode.USAGE),
    (ConfigError, ExitCode.USAGE),
    (SourceError, ExitCode.UNFINISHED),
    (StoreError, ExitCode.UNFINISHED),
    (CertError, ExitCode.USAGE),  # all others are errors of the operator
    (EvenspreadError, ExitCode.UNFINISHED),  # errors of the machine
    (click.Abort, ExitCode.INTERRUPTED),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (BrokenPipeError, ExitCode.OUTPUT_CLOSED),
)
"""The first matching class applies; an error without a match is a bug."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EAGAIN}
"""Errors of a full, failing or closed stdout; named files have messages of their own."""


def _show_usage_error(error: click.ClickException) -> None:
    """Write click's usage, hint and message, which may quote an argument; or a help as it is."""
    screen, message = StringIO(), error.format_message()
    error.show(screen)
    usage, heading, _ = screen.getvalue().partition("Error: ")
    click.echo(f"{usage}{heading}{printable(message)}" if heading else message, err=True)


def _write_error(error: BaseException | str) -> None:
    """Write a line for each error."""
    if isinstance(error, CombinedConfigError):
        for part in error.errors:
            _write_error(part)
    else:
        click.echo(f"error: {printable(str(error))}", err=True)


def _report_bug(error: BaseException) -> None:
    """Request a bug report; omit the text of the error, which may contain input."""
    if os.environ.get(DEBUG_VARIABLE):
        click.echo(printable_lines("".join(traceback.format_exception(error))), err=True)
        return
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    _write_error(
        f"this is a bug of evenspread ({type(error).__name__}{at}): set {DEBUG_VARIABLE}=1, run it "
        "again, and report what it prints"
    )
