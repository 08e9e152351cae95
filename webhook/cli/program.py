"""The program and its commands, each imported when it is called and not before."""

from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from webhook import __version__
from webhook.cli.command import CONTEXT, write_examples
from webhook.cli.exits import UnreadError


class CommandRow(NamedTuple):
    """
    A command, before its module is imported.

    Attributes:
        module: Has the command as ``command``.
        summary: One line for the list of commands.
        example: One line that a reader can try.
    """

    module: str
    summary: str
    example: str


COMMANDS = {
    "serve": CommandRow(
        "webhook.cli.serve",
        "Run the admission server.",
        "evenspread serve --standalone --cluster cluster/ --config config.yaml",
    ),
    "review": CommandRow(
        "webhook.cli.review",
        "Show what the server would answer, without one.",
        "evenspread review -f pod.yaml --config config.yaml",
    ),
    "validate": CommandRow(
        "webhook.cli.validate",
        "Check manifests by the API rules, in kube-apiserver's words.",
        "evenspread validate -f manifests/",
    ),
    "explain": CommandRow(
        "webhook.cli.explain",
        "Show why a pod can or cannot be placed, and what would let it.",
        "evenspread explain -f pod.yaml --cluster cluster/",
    ),
    "audit": CommandRow(
        "webhook.cli.audit",
        "Find what is wrong with the workloads of a cluster or of manifests.",
        "evenspread audit -f manifests/ --config config.yaml",
    ),
    "fix": CommandRow(
        "webhook.cli.fix",
        "Write into manifests what the messages say.",
        "evenspread fix -f manifests/ --diff",
    ),
    "test": CommandRow(
        "webhook.cli.test",
        "Run suites of manifests with expected answers.",
        "evenspread test tests/",
    ),
    "config": CommandRow(
        "webhook.cli.config",
        "Check configuration, and show what is in force.",
        "evenspread config check --config config.yaml",
    ),
    "certs": CommandRow(
        "webhook.cli.certs",
        "Show which certificates are served and trusted, and ask for new ones.",
        "evenspread certs --state .evenspread",
    ),
    "doctor": CommandRow(
        "webhook.cli.doctor",
        "Look at an installation as an on-call would, and say what to do.",
        "evenspread doctor -n evenspread",
    ),
    "completion": CommandRow(
        "webhook.cli.completion",
        "Print the completion script of a shell.",
        "source <(evenspread completion bash)",
    ),
}


class Program(click.Group):
    """A group of commands whose modules are imported late."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order in which they are explained."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        command: click.Command = import_module(row.module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a name that is none click knows of no others to suggest."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.summary) for name, row in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show an example of every command."""
        del ctx
        write_examples(formatter, (row.example for row in COMMANDS.values()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing any."""
        named = [
            CompletionItem(name, help=row.summary)
            for name, row in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Call a command; click would take a closed pipe for a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise UnreadError from error


program = Program(
    "evenspread",
    help="Check, default and explain Kubernetes pod topology spread constraints.",
    context_settings={**CONTEXT, "auto_envvar_prefix": None},  # EVENSPREAD_VERSION is no flag
)
click.version_option(__version__, message="%(prog)s %(version)s")(program)
