"""``evenspread completion``: the script that makes a shell complete our commands."""

import click
from click.shell_completion import get_completion_class

from webhook.cli.command import Command

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "evenspread"
VARIABLE = "_EVENSPREAD_COMPLETE"  # the name that click derives from the program's


def complete(shell: str) -> None:
    """Print the completion script of a shell."""
    maker = get_completion_class(shell)
    assert maker is not None, "click knows these three"
    click.echo(maker(click.Command(PROGRAM), {}, PROGRAM, VARIABLE).source())


command = Command(
    "completion",
    callback=complete,
    params=[click.Argument(["shell"], type=click.Choice(SHELLS))],
    help="Print the completion script of a shell.",
    examples=(
        "source <(evenspread completion bash)",
        "evenspread completion zsh > _evenspread",
        "evenspread completion fish > evenspread.fish",
    ),
)
