"""``evenspread completion``: print the completion script of a shell."""

import click
from click.shell_completion import get_completion_class

from webhook.cli.command import Command

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "evenspread"
COMPLETION_VARIABLE = "_EVENSPREAD_COMPLETE"  # derived by click from the program's name


def complete(shell: str) -> None:
    """Print the completion script of a shell."""
    maker = get_completion_class(shell)
    assert maker is not None, "click knows these three"
    click.echo(maker(click.Command(PROGRAM), {}, PROGRAM, COMPLETION_VARIABLE).source())


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
