"""What ``-f`` names: its objects, and what was met between them."""

from collections.abc import Iterable, Iterator

from webhook.cli.output import tell_problems, tell_skipped
from webhook.errors import SourceError
from webhook.manifests import Document, SkippedSource, Unpacker, expand, read_documents


class Inputs:
    """
    Files, folders and the standard input, read once.

    Attributes:
        paths: What is read.
        problems: What could not be read.
        skipped: Files without manifests.
    """

    def __init__(
        self, paths: Iterable[str], *, strict: bool = False, unpack: Unpacker = expand
    ) -> None:
        """
        Read nothing yet.

        Args:
            paths: ``-`` is the standard input.
            strict: Whether files without manifests are problems.
            unpack: Takes the objects out of a document that holds several.
        """
        self.paths = tuple(paths)
        self._strict = strict
        self._unpack = unpack
        self.problems: list[SourceError] = []
        self.skipped: list[SkippedSource] = []

    def objects(self) -> Iterator[Document]:
        """Read the objects one after the other, and keep what else there is."""
        for item in read_documents(self.paths, strict=self._strict, unpack=self._unpack):
            match item:
                case Document():
                    yield item
                case SkippedSource():
                    self.skipped.append(item)
                case SourceError():
                    self.problems.append(item)

    def tell(self) -> None:
        """Say on stderr what could not be read, and what was skipped."""
        tell_problems(self.problems)
        tell_skipped(self.skipped)
