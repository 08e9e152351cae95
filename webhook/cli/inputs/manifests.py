"""
Manifests that ``-f`` and ``--cluster`` name: their objects, their problems, and facts from them.

Entry points: ``Inputs`` reads objects; ``facts_from`` builds facts for verdicts without a cluster.
"""

from collections.abc import Iterable, Iterator

from webhook.cli.output import report_problems, report_skipped
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.config import OwnerSelector
from webhook.errors import SourceError
from webhook.manifests import Document, SkippedSource, expand, read_documents
from webhook.manifests.files import Unpacker


class Inputs:
    """
    Files, folders and the standard input, read once.

    Attributes:
        paths: The values of ``-f``.
        problems: What could not be read.
        skipped: Files without manifests.
    """

    def __init__(
        self, paths: Iterable[str], *, strict: bool = False, unpack: Unpacker = expand
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
