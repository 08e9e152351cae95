"""Results for programs on stdout, and what happened besides on stderr."""

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import click

from webhook.errors import SourceError
from webhook.manifests import SkippedSource, format_yaml
from webhook.policy.api.fielderrors import quote

NAMED_FILES = 3  # of those skipped: enough to recognise them, few enough for one line


class Format(StrEnum):
    """What ``-o`` takes."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def write(document: dict[str, Any], output: Format) -> None:
    """Write one result: a line of JSON, or a document of YAML."""
    if output is Format.JSON:
        click.echo(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
    else:
        click.echo(f"---\n{format_yaml(document)}", nl=False)


def printable(text: str) -> str:
    """Escape what would move the cursor, change colours, or look like something else."""
    return text if text.isprintable() else quote(text)[1:-1]


def say(text: str) -> None:
    """Write a line to stderr."""
    click.echo(printable(text), err=True)


def tell_problems(problems: Sequence[SourceError]) -> None:
    """Say what could not be read, a line each."""
    for problem in problems:
        say(f"error: {problem}")


def tell_skipped(skipped: Sequence[SkippedSource]) -> None:
    """Say in one line which files hold no manifests."""
    if len(skipped) == 1:
        say(f"skipped {skipped[0].source}: {skipped[0].reason}")
    elif skipped:
        named = ", ".join(each.source for each in skipped[:NAMED_FILES])
        more = ", ..." if len(skipped) > NAMED_FILES else ""
        say(
            f"skipped {len(skipped)} files without manifests, or of charts' templates: "
            f"{named}{more} (--strict makes them errors)"
        )
