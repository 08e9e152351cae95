"""Options and help of ``evenspread completion``; ``webhook.cli.completion`` runs it."""

import click

from webhook.cli.command import Command, ImportedFunction

SHELLS = ("bash", "zsh", "fish")


command = Command(
    "completion",
    callback=ImportedFunction("webhook.cli.completion:complete"),
    params=[click.Argument(["shell"], type=click.Choice(SHELLS))],
    help="Print the completion script of a shell.",
    examples=(
        "source <(evenspread completion bash)",
        "evenspread completion zsh > _evenspread",
        "evenspread completion fish > evenspread.fish",
    ),
)
