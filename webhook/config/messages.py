"""
Error messages for configuration values: what the error is, and what to write instead.

``refusal`` and ``refuse`` raise them; ``failures`` translates the errors of pydantic. This module
must not import pydantic, so that commands without a configuration start without loading it.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from webhook.policy.escape import printable
from webhook.policy.paths import FieldPath, format_path

SHOWN_CHARS = 40  # characters of a value that a message repeats: enough to find it

_CLOSE = 0.7
"""
Minimum similarity, from 0 to 1, of a suggested word: three letters of ten may differ. Difflib's
default of 0.6 suggests unrelated words.
"""


class RefusalError(ValueError):
    """
    The problems that a model validator found; unlike a pydantic error, it can hold several.

    Attributes:
        problems: Path below the validated value, and a sentence without a final full stop.
    """

    def __init__(self, problems: Iterable[tuple[FieldPath, str]]) -> None:
        """Keep the problems; the message of the exception itself is never shown."""
        super().__init__("refused")
        self.problems = tuple(problems)


def refusal(problem: str, path: FieldPath = ()) -> RefusalError:
    """Create the exception for one problem."""
    return RefusalError([(path, problem)])


def refuse(problems: Iterable[tuple[FieldPath, str]]) -> None:
    """
    Reject a value if it has problems.

    Raises:
        RefusalError: There is at least one problem; contains all of them.
    """
    if found := list(problems):
        raise RefusalError(found)


def suggest_choice(value: object, known: Sequence[str]) -> str:
    """Describe a value that is not one of the valid ones, and suggest one."""
    return f"cannot be {format_value(value)}: {suggest_word(str(value), known)}"


def suggest_word(word: str, known: Sequence[str]) -> str:
    """Suggest the most similar known word, or list all of them."""
    *others, last = known
    either = f"{', '.join(others)} or {last}" if others else last
    return suggest_similar(word, known) or f"write {either}"


def suggest_similar(word: str, known: Sequence[str]) -> str:
    """Suggest the most similar known word; return an empty text if none is similar."""
    close = get_close_matches(word[: 2 * SHOWN_CHARS], known, 1, _CLOSE)
    return f"did you mean {close[0]}?" if close else ""


def format_value(value: object) -> str:
    """Format a value briefly, but recognisably."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"'{shorten(value)}'"
        case _:
            return shorten(f"{value}")


def find_repeated_names(names: Iterable[str | None], kind: str) -> Iterator[tuple[FieldPath, str]]:
    """
    Find entries of a list whose name an earlier entry has.

    Args:
        names: Those of all entries; None for an entry without a readable name.
        kind: What they name.
    """
    seen = set[str]()
    for i, name in enumerate(names):
        if name is None:
            continue
        if name in seen:
            yield (
                (i, "name"),
                f"{format_value(name)} names an earlier {kind} too: write another name",
            )
        seen.add(name)


def format_place(path: FieldPath) -> str:
    """Format a path, such as ``profiles[0].defaultConstraints[1].maxSkew``."""
    return format_path(tuple(step if isinstance(step, int) else shorten(step) for step in path))


def shorten(text: str | int) -> str:
    """Shorten a text, and escape unprintable characters."""
    text = str(text)
    return printable(text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}...")
