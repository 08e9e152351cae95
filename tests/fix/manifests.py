"""Values written as people write YAML and JSON: in many styles, with comments between the lines."""

import json
import re
from collections import Counter
from typing import Any

import yaml
from hypothesis import strategies as st

from webhook.fix.changes import Put, Remove

COMMENT = "# comment "

keys = st.sampled_from(["a", "b", "app", "é", "x.io/y"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 12)
    | st.sampled_from(["", "web", "it's", "# no", "a: b", "yes", "two\nlines\n", "😀", "[", "-"])
)
values = st.dictionaries(
    keys,
    st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=10,
    ),
    min_size=1,
)


@st.composite
def texts(draw: st.DrawFn, written: st.SearchStrategy[Any]) -> str:
    """A document of JSON or YAML."""
    value = draw(written)
    if draw(st.integers(0, 3)) == 0:
        indent = draw(st.sampled_from([None, 2, "\t"]))
        ascii_only = draw(st.booleans())
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    style = draw(st.sampled_from([False, None, True]))
    text = yaml.dump(
        value,
        default_flow_style=style,
        indent=draw(st.sampled_from([2, 4])),
        width=draw(st.sampled_from([20, 1000])),
        allow_unicode=draw(st.booleans()),
        sort_keys=False,
    )
    if style is False and "|" not in text and not re.search(r"[\"']", text):
        text = "".join(draw(add_comment(line)) for line in text.splitlines(keepends=True))
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    end = "" if "|" in text else draw(st.sampled_from(["", ending]))
    return text.rstrip("\n").replace("\n", ending) + (end if "|" not in text else ending)


def add_comment(line: str) -> st.SearchStrategy[str]:
    """A line as it is, or with a comment above it, or behind it."""
    number = st.integers(0, 99)
    margin = re.match(" *", line)
    assert margin is not None
    return (
        st.just(line)
        | number.map(lambda n: f"{margin[0]}{COMMENT}{n}\n{line}")
        | number.map(lambda n: f"{line[:-1]}  {COMMENT}{n}\n")
    )


def comments(text: str) -> Counter[str]:
    """The comments of a text, wherever they stand."""
    return Counter(re.findall(rf"{COMMENT}\d+", text))


def changes(value: Any) -> st.SearchStrategy[Put | Remove]:
    """A change of any part of a value."""
    return st.sampled_from(list(_changes((), value))).flatmap(st.just)


def _changes(path: tuple[str | int, ...], value: Any) -> list[Put | Remove]:
    found: list[Put | Remove] = []
    members: Any = ()
    if isinstance(value, dict):
        members = value.items()
        found += [Put((*path, "k"), new) for new in (1, "on", {"m": {"n": ["o"]}}, [{"p": "q"}])]
    elif isinstance(value, list):
        members = enumerate(value)
        found += [Put((*path, len(value)), new) for new in (1, {"m": "n", "o": [1]})]
    for step, inner in members:
        at = (*path, step)
        found += [Remove(at), Put(at, 7), Put(at, "new"), Put(at, {"m": {"n": "o"}})]
        found += _changes(at, inner)
    return found
