"""
Base classes of all commands: environment variables for options, and examples in the help.

``ImportedFunction`` lets the help of a command be shown without the modules that run it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from webhook.cli.garbage import pause_garbage_collection

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


@dataclass(frozen=True)
class ImportedFunction:
    """
    A function whose module is imported only when the function is called.

    The help of a command with such a callback is shown without the modules that run the command.

    Attributes:
        path: Module and name, written as an entry point: ``webhook.cli.audit:audit``.
    """

    path: str

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, name = self.path.partition(":")
        with pause_garbage_collection():  # modules are kept
            function: Callable[..., Any] = getattr(import_module(module), name)
        return function

    def __call__(self, *arguments: Any, **values: Any) -> Any:
        """Import and call the function."""
        return self.load()(*arguments, **values)


class Command(click.Command):
    """A command whose help ends with examples."""

    def __init__(
        self, name: str, *, examples: Iterable[str], last_value_wins: bool = False, **settings: Any
    ) -> None:
        """
        Create a command.

        Args:
            examples: Shell command lines, which are shown unwrapped.
            last_value_wins: Whether an option that takes one value may be given again, to replace
                the value that an image or a chart gives to it.
        """
        super().__init__(name, context_settings=dict(CONTEXT), **settings)
        self._last_value_wins = last_value_wins
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """
        Parse the arguments.

        An error about a missing or stray file name mentions ``-f``. An option that takes one value
        may be given only once, so that no value is ignored.
        """
        try:
            if not (ctx.resilient_parsing or self._last_value_wins):
                self._check_repetition(ctx, args)
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

    def _check_repetition(self, ctx: click.Context, args: list[str]) -> None:
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        single = [
            option
            for option in given
            if isinstance(option, click.Option) and not (option.multiple or option.is_flag)
        ]
        for option in single:
            if single.count(option) > 1:
                problem = f"{option.opts[-1]} is given several times, but takes one value."
                raise click.UsageError(problem, ctx=ctx)

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
