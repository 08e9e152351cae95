"""``evenspread rules``: list the catalogue of rules, or explain some of them."""

from collections.abc import Sequence

import click

from webhook.cli.output import OutputFormat, write_document
from webhook.cli.ruleoptions import explain_rule, parse_rules
from webhook.cli.terminal import Terminal
from webhook.policy.catalogue import CATALOGUE, DEFAULT_ACTIONS
from webhook.policy.rule_entry import CatalogueEntry, RuleScope

RULE_HEADINGS = ("rule", "action", "since", "configurable", "checked by", "title")
WIDE_HEADINGS = ("otherwise", "instead")


def list_rules(rule: tuple[str, ...], output: OutputFormat) -> None:
    """Write the rules that are named, or all of them."""
    named = parse_rules(",".join(rule), "RULE")
    entries = [entry for entry in CATALOGUE.values() if not rule or entry.id in named]
    match output:
        case OutputFormat.JSON | OutputFormat.YAML:
            for entry in entries:
                write_document(describe_rule(entry), output)
        case OutputFormat.MARKDOWN:
            click.echo(format_markdown(entries))
        case OutputFormat.NAME:
            click.echo("\n".join(entry.id for entry in entries))
        case OutputFormat.WIDE:
            Terminal().table((*RULE_HEADINGS, *WIDE_HEADINGS), map(_wide_row, entries))
        case OutputFormat.TABLE if rule:
            click.echo("\n\n".join(map(explain_rule, entries)))
        case _:
            Terminal().table(RULE_HEADINGS, map(_row, entries))


def describe_rule(entry: CatalogueEntry) -> dict[str, str | bool]:
    """Describe a rule as a document; one line of JSON."""
    return {
        "id": entry.id,
        "category": str(entry.category),
        "action": str(entry.action),
        "configurable": entry.id in DEFAULT_ACTIONS,
        "checkedBy": str(entry.scope or ""),
        "since": str(entry.since),
        "title": entry.title,
        "why": entry.effect,
        "fix": entry.fix,
    }


def format_markdown(entries: Sequence[CatalogueEntry]) -> str:
    """Format rules as a table of GitHub Flavored Markdown."""
    rows = [RULE_HEADINGS, ("---",) * len(RULE_HEADINGS), *map(_row, entries)]
    escaped = ((cell.replace("|", r"\|") for cell in row) for row in rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in escaped)


def _row(entry: CatalogueEntry) -> tuple[str, ...]:
    configurable = "yes" if entry.id in DEFAULT_ACTIONS else "no"
    checked = {None: "", RuleScope.AUDIT: "audit"}.get(entry.scope, "admission, audit")
    return entry.id, str(entry.action), str(entry.since), configurable, checked, entry.title


def _wide_row(entry: CatalogueEntry) -> tuple[str, ...]:
    return *_row(entry), entry.effect, entry.fix
