"""Base classes of all commands: environment variables for options, and examples in the help."""

from collections.abc import Iterable
from typing import Any

import click

CONTEXT: dict[str, Any] = {
    "auto_envvar_prefix": "EVENSPREAD",
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,  # columns, the line length of the code; the default of click is 80
}
"""
Settings of every command. On the command itself, the prefix applies to the flag's name alone:
``EVENSPREAD_KUBE_VERSION``, not ``EVENSPREAD_VALIDATE_KUBE_VERSION``.
"""

FILES = "filename"  # name of the parameter of ``-f``

_STRAY = "Got unexpected extra argument"  # a message of click


class Command(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, name: str, *, examples: Iterable[str], **settings: Any) -> None:
        """Create a command with examples, shell command lines, which are shown unwrapped."""
        super().__init__(name, context_settings=dict(CONTEXT), **settings)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an error about a missing or stray file name mentions ``-f``."""
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            if error.param is None or error.param.name != FILES:
                raise
            advice = "Name what to read, as in `-f manifests/`; `-f -` is the standard input."
            raise click.MissingParameter(advice, ctx=error.ctx, param=error.param) from None
        except click.UsageError as error:
            reads_files = any(option.name == FILES for option in self.params)
            if not (reads_files and error.message.startswith(_STRAY)):
                raise
            advice = "Write -f before every file, or name their folder."
            raise click.UsageError(f"{error.message}. {advice}", ctx=error.ctx) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        del ctx
        write_examples(formatter, self.examples)


class CommandGroup(Command, click.Group):
    """A group of commands whose help ends with examples."""


def write_examples(formatter: click.HelpFormatter, examples: Iterable[str]) -> None:
    """Write a section of examples, unwrapped."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':{formatter.current_indent}}{example}\n")
