"""
Output of the commands: documents and files for programs, messages on stderr for people.

Entry points: ``write_document`` for ``-o json`` and ``-o yaml``; ``targets_option`` and
``write_text`` for commands that write several outputs in one run. Formatted lines and colours
belong to ``terminal``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from webhook.cli.completers import complete_formats
from webhook.errors import ConfigError, SourceError
from webhook.policy.escape import escape_json, printable

if TYPE_CHECKING:
    from webhook.manifests import SkippedSource

MOST_NAMED_FILES = 3  # of those skipped: enough to recognise them, few enough for one line

TABLE = "table"


class OutputFormat(StrEnum):
    """Formats of ``-o`` for commands that write one output."""

    TABLE = "table"
    WIDE = "wide"
    NAME = "name"
    JSON = "json"
    YAML = "yaml"
    HTML = "html"
    MARKDOWN = "markdown"
    SCRIPT = "script"


_DOCUMENTS = (OutputFormat.TABLE, OutputFormat.JSON, OutputFormat.YAML)

OUTPUT_FORMATS: Mapping[str, tuple[OutputFormat, ...]] = MappingProxyType(
    {
        "review": (OutputFormat.TABLE, OutputFormat.NAME, OutputFormat.JSON, OutputFormat.YAML),
        "validate": (
            OutputFormat.TABLE,
            OutputFormat.WIDE,
            OutputFormat.NAME,
            OutputFormat.JSON,
            OutputFormat.YAML,
        ),
        "explain": (
            OutputFormat.TABLE,
            OutputFormat.WIDE,
            OutputFormat.NAME,
            OutputFormat.JSON,
            OutputFormat.YAML,
            OutputFormat.HTML,
        ),
        "fix": (OutputFormat.TABLE, OutputFormat.NAME, OutputFormat.JSON, OutputFormat.YAML),
        "rules": (
            OutputFormat.TABLE,
            OutputFormat.WIDE,
            OutputFormat.NAME,
            OutputFormat.JSON,
            OutputFormat.YAML,
            OutputFormat.MARKDOWN,
        ),
        "config check": _DOCUMENTS,
        "policy diff": (
            OutputFormat.TABLE,
            OutputFormat.NAME,
            OutputFormat.JSON,
            OutputFormat.YAML,
        ),
        "certs": _DOCUMENTS,
        "doctor": _DOCUMENTS,
        "scaledown": _DOCUMENTS,
        "rebalance": (*_DOCUMENTS, OutputFormat.SCRIPT),
        "export": (OutputFormat.YAML, OutputFormat.JSON),
    }
)
"""Command -> its formats, the default first; ``audit`` and ``test`` write several outputs."""


EXPORT_FORMS = ("map", "vap", "static", "scheduler")
"""The forms of ``evenspread export``."""


@dataclass(frozen=True)
class OutputTarget:
    """One output of a run; an empty ``file`` is the standard output."""

    format: str
    file: str


def targets_option(formats: Iterable[str]) -> click.Option:
    """Create ``-o FORMAT[=FILE]``, by default ``table``; its value is a tuple of OutputTarget."""
    known = tuple(formats)

    def parse(
        _ctx: click.Context, _option: click.Parameter, written: tuple[str, ...]
    ) -> tuple[OutputTarget, ...]:
        targets = tuple(_parse_target(text, known) for text in written or (TABLE,))
        if sum(not target.file for target in targets) > 1:
            raise ConfigError(
                f"only one format fits stdout: write the others as {written[-1]}=FILE", "-o"
            )
        return targets

    return click.Option(
        ["-o", "--output"],
        multiple=True,
        metavar="FORMAT[=FILE]",
        callback=parse,
        shell_complete=complete_formats(known),
        help=f"Output format: {', '.join(known)}. Default: table. May be repeated.",
    )


STDOUT = OutputTarget("", "")


def write_text(text: str, target: OutputTarget = STDOUT) -> None:
    """
    Write an output to its file, or to the standard output.

    Raises:
        SourceError: The file cannot be written.
    """
    if not target.file:
        click.echo(text, nl=False)
        return
    try:
        Path(target.file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(target.file, f"cannot be written: {error.strerror or error}") from error


def write_document(document: dict[str, Any], output: OutputFormat) -> None:
    """Write one result to the standard output: a line of JSON, or a document of YAML."""
    if output is OutputFormat.JSON:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        click.echo(escape_json(text))
    else:
        from webhook.manifests import format_yaml  # noqa: PLC0415  # no help needs it

        click.echo(f"---\n{format_yaml(document)}", nl=False)


def write_stderr(text: str) -> None:
    """Write a line to stderr."""
    click.echo(printable(text), err=True)


def report_problems(problems: Sequence[SourceError]) -> None:
    """Write to stderr what could not be read, one line per problem."""
    for problem in problems:
        write_stderr(f"error: {problem}")


def report_skipped(skipped: "Sequence[SkippedSource]") -> None:
    """Write one line to stderr that names the files without manifests."""
    if len(skipped) == 1:
        write_stderr(f"skipped {skipped[0].source}: {skipped[0].reason}")
    elif skipped:
        named = ", ".join(file.source for file in skipped[:MOST_NAMED_FILES])
        more = ", ..." if len(skipped) > MOST_NAMED_FILES else ""
        write_stderr(
            f"skipped {len(skipped)} files without manifests, or of charts' templates: "
            f"{named}{more} (--strict makes them errors)"
        )


def _parse_target(text: str, known: tuple[str, ...]) -> OutputTarget:
    chosen, equals, file = text.partition("=")
    if chosen not in known:
        raise ConfigError(
            f"{chosen!r} is not an output format: use one of {', '.join(known)}", "-o"
        )
    if equals and not file:
        raise ConfigError(f"{text!r} names no file: write {text}FILE", "-o")
    return OutputTarget(chosen, file)
