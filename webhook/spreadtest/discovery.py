"""
Discovery of suites: files below a folder that contain a ``SpreadTest``, whatever their names.

``find_suites`` recognises a suite by its text, so that it also finds suites with errors.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from webhook.errors import CombinedConfigError, ConfigError, SourceError
from webhook.manifests.files import find_files, read_text
from webhook.spreadtest.schema import SUITE_API_VERSION, SUITE_KIND

_holds_suite = re.compile(
    rf"""^(?:kind|"kind")\s*:\s*["']?{SUITE_KIND}\b|"kind"\s*:\s*"{SUITE_KIND}\"""", re.MULTILINE
).search
"""Match a key of YAML's outermost mapping or of JSON, but no line of a nested text."""


@dataclass(frozen=True)
class SuiteText:
    """The text of a suite that is not decoded yet."""

    source: str
    text: str


def find_suites(paths: Iterable[str]) -> Iterator[SuiteText | SourceError]:
    """
    Find suites.

    Args:
        paths: Folders, and files that contain suites.

    Yields:
        Suites in the order of their names, and files that cannot be read.

    Raises:
        ConfigError: One of the paths has no suite.
    """
    for path in paths:
        found = list(_find_at(Path(path)))
        if not found:
            is_folder = Path(path).is_dir()
            problem = f"no file below it is a {SUITE_KIND}" if is_folder else f"is no {SUITE_KIND}"
            advice = f"`apiVersion: {SUITE_API_VERSION}` and `kind: {SUITE_KIND}`"
            error = ConfigError(f"{problem}: write one that starts with {advice}", path)
            raise CombinedConfigError([error])
        yield from found


def _find_at(root: Path) -> Iterator[SuiteText | SourceError]:
    for item in find_files(root):
        if isinstance(item, SourceError):
            yield item
        if not isinstance(item, str):
            continue
        try:
            text = read_text(item)
        except SourceError as error:
            yield error
        else:
            if _holds_suite(text):
                yield SuiteText(item, text)
