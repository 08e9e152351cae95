"""
YAML and JSON of a new value, in the style of its neighbours: indentation, quotes, brackets.

``locate`` decides where the text goes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webhook.manifests.edits import indentation, line_start
from webhook.manifests.tree import Tree, TreeNode
from webhook.policy.advice import flow
from webhook.policy.paths import is_array, is_object


@dataclass(frozen=True)
class Layout:
    """
    The indentation of blocks.

    Attributes:
        step: Blanks by which a mapping is indented below its key; at least 1.
        dash: Blanks by which a dash is indented below the key of its list.
    """

    step: int = 2
    dash: int = 0


def infer_layout(tree: Tree, way: Sequence[TreeNode]) -> Layout:
    """Infer the indentation from the blocks on the way from the document to a collection."""
    steps: list[int] = []
    dashes: list[int] = []
    for node in reversed([node for node in way if node.entries and not node.flow]):
        column = _column(tree, node)
        for entry in node.entries:
            held = entry.node
            if isinstance(entry.step, str) and not entry.alias and held.entries and not held.flow:
                wanted = dashes if isinstance(held.entries[0].step, int) else steps
                wanted.append(_column(tree, held) - column)
    step = next((blanks for blanks in steps if blanks > 0), Layout().step)
    return Layout(step, next((blanks for blanks in dashes if blanks >= 0), Layout().dash))


def _column(tree: Tree, node: TreeNode) -> int:
    start = node.entries[0].start
    return start - line_start(tree.text, start)


def format_block(key: str, value: Any, layout: Layout) -> list[str]:
    """Format a member as the lines of a block, without the indentation of the block itself."""
    if is_object(value) and value:
        inner = [line for name, held in value.items() for line in format_block(name, held, layout)]
        blanks = " " * layout.step
    elif is_array(value) and value:
        inner = [line for held in value for line in format_item(held, layout)]
        blanks = " " * layout.dash
    else:
        return [flow.member(key, value)]
    return [flow.member(key, "").removesuffix(' ""'), *(f"{blanks}{line}" for line in inner)]


def format_item(value: Any, layout: Layout) -> list[str]:
    """Format an item of a sequence as ``format_block`` does a member."""
    if not is_object(value) or not value:
        return [f"- {flow.flow(value)}"]
    lines = [line for name, held in value.items() for line in format_block(name, held, layout)]
    return [f"{'  ' if number else '- '}{line}" for number, line in enumerate(lines)]


def format_scalar(value: Any, old: str, *, quoted: bool) -> str:
    """Format a value on one line, in the quotes of the old text, or ``quoted`` as in JSON."""
    if quoted or (isinstance(value, str) and old.startswith('"')):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and old.startswith("'") and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return flow.flow(value)


@dataclass(frozen=True)
class FlowStyle:
    """
    The style of a collection in brackets.

    Attributes:
        quoted: Whether its keys and strings are written as in JSON.
        lines: Whether every entry is on a line of its own.
        tight: Whether no blank follows a colon or a comma.
    """

    quoted: bool
    lines: bool
    tight: bool

    @classmethod
    def infer(cls, tree: Tree, node: TreeNode) -> "FlowStyle":
        """Infer the style of a collection from its last entry."""
        text, last = tree.text, node.entries[-1] if node.entries else None
        if last is None:
            return cls(quoted=tree.json, lines=False, tight=False)
        return cls(
            quoted=tree.json or text[last.start] == '"',
            lines=not text[line_start(text, last.start) : last.start].strip()
            and line_start(text, last.start) > node.start,
            tight=tree.json and text[last.value - 1] in ":,",
        )

    def format_entry(self, step: str | int, value: Any, margin: str, unit: str) -> str:
        """Format an entry, indented by ``margin``; nested entries are indented by ``unit`` more."""
        if not self.quoted:
            return flow.member(step, value) if isinstance(step, str) else flow.flow(value)
        between = (",", ":") if self.tight else (", ", ": ")
        if self.lines:
            written = json.dumps(value, ensure_ascii=False, indent=unit)
            written = written.replace("\n", f"\n{margin}")
        else:
            written = json.dumps(value, ensure_ascii=False, separators=between)
        named = f"{json.dumps(step, ensure_ascii=False)}{between[1]}"
        return f"{named}{written}" if isinstance(step, str) else written


def infer_indent(tree: Tree, node: TreeNode) -> str:
    """Return the indentation of a collection's entries relative to the collection."""
    inner = indentation(tree.text, node.entries[-1].start)
    return inner.removeprefix(indentation(tree.text, node.start)) or "  "
