"""
What a rule says, what is found, and how a finding is told in one line of kubectl.

What is done about a finding is not here.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from webhook.policy.api import fielderrors
from webhook.policy.api.fielderrors import FieldError

LINE_CHARACTERS = 120  # of a warning; kubectl and the API's conventions ask for no longer ones
LINES = 3  # warnings about one object; more would not be read
SHOWN_CHARACTERS = 80  # of a value that is repeated in a message; labels have at most 63
NAMED_EXAMPLES = 3  # examples that a message names before it says how many more there are

_ENTRY = re.compile(r"topologySpreadConstraints(\[[0-9]+\])?")
"""What a line says of a field: a path of the whole object would leave no room for anything else."""


class RuleViolation(NamedTuple):
    """
    One thing that a rule says.

    Attributes:
        field: Its path in the object, as ``spec.template.spec.topologySpreadConstraints[0]``.
        problem: What is wrong, with the real values; a sentence without its full stop.
        instead: What to write in the place of the field, in YAML; where nothing is to be written,
            a comment that says what to do.
        brief: The same in few words that name the member of the constraint, for a line of kubectl,
            where the field is only named by its constraint; empty if the problem does.
    """

    field: str
    problem: str
    instead: str
    brief: str = ""


class AdviceFinding(msgspec.Struct, frozen=True, gc=False):
    """
    A remark, and the rule that made it.

    Attributes:
        rule: Its id.
    """

    rule: str
    field: str
    problem: str
    instead: str
    brief: str = ""

    @property
    def error(self) -> FieldError:
        """The finding as a cause of a denial, as kube-apiserver tells of one."""
        done = self.instead.removeprefix("# ")
        what = f"write instead: {done}" if done == self.instead else done
        return fielderrors.forbidden(self.field, f"{self.problem}; {what}")

    @property
    def line(self) -> str:
        """The finding as a warning: at most ``LINE_CHARACTERS``, all of them printable."""
        entry = _ENTRY.search(self.field)
        where = entry[0] if entry else self.field
        return clip(f"{self.rule} {where}: {self.brief or self.problem}", LINE_CHARACTERS)


def to_finding(rule: str, remark: RuleViolation) -> AdviceFinding:
    """A remark as the finding of a rule."""
    return AdviceFinding(rule, *remark)


def format_warnings(findings: Sequence[AdviceFinding], most: int = LINES) -> tuple[str, ...]:
    """
    Tell of findings in lines.

    Args:
        findings: Of one object, the gravest first.
        most: Lines to use, at least 1; if there are more findings, the last line counts the rest.
    """
    if len(findings) <= most:
        return tuple(finding.line for finding in findings)
    told, rest = findings[: most - 1], findings[most - 1 :]
    rules = ", ".join(dict.fromkeys(finding.rule for finding in rest))
    more = clip(f"and {len(rest)} more findings ({rules}): evenspread audit", LINE_CHARACTERS)
    return (*(finding.line for finding in told), more)


def count_of(many: int, thing: str) -> str:
    """A number of things, as ``1 pod`` and ``2 pods``."""
    return f"1 {thing}" if many == 1 else f"{many} {thing}s"


def quote_value(text: str) -> str:
    """A value as messages repeat it: quoted, and short."""
    return fielderrors.quote(clip(text, SHOWN_CHARACTERS))


def join_names(names: Sequence[str], total: int | None = None) -> str:
    """
    The first names of many, as ``a, b, c and 2 more``.

    Args:
        names: At least one, in order; need not be all there are.
        total: How many there are; None for as many as are given.
    """
    told = [clip(name, SHOWN_CHARACTERS) for name in names[:NAMED_EXAMPLES]]
    more = (len(names) if total is None else total) - len(told)
    return f"{', '.join(told)} and {more} more" if more else ", ".join(told)


def clip(text: str, characters: int) -> str:
    """A text that is not too long, without control characters, which API servers do not pass on."""
    text = text[: characters + 1]  # first, since a client decides how long it is
    line = text if text.isprintable() else fielderrors.quote(text)[1:-1]
    return line if len(line) <= characters else f"{line[: characters - 3]}..."
