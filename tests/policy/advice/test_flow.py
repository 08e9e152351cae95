import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.advice.flow import entries, flow, member

VALUES = {
    "a plain text": ("web", "web"),
    "a label key": ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    "a text that is a word for false": ("Off", '"Off"'),
    "a text that is a number": ("1", '"1"'),
    "an empty text": ("", '""'),
    "a number": (3, "3"),
    "a truth": (True, "true"),
    "nothing": (None, "null"),
    "a list": (["a", 1], "[a, 1]"),
    "an object": ({"matchLabels": {"app": "web"}}, "{matchLabels: {app: web}}"),
    "an empty object": ({}, "{}"),
}


@pytest.mark.parametrize(("value", "text"), VALUES.values(), ids=VALUES.keys())
def test_flow(value: object, text: str) -> None:
    assert flow(value) == text


def test_a_member() -> None:
    assert member("maxSkew", 1) == "maxSkew: 1"


def test_entries_stand_on_lines_of_their_own() -> None:
    assert entries("list", [{"a": 1}, {"b": 2}]) == "list:\n- {a: 1}\n- {b: 2}"


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]))
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
)


@given(json)
def test_yaml_parses_the_text_to_the_same_value(value: object) -> None:
    assert yaml.safe_load(flow(value)) == msgspec.json.decode(msgspec.json.encode(value))


@given(st.text())
def test_any_text_can_be_written(text: str) -> None:
    assert flow(text)
