"""
Exit codes, and which one each error leads to.

A script must be able to tell findings from failures, so a code never means two things.
"""

import errno
import os
import sys
import traceback
from enum import IntEnum
from pathlib import Path

import click

from certs.errors import CertError, StoreError
from webhook.errors import ConfigError, EvenspreadError, SourceError

DEBUG_VARIABLE = "EVENSPREAD_DEBUG"
"""Set to anything, it makes a bug show its traceback."""


class ExitCode(IntEnum):
    """What the process says when it ends."""

    FINE = 0
    FINDINGS = 1
    """At or above ``--fail-on``."""
    USAGE = 2
    """Wrong usage or configuration."""
    UNFINISHED = 3
    """The cluster could not be reached, or the work could not be finished; wins over findings."""
    INTERRUPTED = 130
    """Ctrl-C; 128 + SIGINT, as shells say it."""
    UNREAD = 141
    """The reader of our output is gone, as with ``| head``; 128 + SIGPIPE."""


class UnreadError(BrokenPipeError):
    """The reader of our output is gone."""


def outcome(*, findings: bool, unfinished: bool) -> ExitCode:
    """The code of a command that came to its end."""
    if unfinished:
        return ExitCode.UNFINISHED
    return ExitCode.FINDINGS if findings else ExitCode.FINE


def report(error: BaseException) -> ExitCode:
    """Tell an error that ended a command in a sentence on stderr, and choose the code."""
    code = next((code for fault, code in _CODES if isinstance(error, fault)), None)
    if code is None and isinstance(error, OSError) and error.errno in _FULL:
        _tell(f"the output cannot be written: {os.strerror(error.errno)}")
        return ExitCode.UNFINISHED
    if code is None:
        return _bug(error)
    if isinstance(error, click.ClickException):
        error.show()
    elif code in (ExitCode.USAGE, ExitCode.UNFINISHED):
        _tell(str(error))
    return code


_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (click.ClickException, ExitCode.USAGE),
    (ConfigError, ExitCode.USAGE),
    (SourceError, ExitCode.UNFINISHED),
    (StoreError, ExitCode.UNFINISHED),
    (CertError, ExitCode.USAGE),  # all others than the one above are the operator's
    (EvenspreadError, ExitCode.UNFINISHED),  # the machine's
    (click.Abort, ExitCode.INTERRUPTED),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (BrokenPipeError, ExitCode.UNREAD),
)
"""The first that fits counts; what none fits is a bug."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Why stdout takes nothing more; files that are named have sentences of their own."""


def _tell(said: str) -> None:
    for line in said.splitlines():
        click.echo(f"error: {line}", err=True)


def _bug(error: BaseException) -> ExitCode:
    """Ask for a report without a text of the error, which may hold a piece of what was read."""
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error, file=sys.stderr)
        return ExitCode.UNFINISHED
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    _tell(
        f"this is a bug of evenspread ({type(error).__name__}{at}): set {DEBUG_VARIABLE}=1, run it "
        "again, and report what it prints"
    )
    return ExitCode.UNFINISHED
