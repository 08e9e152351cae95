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
