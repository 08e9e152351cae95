"""
The option ``-l``: a label selector as kubectl takes it.

``selector_option`` is the entry point. Its value is a LabelSelector; without the option, an empty
one, which selects all objects.

Source: apimachinery pkg/labels selector.go ``Parse``, without the operators ``gt`` and ``lt``.
"""

import re
from collections.abc import Iterator
from typing import Any

import click

from webhook.errors import ConfigError
from webhook.policy.api.labels import key_problems, value_problems
from webhook.policy.model import LabelSelector, LabelSelectorRequirement
from webhook.policy.paths import find_value, is_object
from webhook.policy.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, SELECT_ALL, matches

FLAG = "-l"

_HOW = "write one such as app=web,tier!=db or 'app in (web, api),!canary'"
_comma = re.compile(r",(?![^(]*\))")  # outside of parentheses
_set = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)").fullmatch
_pair = re.compile(r"(?P<key>[^\s=!]+)\s*(?P<operator>==?|!=)\s*(?P<value>\S*)").fullmatch
_key = re.compile(r"(?P<negation>!?)\s*(?P<key>[^\s=!()]+)").fullmatch


def selector_option(
    what: str, others: str = " The other objects still count as facts."
) -> click.Option:
    """
    Create the option.

    Args:
        what: What is selected; begins the help.
        others: What happens to other objects; ends it.
    """

    def parse(_ctx: click.Context, _option: click.Parameter, written: str) -> LabelSelector:
        return parse_selector(written)

    return click.Option(
        [FLAG, "--selector"],
        metavar="SELECTOR",
        default="",
        callback=parse,
        help=f"{what} whose own labels match, such as app=web or 'tier in (web, api)'.{others}",
    )


def parse_selector(written: str) -> LabelSelector:
    """
    Parse a label selector; an empty one selects all objects.

    Raises:
        ConfigError: It is invalid.
    """
    parts = [part.strip() for part in _comma.split(written)] if written.strip() else []
    return LabelSelector(match_expressions=tuple(map(_parse_requirement, parts)))


def describe_selected(what: str, selector: LabelSelector) -> str:
    """Describe the objects to work on, as ``object with a pod template that -l selects``."""
    return what if selector == SELECT_ALL else f"{what} that {FLAG} selects"


def selects(selector: LabelSelector, value: Any) -> bool:
    """Whether a selector selects an object, as a JSON value, by its own labels."""
    if selector == SELECT_ALL:
        return True
    found = find_value(value, ("metadata", "labels"))
    return matches(selector, found if is_object(found) else {})


def _parse_requirement(part: str) -> LabelSelectorRequirement:
    if found := _set(part):
        operator = IN if found["operator"] == "in" else NOT_IN
        values = tuple(value.strip() for value in found["values"].split(","))
    elif found := _pair(part):
        operator, values = NOT_IN if found["operator"] == "!=" else IN, (found["value"],)
    elif found := _key(part):
        operator, values = DOES_NOT_EXIST if found["negation"] else EXISTS, ()
    else:
        raise ConfigError(f"{part!r} is not a label selector: {_HOW}", FLAG)
    for problem in _find_problems(found["key"], values):
        raise ConfigError(f"{part!r} is not a label selector: {problem}", FLAG)
    return LabelSelectorRequirement(found["key"], operator, values)


def _find_problems(key: str, values: tuple[str, ...]) -> Iterator[str]:
    for problem in key_problems(key):
        yield f"{key!r} {problem}"
    for value in values:
        for problem in value_problems(value):
            yield f"{value!r} {problem}"
