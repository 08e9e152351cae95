"""What is changed in a source text, and what is not."""

from pathlib import Path

import pytest

from tests.mutation.mutants import mutants_of

PATH = Path("m.py")

# source, the texts of its mutants
CHANGES: dict[str, tuple[str, set[str]]] = {
    "a comparison": ("x = a < b", {"x = a <= b"}),
    "a comparison of two words": ("x = a not in b", {"x = a in b"}),
    "both comparisons of a chain": ("x = a < b == c", {"x = a <= b == c", "x = a < b != c"}),
    "an operator between brackets": ("x = (a) + (b)", {"x = (a) - (b)"}),
    "a conjunction and its parts": (
        "x = a and b",
        {"x = a or b", "x = True and b", "x = a and True"},
    ),
    "a negation": ("x = not a", {"x = a"}),
    "a sign": ("x = -a", {"x = a"}),
    "a number": ("x = 1", {"x = 2"}),
    "a truth": ("x = True", {"x = False"}),
    "a text": ("x = 'a'", {'x = ""'}),
    "an empty text": ("x = ''", {'x = "mutated"'}),
    "a built text, as a whole": ("x = f'{a} {b + c}'", {'x = "mutated"'}),
    "a condition": ("if a:\n    b\n", {"if (not (a)):\n    b\n", "if a:\n    pass\n"}),
    "the condition of a value": ("x = a if b else c", {"x = a if (not (b)) else c"}),
    "a filter": ("x = [a for a in b if c]", {"x = [a for a in b if True]"}),
    "a result": ("def f(): return g", {"def f(): return None"}),
    "a statement": ("f(x)", {"pass"}),
    "an assignment to a member": ("a.b = c", {"pass"}),
    "the way out of a loop": (
        "while a:\n break",
        {"while (not (a)):\n break", "while a:\n continue"},
    ),
    "a function for its opposite": ("x = min(a)", {"x = max(a)"}),
    "an argument with a name": ("x = f(a, k=b)", {"x = f(a, )"}),
    "an item": ("x = [a, b]", {"x = [b]", "x = [a, ]"}),
    "a member": ("x = {a: b}", {"x = {}"}),
    "an item of a tuple of three": ("x = a, b, c", {"x = b, c", "x = a, c", "x = a, b, "}),
    "text behind other letters": ("x = é < b", {"x = é <= b"}),
}


@pytest.mark.parametrize(("source", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_a_source_is_changed_in_one_place(source: str, expected: set[str]) -> None:
    text = source.encode()

    assert {mutant.apply(text).decode() for mutant in mutants_of(PATH, text)} == expected


UNCHANGED = {
    "a docstring": '"""Text."""',
    "an import": "from a import b",
    "an annotation": "def f(a: 'x' = b) -> 'y': ...",
    "the name of a type variable": "T = TypeVar('T')",
    "options of a class that change no result": "class A(B, frozen=True, gc=False): ...",
    "what only type checkers read": "if TYPE_CHECKING:\n    x = 1",
    "a pair, of which one item is none": "x = a, b",
    "a result that is a constant, twice": "def f(): return None",
}


@pytest.mark.parametrize("source", UNCHANGED.values(), ids=UNCHANGED.keys())
def test_nothing_is_changed_in(source: str) -> None:
    assert mutants_of(PATH, source.encode()) == []


def test_a_mutant_names_its_place() -> None:
    text = b"a\nb = c <\\\n d\n"
    (found,) = mutants_of(PATH, text)[1:]

    assert found.describe(text) == "m.py:2: < -> <="
