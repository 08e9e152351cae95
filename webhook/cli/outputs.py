"""``-o FORMAT[=FILE]`` of commands that write several outputs in one run."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import click

from webhook.errors import ConfigError, SourceError

TABLE = "table"


class Output(NamedTuple):
    """One of the things to write; without a file it goes to the standard output."""

    format: str
    file: str


def outputs(formats: Iterable[str]) -> click.Option:
    """
    ``-o``: what to write; the callback is given a tuple of ``Output``.

    Args:
        formats: What may be written, ``table`` among them.
    """
    known = tuple(formats)

    def parse(
        _ctx: click.Context, _option: click.Parameter, written: tuple[str, ...]
    ) -> tuple[Output, ...]:
        return _parse(written or (TABLE,), known)

    return click.Option(
        ["-o", "--output"],
        multiple=True,
        metavar="FORMAT[=FILE]",
        callback=parse,
        help=f"{', '.join(known)}; table if not given. May be repeated.",
    )


def save(text: str, output: Output) -> None:
    """
    Write an output where it belongs.

    Raises:
        SourceError: Its file cannot be written.
    """
    if not output.file:
        click.echo(text, nl=False)
        return
    try:
        Path(output.file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(output.file, f"cannot be written: {error.strerror or error}") from error


def _parse(written: tuple[str, ...], known: tuple[str, ...]) -> tuple[Output, ...]:
    parsed: list[Output] = []
    for each in written:
        chosen, named, file = each.partition("=")
        if chosen not in known:
            raise ConfigError(f"{chosen!r} is no format: write one of {', '.join(known)}", "-o")
        if named and not file:
            raise ConfigError(f"{each!r} names no file: write {each}FILE", "-o")
        parsed.append(Output(chosen, file))
    if sum(not each.file for each in parsed) > 1:
        raise ConfigError(
            f"only one format fits stdout: write the others as {written[-1]}=FILE", "-o"
        )
    return tuple(parsed)
