import pytest

from tests.build import requirement, selector
from webhook.export import cel
from webhook.policy.model import LabelSelector


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("zone", '"zone"'),
        ('say "no"\\', r'"say \"no\"\\"'),
        ("two\nlines", r'"two\nlines"'),
        ("größe", '"größe"'),
        ("\x00", r'"\u0000"'),
    ],
)
def test_a_text_is_a_literal(value: str, written: str) -> None:
    assert cel.text(value) == written


def test_texts_are_a_list() -> None:
    assert cel.texts(["a", "b"]) == '["a", "b"]'
    assert cel.texts([]) == "[]"


def test_conditions_are_joined() -> None:
    assert cel.all_of(["a", "b"]) == "a && b"
    assert cel.all_of([]) == "true"


@pytest.mark.parametrize(
    ("chosen", "conditions"),
    [
        (selector(), []),
        (selector(b="2", a=""), ['("a" in L && L["a"] == "")', '("b" in L && L["b"] == "2")']),
        (selector(requirement("a", "In", "1", "2")), ['("a" in L && L["a"] in ["1", "2"])']),
        (selector(requirement("a", "NotIn", "1")), ['!("a" in L && L["a"] == "1")']),
        (selector(requirement("a", "Exists")), ['"a" in L']),
        (selector(requirement("a", "DoesNotExist")), ['!("a" in L)']),
        (selector(requirement("a", "Near", "1")), ["false"]),
    ],
)
def test_a_selector_is_a_list_of_conditions(chosen: LabelSelector, conditions: list[str]) -> None:
    assert list(cel.matches(chosen, "L")) == conditions
