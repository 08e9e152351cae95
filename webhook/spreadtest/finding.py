"""
Finding suites: files below a folder that hold a ``SpreadTest``, whatever their names.

What is meant as one is recognised by its text, so that none is passed over because of a mistake.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from webhook.errors import ConfigError, MistakesError, SourceError
from webhook.manifests import SkippedSource, find_files, read_text
from webhook.spreadtest.form import API_VERSION, KIND

_holds_suite = re.compile(
    rf"""^(?:kind|"kind")\s*:\s*["']?{KIND}\b|"kind"\s*:\s*"{KIND}\"""", re.MULTILINE
).search
"""A key of YAML's outermost mapping, or of JSON; not a line of a text that stands in a manifest."""


class SuiteText(NamedTuple):
    """A suite that has not been read yet."""

    source: str
    text: str


def find(paths: Iterable[str]) -> Iterator[SuiteText | SourceError]:
    """
    Find suites.

    Args:
        paths: Folders, and files that are suites.

    Yields:
        Suites in the order of their names, and what cannot be read.

    Raises:
        ConfigError: There is none at one of the paths.
    """
    for path in paths:
        found = list(_find_at(Path(path)))
        if not found:
            raise MistakesError([_none_at(path)])
        yield from found


def _find_at(root: Path) -> Iterator[SuiteText | SourceError]:
    for item in find_files(root):
        match item:
            case str():
                yield from _suite(item)
            case SourceError():
                yield item
            case SkippedSource():
                pass


def _suite(path: str) -> Iterator[SuiteText | SourceError]:
    try:
        text = read_text(path)
    except SourceError as error:
        yield error
    else:
        if _holds_suite(text):
            yield SuiteText(path, text)


def _none_at(path: str) -> ConfigError:
    is_folder = Path(path).is_dir()
    problem = f"no file below it is a {KIND}" if is_folder else f"is no {KIND}"
    return ConfigError(
        f"{problem}: write one that starts with `apiVersion: {API_VERSION}` and `kind: {KIND}`",
        path,
    )
