"""
Lines of a text by the characters at which they start and end.

Source: YAML 1.1, section 5.4: which characters break a line; libyaml knows the same.
"""

import re

_RARE = "\r\x85\u2028\u2029"

_break = re.compile(f"\r\n|[\n{_RARE}]")
_blanks = re.compile(r"[ \t]*")


def line_start(text: str, position: int) -> int:
    """Where the line of a character starts."""
    start = text.rfind("\n", 0, position) + 1
    return max(start, *(text.rfind(each, start, position) + 1 for each in _RARE))


def line_end(text: str, position: int) -> int:
    """Where the line of a character ends, before its break."""
    found = _break.search(text, position)
    return found.start() if found else len(text)


def after_break(text: str, end: int) -> int:
    """Where the line after one that ends here starts."""
    found = _break.match(text, end)
    return found.end() if found else end


def break_near(text: str, position: int) -> str:
    """How the line of a character is broken; the last one as the one before it."""
    found = _break.search(text, position)
    if found is None:
        found = _break.match(text, max(line_start(text, position) - 1, 0))
    if found is None:
        return "\n"
    start = found.start()
    return "\r\n" if text[max(start - 1, 0) : start + 1] == "\r\n" else found[0]


def indentation(text: str, position: int) -> str:
    """The blanks at the start of the line of a character."""
    found = _blanks.match(text, line_start(text, position))
    assert found is not None, "it matches nothing, too"
    return found[0]
