"""
Mutants of a module: source texts that differ in one operator, literal, condition or statement.

``mutants_of`` is the entry point. A mutant is a replacement in the text, so that it can be shown as
a difference and everything else keeps its line. Annotations, docstrings, imports and class options
that change no result (``frozen``, ``gc``, ``slots``) are left alone.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: (r"is\b", "is not"),
    ast.IsNot: (r"is\s+not\b", "is"),
    ast.In: (r"in\b", "not in"),
    ast.NotIn: (r"not\s+in\b", "in"),
}
"""The pattern of an operator in the text, and what replaces it."""

ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitOr: (r"\|", "&"),
    ast.BitAnd: ("&", "|"),
}

FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}

NEUTRAL_OPTIONS = frozenset({"frozen", "gc", "slots"})
"""Options of a class that cost memory or forbid an assignment, and change no result."""

NAMING_CALLS = frozenset({"TypeVar", "NewType", "NamedTuple"})
"""Their string arguments are names for type checkers."""

SMALLEST_TUPLE = 3  # one item less of a pair is no tuple: no text can tell it from a value


class Mutant(NamedTuple):
    """
    One replacement in the UTF-8 bytes of a module.

    Attributes:
        path: Of the module.
        line: Of the first replaced byte, from 1.
    """

    path: Path
    line: int
    start: int
    end: int
    new: bytes

    def apply(self, source: bytes) -> bytes:
        """Return the text of the mutated module."""
        return source[: self.start] + self.new + source[self.end :]

    def describe(self, source: bytes) -> str:
        """Write place, old text and new text in one line."""
        old = " ".join(source[self.start : self.end].decode().split())
        new = " ".join(self.new.decode().split())
        return f"{self.path}:{self.line}: {old or '(nothing)'} -> {new or '(nothing)'}"


def mutants_of(path: Path, source: bytes) -> list[Mutant]:
    """List the mutants of a module that compile and differ from it, in the order of the text."""
    tree = ast.parse(source)
    plain = ast.dump(tree)
    return [
        mutant
        for mutant in sorted(set(_Finder(path, source).find(tree)), key=lambda mutant: mutant[1:])
        if _differs(mutant.apply(source), plain)
    ]


def _differs(text: bytes, plain: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) != plain
    except SyntaxError:
        return False


class _Finder:
    """Finds the mutants of one text."""

    def __init__(self, path: Path, source: bytes) -> None:
        self._path = path
        self._source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def find(self, node: ast.AST) -> Iterator[Mutant]:
        """Yield the mutants of a node and of all nodes below it."""
        yield from self._here(node)
        for child in _children(node):
            yield from self.find(child)

    def _here(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.stmt():
                yield from self._statement(node)
            case ast.Compare() | ast.BinOp() | ast.BoolOp() | ast.UnaryOp():
                yield from self._operation(node)
            case ast.Call() | ast.Tuple() | ast.List() | ast.Set() | ast.Dict():
                yield from self._parts(node)
            case ast.Constant():
                yield from self._constant(node)
            case ast.JoinedStr():
                yield self._replace(node, '"mutated"')
            case ast.IfExp(test=test):
                yield self._negate(test)
            case ast.comprehension(ifs=conditions):
                yield from (self._replace(condition, "True") for condition in conditions)
            case _:
                return

    def _statement(self, node: ast.stmt) -> Iterator[Mutant]:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.If(test=test) | ast.While(test=test):
                yield self._negate(test)
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._replace(value, "None")
            case ast.Expr(value=ast.Constant()):
                return
            case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete():
                yield self._replace(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield self._replace(node, "pass")
            case ast.Continue():
                yield self._replace(node, "break")
            case ast.Break():
                yield self._replace(node, "continue")
            case _:
                return

    def _operation(self, node: ast.expr) -> Iterator[Mutant]:
        match node:
            case ast.Compare():
                yield from self._comparison(node)
            case ast.BoolOp():
                yield from self._logic(node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                yield from self._operator(left, right, *ARITHMETIC[type(op)])
            case ast.UnaryOp(op=ast.Not()):
                yield self._cut(self._start(node), self._start(node) + len("not "), b"")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                yield self._cut(self._start(node), self._start(operand), b"")
            case _:
                return

    def _parts(self, node: ast.expr) -> Iterator[Mutant]:
        match node:
            case ast.Call(func=function, keywords=keywords):
                if isinstance(function, ast.Name) and function.id in FUNCTIONS:
                    yield self._replace(function, FUNCTIONS[function.id])
                yield from (
                    self._drop(keyword, keyword) for keyword in keywords if keyword.arg is not None
                )
            case ast.Tuple(ctx=ast.Load(), elts=items) if len(items) >= SMALLEST_TUPLE:
                yield from (self._drop(item, item) for item in items)
            case ast.List(ctx=ast.Load(), elts=items) | ast.Set(elts=items):
                yield from (self._drop(item, item) for item in items)
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                yield from (self._drop(key, value) for key, value in pairs if key is not None)
            case _:
                return

    def _constant(self, node: ast.Constant) -> Iterator[Mutant]:
        match node.value:
            case bool():
                yield self._replace(node, str(not node.value))
            case int() | float():
                yield self._replace(node, str(node.value + 1))
            case str():
                yield self._replace(node, '""' if node.value else '"mutated"')
            case bytes():
                yield self._replace(node, 'b""' if node.value else 'b"mutated"')
            case _:
                return

    def _comparison(self, node: ast.Compare) -> Iterator[Mutant]:
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            yield from self._operator(left, right, *COMPARISONS[type(op)])
            left = right

    def _operator(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Mutant]:
        start, end = self._end(left), self._start(right)
        found = re.search(old.encode(), self._source[start:end])
        if found:
            yield self._cut(start + found.start(), start + found.end(), new.encode())

    def _logic(self, node: ast.BoolOp) -> Iterator[Mutant]:
        is_and = isinstance(node.op, ast.And)
        old, new = (r"\band\b", "or") if is_and else (r"\bor\b", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self._operator(left, right, old, new)
        yield from (self._replace(value, str(is_and)) for value in node.values)

    def _negate(self, condition: ast.expr) -> Mutant:
        text = self._source[self._start(condition) : self._end(condition)].decode()
        return self._replace(condition, f"(not ({text}))")

    def _drop(self, first: ast.expr | ast.keyword, last: ast.expr | ast.keyword) -> Mutant:
        """Leave out one of several items, with the comma behind it."""
        end = self._end(last)
        comma = re.match(rb"\s*,\s*", self._source[end:])
        return self._cut(self._start(first), end + (comma.end() if comma else 0), b"")

    def _replace(self, node: ast.stmt | ast.expr, new: str) -> Mutant:
        return self._cut(self._start(node), self._end(node), new.encode())

    def _cut(self, start: int, end: int, new: bytes) -> Mutant:
        line = self._source.count(b"\n", 0, start) + 1
        return Mutant(self._path, line, start, end, new)

    def _start(self, node: ast.stmt | ast.expr | ast.keyword) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.stmt | ast.expr | ast.keyword) -> int:
        assert node.end_lineno is not None, "parsed trees have places"
        assert node.end_col_offset is not None, "parsed trees have places"
        return self._starts[node.end_lineno - 1] + node.end_col_offset


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that decide what the program does."""
    match node:
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return  # up to Python 3.11 the places inside an f-string are those of another text
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=body):
            yield from body
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case ast.Call(func=ast.Name(id=name)) if name in NAMING_CALLS:
            return
        case ast.ClassDef(bases=bases, keywords=keywords, body=body, decorator_list=decorators):
            yield from (*bases, *_telling(keywords), *_without_options(decorators), *body)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body)
        case ast.AnnAssign(value=value):
            yield from filter(None, (value,))
        case _:
            yield from ast.iter_child_nodes(node)


def _telling(keywords: Sequence[ast.keyword]) -> Iterator[ast.keyword]:
    return (keyword for keyword in keywords if keyword.arg not in NEUTRAL_OPTIONS)


def _without_options(decorators: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield the decorators of a class but @dataclass, whose arguments are its options."""
    return (decorator for decorator in decorators if not isinstance(decorator, ast.Call))
