"""
Options that select rules by id or pattern, and the explanations of rules.

``rules_options`` creates ``--rules`` and ``--exclude-rules``; ``explain_rules`` is the text of
``validate --explain`` and of ``rules RULE``.
"""

import click

from webhook.cli.completers import FLAGS
from webhook.config.rulenames import describe_unknown, find_rules
from webhook.errors import ConfigError
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.rule_entry import CatalogueEntry

RULES_METAVAR = "ID,..."


def rules_options(words: str) -> list[click.Option]:
    """
    Create both options; their values are sets of rule ids, ``rules`` and ``exclude_rules``.

    Args:
        words: The help of ``--rules``; an empty set stands for all rules.
    """
    excluding = "Leave out these rules, for example TSC110 or TSC1*."
    return [_option("--rules", words), _option("--exclude-rules", excluding)]


class RuleSelection(frozenset[str]):
    """
    The ids of rules that an option selects.

    Attributes:
        by_id: Those that are written as ids, in any case; patterns select the others.
    """

    by_id: frozenset[str] = frozenset()


def parse_rules(written: str, flag: str) -> RuleSelection:
    """
    Find the rules that a list of ids and patterns names, with commas between them.

    Raises:
        ConfigError: A part names no rule.
    """
    found, by_id = set[str](), set[str]()
    for pattern in filter(None, map(str.strip, written.split(","))):
        rules = find_rules(pattern)
        if not rules:
            raise ConfigError(describe_unknown(pattern), flag)
        found.update(rules)
        by_id.update(rule for rule in rules if rule.upper() == pattern.upper())
    selection = RuleSelection(found)
    selection.by_id = frozenset(by_id)
    return selection


def explain_rule(entry: CatalogueEntry) -> str:
    """Explain a rule: what it demands, what happens otherwise, the fix, and where it runs."""
    lines = f"{entry.id}: {entry.title}\n  otherwise: {entry.effect}\n  instead:   {entry.fix}"
    return f"{lines}\n  checked by: {entry.scope}" if entry.scope else lines


def explain_rules(written: str, flag: str) -> str:
    """
    Explain the rules that a list names, in the order of the catalogue.

    Raises:
        ConfigError: A part names no rule.
    """
    found = parse_rules(written, flag)
    return "\n\n".join(explain_rule(entry) for rule, entry in CATALOGUE.items() if rule in found)


def _option(flag: str, words: str) -> click.Option:
    def convert(
        _ctx: click.Context, _option: click.Parameter, written: tuple[str, ...]
    ) -> RuleSelection:
        return parse_rules(",".join(written), flag)

    words = f"{words} May be repeated."
    return click.Option(
        [flag],
        metavar=RULES_METAVAR,
        multiple=True,
        callback=convert,
        help=words,
        shell_complete=FLAGS[flag],
    )
