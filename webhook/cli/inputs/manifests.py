"""
Manifests that ``-f`` and ``--cluster`` name: their objects, their problems, and facts from them.

Entry points: ``Inputs`` reads objects, ``InputFiles`` whole files; ``facts_from`` builds facts for
verdicts without a cluster.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from webhook.cli.output import report_problems, report_skipped
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.config import OwnerSelector
from webhook.errors import SourceError
from webhook.fix.atomic import OriginalFile
from webhook.manifests import Document, SkippedSource, expand, files, parse, read_documents

STDIN_SOURCE = files.source_of(files.STDIN)


class Inputs:
    """
    Files, folders and the standard input, read once.

    Attributes:
        paths: The values of ``-f``.
        problems: What could not be read.
        skipped: Files without manifests.
    """

    def __init__(
        self, paths: Iterable[str], *, strict: bool = False, unpack: files.Unpacker = expand
    ) -> None:
        """
        Store the paths; ``objects`` reads them.

        Args:
            paths: ``-`` is the standard input.
            strict: Whether files without manifests are problems.
            unpack: Yields the objects of a document that holds several.
        """
        self.paths = tuple(paths)
        self._strict = strict
        self._unpack = unpack
        self.problems: list[SourceError] = []
        self.skipped: list[SkippedSource] = []

    def objects(self) -> Iterator[Document]:
        """Read the objects one by one; record problems and skipped files."""
        return self._record(read_documents(self.paths, strict=self._strict, unpack=self._unpack))

    def cluster_objects(self, path: str) -> Iterator[Document]:
        """Read the objects of ``--cluster`` likewise; none if ``path`` is empty."""
        return self._record(read_documents([path] if path else []))

    def _record(
        self, items: Iterable[Document | SkippedSource | SourceError]
    ) -> Iterator[Document]:
        for item in items:
            if isinstance(item, Document):
                yield item
            elif isinstance(item, SkippedSource):
                self.skipped.append(item)
            else:
                self.problems.append(item)

    def report(self) -> None:
        """Write to stderr what could not be read and what was skipped."""
        report_problems(self.problems)
        report_skipped(self.skipped)


def facts_from(
    path: str, documents: Iterable[Document], owners: tuple[OwnerSelector, ...], inputs: Inputs
) -> Cluster:
    """
    Build the facts for verdicts from manifests.

    Args:
        path: Of manifests that describe the cluster; if empty, ``documents`` describe it.
        documents: Objects of ``-f``.
        inputs: Receives the problems and the skipped files of ``path``.
    """
    cluster = Cluster(owners)
    inputs.problems += fill(cluster, inputs.cluster_objects(path) if path else documents)
    return cluster


class InputFiles(Inputs):
    """
    Inputs with their original bytes, so that they can be rewritten; a file is read only once.

    Attributes:
        texts: Source -> text, for files with objects.
        originals: Source -> file as it was read, for the same files.
        piped: Bytes of the standard input; None if ``-`` was not given.
    """

    def __init__(self, paths: Iterable[str], *, strict: bool) -> None:
        """Read everything; arguments as for ``Inputs``."""
        super().__init__(paths, strict=strict)
        self.texts: dict[str, str] = {}
        self.originals: dict[str, OriginalFile] = {}
        self.piped: bytes | None = None
        seen: set[Path] = set()
        for path in self.paths:
            for found in (files.STDIN,) if path == files.STDIN else files.find_files(Path(path)):
                if not isinstance(found, str):
                    self._note(found)
                elif (at := Path(found).resolve()) not in seen:
                    seen.add(at)
                    self._read(found)

    def _read(self, path: str) -> None:
        source = files.source_of(path)
        try:
            data = files.read_data(path)
            if path == files.STDIN:
                self.piped = data
            text = files.decode(data, source)
        except SourceError as error:
            self.problems.append(error)
            return
        parsed = parse(text, source, unique_keys=self._strict)
        has_objects = True
        for item in files.select_objects(parsed, source, expand):
            if not isinstance(item, Document):
                self._note(item)
                has_objects = has_objects and not isinstance(item, SkippedSource)
        if has_objects:
            self.texts[source] = text
            self.originals[source] = OriginalFile(path, data)

    def _note(self, other: SkippedSource | SourceError) -> None:
        if isinstance(other, SourceError):
            self.problems.append(other)
        elif self._strict:
            self.problems.append(SourceError(other.source, other.reason))
        else:
            self.skipped.append(other)
