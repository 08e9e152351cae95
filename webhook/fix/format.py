"""How a value is written where others stand: quoted as its neighbours, indented as they are."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from webhook.manifests import is_array, is_object
from webhook.manifests.edits import indentation, line_start
from webhook.manifests.tree import Tree, TreeNode
from webhook.policy.advice import flow


class Layout(NamedTuple):
    """
    How blocks are indented.

    Attributes:
        step: Blanks of a mapping more than its key has; at least 1.
        dash: Blanks of a dash more than the key of its list has.
    """

    step: int = 2
    dash: int = 0


def infer_layout(tree: Tree, way: Sequence[TreeNode]) -> Layout:
    """
    Learn from the nearest blocks how this document is indented.

    Args:
        way: From the document to what will be written into.
    """
    steps: list[int] = []
    dashes: list[int] = []
    for node in reversed([each for each in way if each.entries and not each.flow]):
        column = _column(tree, node)
        for entry in node.entries:
            held = entry.node
            if isinstance(entry.step, str) and not entry.alias and held.entries and not held.flow:
                wanted = steps if isinstance(held.entries[0].step, str) else dashes
                wanted.append(_column(tree, held) - column)
    step = next((each for each in steps if each > 0), Layout().step)
    return Layout(step, next((each for each in dashes if each >= 0), Layout().dash))


def _column(tree: Tree, node: TreeNode) -> int:
    start = node.entries[0].start
    return start - line_start(tree.text, start)


def format_block(key: str, value: Any, layout: Layout) -> list[str]:
    """
    Write a member as lines of a block, not indented yet.

    Args:
        value: Of JSON's types; what is empty or no collection stays on the line of its key.
    """
    if is_object(value) and value:
        inner = [line for name, held in value.items() for line in format_block(name, held, layout)]
        return [f"{flow.member(key, '')[:-3]}", *(f"{'':{layout.step}}{line}" for line in inner)]
    if is_array(value) and value:
        inner = [line for held in value for line in format_item(held, layout)]
        blanks = " " * layout.dash
        return [f"{flow.member(key, '')[:-3]}", *(f"{blanks}{line}" for line in inner)]
    return [flow.member(key, value)]


def format_item(value: Any, layout: Layout) -> list[str]:
    """Write an item of a sequence as lines of a block, not indented yet."""
    if not is_object(value) or not value:
        return [f"- {flow.flow(value)}"]
    lines = [line for name, held in value.items() for line in format_block(name, held, layout)]
    return [f"{'  ' if number else '- '}{line}" for number, line in enumerate(lines)]


def format_scalar(value: Any, old: str, *, quoted: bool) -> str:
    """
    Write a value within a line.

    Args:
        old: What stood there: a text keeps its kind of quotes.
        quoted: Whether texts are written as in JSON.
    """
    if quoted or (isinstance(value, str) and old.startswith('"')):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and old.startswith("'") and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return flow.flow(value)


class FlowStyle(NamedTuple):
    """
    How a collection in brackets is written.

    Attributes:
        quoted: Whether its keys and texts are written as in JSON.
        lines: Whether each entry has a line of its own.
        tight: Whether no blank follows a colon.
    """

    quoted: bool
    lines: bool
    tight: bool

    @classmethod
    def of(cls, tree: Tree, node: TreeNode) -> "FlowStyle":
        """Look at a collection."""
        text, last = tree.text, node.entries[-1] if node.entries else None
        if last is None:
            return cls(quoted=tree.json, lines=False, tight=False)
        named = isinstance(last.step, str)
        return cls(
            quoted=tree.json or text[last.start] == '"',
            lines=not text[line_start(text, last.start) : last.start].strip()
            and line_start(text, last.start) > node.start,
            tight=tree.json and (text[last.value - 1] == ":" if named else _follows(text, node)),
        )

    def entry(self, step: str | int, value: Any, margin: str, unit: str) -> str:
        """
        Write an entry.

        Args:
            margin: What stands before an entry on its line.
            unit: By how much what is inside stands further in.
        """
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


def _follows(text: str, node: TreeNode) -> bool:
    """Whether an item follows a comma at once."""
    return text[node.entries[-1].start - 1] == ","


def unit_of(tree: Tree, node: TreeNode) -> str:
    """By how much the entries of a collection on several lines stand further in than itself."""
    inner = indentation(tree.text, node.entries[-1].start)
    outer = indentation(tree.text, node.start)
    return inner.removeprefix(outer) or "  "
