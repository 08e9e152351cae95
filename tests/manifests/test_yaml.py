"""Values of YAML documents."""

from typing import Any

import pytest

from webhook.errors import ManifestError
from webhook.manifests import (
    Document,
    parse,
)
from webhook.manifests.yaml import WORDS, format_yaml, load, load_outlined, resolve


def values(text: str, *, unique_keys: bool = False) -> list[Any]:
    read = list(parse(text, "x.yaml", unique_keys=unique_keys))
    return [item.value if isinstance(item, Document) else str(item) for item in read]


def test_braces_of_a_template_lead_to_a_hint_at_helm() -> None:
    (message,) = values("a: 1\n{{- if .Values.b }}\nb: 2\n")

    assert message.endswith("; render a chart with helm template first")


def test_a_tab_that_indents_leads_to_a_hint() -> None:
    (message,) = values("a:\n\tb: 1\n")

    assert message.endswith("; indent with spaces, not with a tab")


def test_unique_keys_may_be_required() -> None:
    text = "a: 1\nb:\n  c: 1\n  c: 2\n"

    assert values(text) == [{"a": 1, "b": {"c": 2}}]
    assert values(text, unique_keys=True) == ["x.yaml:4: duplicate key 'c': remove one of the two"]


# text, its value
VALUES: dict[str, tuple[str, Any]] = {
    "an empty text": ("", None),
    "keys become strings": (
        "{1: a, yes: b, no: b, 1.50: c, 'd': e}",
        {"1": "a", "true": "b", "false": "b", "1.5": "c", "d": "e"},
    ),
    "of equal keys the last counts": ("a: 1\na: 2\n", {"a": 2}),
    "quoted scalars are strings": ("['1', \"yes\", '']", ["1", "yes", ""]),
    "tags of the core are read": ("[!!str 1, !!int '3', !!null x]", ["1", 3, "x"]),
    "other tags are ignored": ("[!Ref a, ! 2, !!python/name:os.system x]", ["a", "2", "x"]),
    "aliases share a value": ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
    "merged keys give way": (
        "a: &x {b: 1, c: 1}\nd: {c: 2, <<: *x}\n",
        {"a": {"b": 1, "c": 1}, "d": {"b": 1, "c": 2}},
    ),
    "of merged mappings the first counts": (
        "a: {<<: [{b: 1}, {b: 2, c: 2}]}",
        {"a": {"b": 1, "c": 2}},
    ),
}


@pytest.mark.parametrize(("text", "value"), VALUES.values(), ids=VALUES.keys())
def test_yaml_is_read_as_kubectl_reads_it(text: str, value: Any) -> None:
    assert load(text, "x.yaml", 1) == value


# text, its items as they are written
ITEM_TEXTS: dict[str, tuple[str, list[str]]] = {
    "items in brackets": ("items: [{é: 1}, [2, 3], a, 'b']", ["{é: 1}", "[2, 3]", "a", "'b'"]),
    "items in lines": ("items:\n- a\n- 'b'\n- {c: 1}\nkind: List\n", ["a", "'b'", "{c: 1}"]),
    "an alias": ("items: [&x {a: 1}, *x]", ["&x {a: 1}", "*x"]),
    "no items": ("items: []", []),
    "of equal keys the last counts": ("items: [a, b]\nitems: [c]\n", ["c"]),
    "items of a member": ("spec: {items: [a]}", []),
    "another member": ("others: [a]", []),
    "a list in the items": ("items: [{items: [a]}]", ["{items: [a]}"]),
}


@pytest.mark.parametrize(("text", "items"), ITEM_TEXTS.values(), ids=ITEM_TEXTS.keys())
def test_items_of_a_list_have_their_positions(text: str, items: list[str]) -> None:
    _, outline = load_outlined(text, "x.yaml", 1)

    assert [text[start:end] for start, end in outline.items] == items


# text, message
INVALID: dict[str, tuple[str, str]] = {
    "a template of a chart": (
        "a: {{ .Values.kind }}\n",
        "x.yaml:3: a key must be a string, not an object: render a chart with helm template first",
    ),
    "a null key": ("a: 1\n~: 2\n", "x.yaml:4: a key must be a string: write it in quotes"),
    "a merged scalar": ("a:\n  <<: 1\n", "x.yaml:4: << merges mappings: write an alias of one, or"),
    "infinity": ("a: .inf\n", "x.yaml:3: .inf is no JSON number: write a finite one"),
    "a control character": ("\na: \x01\n", "x.yaml:4: invalid YAML: it contains a control charac"),
    "a value behind a rare line break": (
        'a: "\u2028\x85\r"\nb: .inf\n',
        "x.yaml:4: .inf is no JSON number: write a finite one",
    ),
    "a bracket behind a rare line break": ("a: '\u2028\x85'\nb: ]", "x.yaml:4: invalid YAML: "),
    "an open bracket": ("a: [", "x.yaml:3: invalid YAML: while parsing a flow node, did not find"),
}


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID.keys())
def test_yaml_that_kubectl_refuses_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        load(text, "x.yaml", 3)

    assert str(caught.value).startswith(message)


def test_values_are_written_in_order_without_aliases() -> None:
    shared = {"z": 1, "a": "é"}

    assert format_yaml({"b": shared, "a": [shared]}) == "b:\n  z: 1\n  a: é\na:\n- z: 1\n  a: é\n"


# plain scalar, its value
SCALARS: dict[str, tuple[str, Any]] = {
    "a word is a string": ("abc", "abc"),
    "nothing is null": ("", None),
    "a tilde is null": ("~", None),
    "yes is a boolean": ("yes", True),
    "y is a boolean": ("y", True),
    "off is a boolean": ("off", False),
    "nope is a string": ("nope", "nope"),
    "an integer": ("42", 42),
    "more digits than any number has are a string": ("1" * 5000, "1" * 5000),
    "a negative integer": ("-1", -1),
    "a positive integer": ("+1", 1),
    "underscores are left out": ("1_000", 1000),
    "a leading zero is octal": ("0755", 0o755),
    "a leading zero before an eight is decimal": ("08", 8),
    "0o is octal": ("0o17", 15),
    "0x is hexadecimal": ("-0x1F", -31),
    "0b is binary": ("0b11", 3),
    "the largest integer of Go": ("18446744073709551615", 2**64 - 1),
    "a larger hexadecimal integer": ("0x10000000000000000", 2**64),
    "a larger decimal integer is a float": ("9223372036854775807000", 9.223372036854776e21),
    "a float": ("1.5", 1.5),
    "a float that starts with its point": (".5", 0.5),
    "an exponent makes a float": ("15e-1", 1.5),
    "a whole float is an integer": ("1.0", 1),
    "a whole float with an exponent is one too": ("1e3", 1000),
    "a huge float stays one": ("1e21", 1e21),
    "a float beyond all bounds is a string": ("1e999", "1e999"),
    "a date is a string": ("2001-12-14", "2001-12-14"),
    "base 60 is a string": ("22:30", "22:30"),
    "a version is a string": ("1.2.3", "1.2.3"),
    "a sign is a string": ("-", "-"),
    "a quantity is a string": ("500m", "500m"),
}


@pytest.mark.parametrize(("text", "value"), SCALARS.values(), ids=SCALARS.keys())
def test_a_plain_scalar_means_what_it_means_to_kubectl(text: str, value: Any) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@pytest.mark.parametrize("text", [*WORDS, "1e3", "0o17", "1_000", "+.5", "0x1F", "5E8", "12", "a"])
def test_a_text_that_looks_like_another_type_is_written_so_that_it_stays_a_text(text: str) -> None:
    value = {text: [text]}

    assert load(format_yaml(value), "a.yaml", 1) == value


def test_a_text_of_several_lines_is_a_block() -> None:
    assert format_yaml({"text": "one\n  two", "line": "one"}) == (
        "text: |-\n  one\n    two\nline: one\n"
    )
