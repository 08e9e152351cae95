"""What all commands have in common: variables of the environment, and examples in the help."""

from collections.abc import Iterable
from typing import Any

import click

CONTEXT: dict[str, Any] = {
    "auto_envvar_prefix": "EVENSPREAD",
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,  # as wide as the code; click would stop at 80
}
"""
Settings of every command. Given to each one, the prefix stands before the flag's own name alone:
``EVENSPREAD_KUBE_VERSION``, not ``EVENSPREAD_VALIDATE_KUBE_VERSION``.
"""

FILES = "filename"
"""The parameter that ``-f`` fills."""

_STRAY = "Got unexpected extra argument"  # as click says it


class Command(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, name: str, *, examples: Iterable[str], **settings: Any) -> None:
        """
        Make a command.

        Args:
            name: As it is called.
            examples: Lines of a shell; shown as they are.
            settings: As for click.
        """
        super().__init__(name, context_settings=dict(CONTEXT), **settings)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; tells how files are named to whoever names them otherwise."""
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            if error.param is None or error.param.name != FILES:
                raise
            advice = "Name what to read, as in `-f manifests/`; `-f -` is the standard input."
            raise click.MissingParameter(advice, ctx=error.ctx, param=error.param) from None
        except click.UsageError as error:
            named = any(option.name == FILES for option in self.params)
            if not (named and error.message.startswith(_STRAY)):
                raise
            advice = "Write -f before each file, or name their folder."
            raise click.UsageError(f"{error.message}. {advice}", ctx=error.ctx) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples."""
        del ctx
        write_examples(formatter, self.examples)


class Group(Command, click.Group):
    """A group of commands; so is its help."""


def write_examples(formatter: click.HelpFormatter, examples: Iterable[str]) -> None:
    """Write a section of examples, which are never wrapped."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':{formatter.current_indent}}{example}\n")
