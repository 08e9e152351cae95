"""
The text of one document: its place in a file, the positions and the lines of its values.

``DocumentText`` is the entry point. It reads the positions only when a line or the tree is first
requested, because most documents never need them.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from webhook.manifests.edits import find_line_starts
from webhook.manifests.jsontree import read_json
from webhook.manifests.tree import Tree, read_yaml
from webhook.policy.paths import FieldPath


def read_tree(text: str) -> Tree:
    """
    Read the positions of one document of YAML or JSON.

    Raises:
        yaml.YAMLError: The text is neither YAML nor JSON.
    """
    if text.lstrip().startswith(("{", "[")):
        try:
            return read_json(text)
        except ValueError:
            pass  # YAML has brackets, too
    return read_yaml(text)


@dataclass(eq=False)
class DocumentText:
    """
    The text of one document.

    Attributes:
        content: YAML or JSON.
        first: The line at which the text starts in its file, from 1.
        start: The character at which the text starts in its file, from 0.
    """

    content: str
    first: int
    start: int

    def line(self, path: FieldPath) -> int:
        """Return the line of a value's key, else of the nearest value that contains it, from 1."""
        return self.first - 1 + bisect_right(self._line_starts, self.tree.find_position(path))

    @cached_property
    def tree(self) -> Tree:
        """The positions of the document's values."""
        return read_tree(self.content)

    @cached_property
    def _line_starts(self) -> list[int]:
        return find_line_starts(self.content)
