"""``evenspread completion``: print the completion script of a shell."""

import click
from click.shell_completion import get_completion_class

PROGRAM = "evenspread"
COMPLETION_VARIABLE = "_EVENSPREAD_COMPLETE"  # derived by click from the program's name


def complete(shell: str) -> None:
    """Print the completion script of a shell."""
    maker = get_completion_class(shell)
    assert maker is not None, "click knows these three"
    click.echo(maker(click.Command(PROGRAM), {}, PROGRAM, COMPLETION_VARIABLE).source())
