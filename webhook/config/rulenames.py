"""
Rules by name: ids and patterns of ids, in any case.

``find_rules`` is the entry point; options, the project file and the command ``rules`` use it.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from webhook.policy.catalogue import CATALOGUE

_WILDCARDS = "*?["


def find_rules(pattern: str, known: Iterable[str] = CATALOGUE) -> list[str]:
    """
    Find the rules that a pattern names: ``TSC101``, ``tsc101``, ``TSC1*``.

    Args:
        pattern: An id, or a pattern with the wildcards of a shell; its case does not matter.
        known: Ids to choose from.

    Returns:
        Ids, in the order of ``known``; empty if there are none.
    """
    wanted = pattern.strip().upper()
    return [rule for rule in known if fnmatchcase(rule.upper(), wanted)]


def describe_unknown(pattern: str, known: Iterable[str] = CATALOGUE) -> str:
    """Describe a pattern that names no rule, and what to write instead."""
    names = "matches no rule" if set(pattern) & set(_WILDCARDS) else "is not a rule"
    return f"{pattern!r} {names}: use some of {', '.join(known)}"
