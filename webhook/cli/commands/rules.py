"""Options and help of ``evenspread rules``; ``webhook.cli.rules`` runs it."""

import click

from webhook.cli.command import Command, ImportedFunction
from webhook.cli.completers import FLAGS
from webhook.cli.options import output as output_option

command = Command(
    "rules",
    callback=ImportedFunction("webhook.cli.rules:list_rules"),
    params=[
        click.Argument(["rule"], nargs=-1, metavar="[RULE]...", shell_complete=FLAGS["--rules"]),
        output_option("rules"),
    ],
    help=(
        "List the rules with their default actions, or explain those that RULE names: ids or "
        "patterns such as TSC1*, in any case. The action of a configurable rule can be set in the "
        "configuration."
    ),
    examples=(
        "evenspread rules",
        "evenspread rules TSC101",
        "evenspread rules 'TSC1*' -o markdown",
    ),
)
