"""One name, one thing: public classes and constants of the product."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = sorted(file for package in ("webhook", "certs") for file in (ROOT / package).rglob("*.py"))


def statements() -> Iterator[tuple[str, ast.stmt]]:
    """Every statement at the top of a module, with the module's path."""
    for file in FILES:
        for statement in ast.parse(file.read_text()).body:
            yield str(file.relative_to(ROOT)), statement


def constant(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """The public constant that a statement defines, and its value."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case _:
            return None
    return (name, value) if name.isupper() and not name.startswith("_") else None


def test_no_public_class_name_is_used_twice() -> None:
    homes = defaultdict[str, list[str]](list)
    for path, statement in statements():
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
            homes[statement.name].append(path)

    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_no_public_constant_has_two_values() -> None:
    values = defaultdict[str, dict[str, list[str]]](lambda: defaultdict(list))
    for path, statement in statements():
        if (found := constant(statement)) is not None:
            values[found[0]][ast.unparse(found[1])].append(path)

    assert {name: dict(held) for name, held in values.items() if len(held) > 1} == {}
