"""
What a rule reports, and its one-line form for kubectl.

``RuleViolation`` is what a check yields, ``AdviceFinding`` adds the rule's id. What is done about a
finding is decided in ``advise``.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from webhook.policy.api import fielderrors
from webhook.policy.api.fielderrors import FieldError
from webhook.policy.escape import printable, quote

LINE_CHARACTERS = 120  # of a warning, as kubectl and the API conventions recommend
LINES = 3  # warnings about one object; more are not read
SHOWN_CHARACTERS = 80  # of a value in a message; label values have at most 63
NAMED_EXAMPLES = 3  # names in a message before "and 2 more"

WAIT_FOR_NODES = (
    "# wait until its nodes are ready, and neither cordoned nor tainted: kubectl describe nodes"
)
"""What to do about nodes that are cordoned, not ready or tainted for now."""

_ENTRY = re.compile(r"topologySpreadConstraints(\[[0-9]+\])?")
"""The part of a field's path that a warning shows; the whole path would fill the line."""


class RuleViolation(NamedTuple):
    """
    One violation of a rule.

    Attributes:
        field: Path of the field in the object, as
            ``spec.template.spec.topologySpreadConstraints[0]``.
        problem: The problem with the real values; a sentence without its full stop.
        instead: YAML to write instead of the field, or a comment with what to do.
        brief: A short form of the problem for a warning, which shows only the constraint's path,
            so it names the member; empty if the problem is short itself.
        profile: The profile whose defaults violate the rule; empty for the object itself.
    """

    field: str
    problem: str
    instead: str
    brief: str = ""
    profile: str = ""

    def by_defaults(self, profile: str) -> "RuleViolation":
        """Return the violation as one by the defaults of a profile, which its texts name."""
        prefix = f"with the defaults of profile {profile}, "
        return self._replace(
            problem=f"{prefix}{self.problem}",
            brief=f"{prefix}{self.brief or self.problem}",
            profile=profile,
        )


class AdviceFinding(msgspec.Struct, frozen=True, gc=False):
    """A ``RuleViolation``, and the id of the rule that reports it."""

    rule: str
    field: str
    problem: str
    instead: str
    brief: str = ""
    profile: str = ""

    @property
    def error(self) -> FieldError:
        """The finding as a cause of a denial, in kube-apiserver's format."""
        done = self.instead.removeprefix("# ")
        what = f"write instead: {done}" if done == self.instead else done
        return fielderrors.forbidden(self.field, f"{self.problem}; {what}")

    @property
    def line(self) -> str:
        """The finding as a warning of at most ``LINE_CHARACTERS`` printable characters."""
        entry = _ENTRY.search(self.field)
        where = entry[0] if entry else self.field
        return clip(f"{self.rule} {where}: {self.brief or self.problem}", LINE_CHARACTERS)


def format_warnings(findings: Sequence[AdviceFinding], most: int = LINES) -> tuple[str, ...]:
    """
    Format the findings on one object, the most severe first, as warnings.

    If there are more findings than the ``most`` lines, the last line counts the rest.
    """
    if len(findings) <= most:
        return tuple(finding.line for finding in findings)
    shown, rest = findings[: most - 1], findings[most - 1 :]
    rules = ", ".join(dict.fromkeys(finding.rule for finding in rest))
    more = clip(f"and {len(rest)} more findings ({rules}): evenspread audit", LINE_CHARACTERS)
    return (*(finding.line for finding in shown), more)


def count_of(many: int, thing: str) -> str:
    """Format a number of things, as ``1 pod`` and ``2 pods``."""
    return f"1 {thing}" if many == 1 else f"{many} {thing}s"


def all_of(many: int, thing: str) -> str:
    """Name all of a number of things: ``the pod``, ``both pods``, and ``all 3 pods``."""
    few = {1: f"the {thing}", 2: f"both {thing}s"}
    return few.get(many, f"all {many} {thing}s")


def quote_value(text: str) -> str:
    """Quote a value for a message, shortened to ``SHOWN_CHARACTERS``."""
    return quote(clip(text, SHOWN_CHARACTERS))


def join_names(names: Sequence[str], total: int | None = None, most: int = NAMED_EXAMPLES) -> str:
    """
    Join the first ``most`` names of many, as ``a, b, c and 2 more``.

    ``total`` is how many there are; None for as many as are given.
    """
    first = ", ".join(clip(name, SHOWN_CHARACTERS) for name in names[:most])
    more = (len(names) if total is None else total) - len(names[:most])
    return f"{first} and {more} more" if more else first


def clip(text: str, characters: int) -> str:
    """Shorten a text, and escape control characters, which API servers do not pass on."""
    text = text[: characters + 1]  # first: clients control the length
    line = printable(text)
    return line if len(line) <= characters else f"{line[: characters - 3]}..."
