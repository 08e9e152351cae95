"""Files that ``-f`` names, with their original bytes, so that they can be rewritten."""

from collections.abc import Iterable
from pathlib import Path

from webhook.errors import SourceError
from webhook.fix.atomic import OriginalFile
from webhook.manifests import Document, SkippedSource, expand, parse
from webhook.manifests.files import STDIN, decode, find_files, read_data, select_objects, source_of

STDIN_SOURCE = source_of(STDIN)


class InputFiles:
    """
    Files, folders and the standard input, read once.

    Attributes:
        texts: Source -> text, for files with objects.
        originals: Source -> file as it was read, for the same files.
        piped: Bytes of the standard input; None if ``-`` was not given.
        problems: What could not be read.
        skipped: Files without manifests.
    """

    def __init__(self, paths: Iterable[str], *, strict: bool) -> None:
        """Read everything; arguments as for ``Inputs``. A file that is named twice is read once."""
        self.texts: dict[str, str] = {}
        self.piped: bytes | None = None
        self.problems: list[SourceError] = []
        self.skipped: list[SkippedSource] = []
        self._strict = strict
        self.originals: dict[str, OriginalFile] = {}
        seen: set[Path] = set()
        for path in paths:
            for found in (STDIN,) if path == STDIN else find_files(Path(path)):
                if not isinstance(found, str):
                    self._record(found)
                elif (at := Path(found).resolve()) not in seen:
                    seen.add(at)
                    self._read(found)

    def _read(self, path: str) -> None:
        source = source_of(path)
        try:
            data = read_data(path)
            if path == STDIN:
                self.piped = data
            text = decode(data, source)
        except SourceError as error:
            self.problems.append(error)
            return
        parsed = parse(text, source, unique_keys=self._strict)
        has_objects = True
        for item in select_objects(parsed, source, expand):
            if not isinstance(item, Document):
                self._record(item)
                has_objects = has_objects and not isinstance(item, SkippedSource)
        if has_objects:
            self.texts[source] = text
            self.originals[source] = OriginalFile(path, data)

    def _record(self, other: SkippedSource | SourceError) -> None:
        if isinstance(other, SourceError):
            self.problems.append(other)
        elif self._strict:
            self.problems.append(SourceError(other.source, other.reason))
        else:
            self.skipped.append(other)
