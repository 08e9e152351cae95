"""Values of YAML documents."""

from typing import Any

from webhook.manifests import (
    Document,
    parse,
)


def values(text: str, *, unique_keys: bool = False) -> list[Any]:
    read = list(parse(text, "x.yaml", unique_keys=unique_keys))
    return [item.value if isinstance(item, Document) else str(item) for item in read]


def test_helm_is_named_where_its_braces_stand() -> None:
    (said,) = values("a: 1\n{{- if .Values.b }}\nb: 2\n")

    assert said.endswith("; render a chart with helm template first")


def test_a_tab_is_named_where_it_indents() -> None:
    (said,) = values("a:\n\tb: 1\n")

    assert said.endswith("; indent with spaces, not with a tab")


def test_a_key_may_be_asked_to_stand_once() -> None:
    text = "a: 1\nb:\n  c: 1\n  c: 2\n"

    assert values(text) == [{"a": 1, "b": {"c": 2}}]
    assert values(text, unique_keys=True) == ["x.yaml:4: duplicate key 'c': remove one of the two"]
