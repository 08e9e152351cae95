"""The program ``evenspread`` and its table of commands; a command is imported when called."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from webhook import __version__
from webhook.cli.command import CONTEXT, write_examples
from webhook.cli.exits import ClosedOutputError


@dataclass(frozen=True)
class CommandRow:
    """
    A command whose module is not imported yet.

    Attributes:
        summary: One line for the list of commands.
        example: One command line to try.
    """

    summary: str
    example: str


COMMANDS = {
    "serve": CommandRow(
        "Run the admission server.",
        "evenspread serve --standalone --facts cluster/ --config config.yaml",
    ),
    "review": CommandRow(
        "Show what the server would answer, without starting a server.",
        "evenspread review -f pod.yaml --config config.yaml",
    ),
    "validate": CommandRow(
        "Check manifests against the API rules, with kube-apiserver's messages.",
        "evenspread validate -f manifests/",
    ),
    "explain": CommandRow(
        "Show why a pod can or cannot be placed, and which change would place it.",
        "evenspread explain -f pod.yaml --facts cluster/",
    ),
    "audit": CommandRow(
        "Find problems in the workloads of a cluster or of manifests.",
        "evenspread audit -f manifests/ --config config.yaml",
    ),
    "fix": CommandRow(
        "Fix findings in manifest files.",
        "evenspread fix -f manifests/ --diff",
    ),
    "rules": CommandRow(
        "List the rules, or explain some of them.",
        "evenspread rules TSC101",
    ),
    "test": CommandRow(
        "Run suites of manifests with expected verdicts.",
        "evenspread test tests/",
    ),
    "config": CommandRow(
        "Check configuration files, and show their effect.",
        "evenspread config check --config config.yaml",
    ),
    "policy": CommandRow(
        "Try changes of policies before they are applied.",
        "evenspread policy diff -f new.yaml --facts cluster/",
    ),
    "certs": CommandRow(
        "Show served and trusted certificates, and request new ones.",
        "evenspread certs --state .evenspread",
    ),
    "doctor": CommandRow(
        "Check an installation, and advise how to repair it.",
        "evenspread doctor -n evenspread",
    ),
    "scaledown": CommandRow(
        "Show the pods with ranks in a cluster, or remove their ranks.",
        "evenspread scaledown --remove --dry-run",
    ),
    "rebalance": CommandRow(
        "Plan the fewest evictions after which constraints hold again.",
        "evenspread rebalance deploy/web -n shop --facts cluster/",
    ),
    "export": CommandRow(
        "Write the policy as objects that work without a webhook.",
        "evenspread export map --config config.yaml",
    ),
    "completion": CommandRow(
        "Print the completion script of a shell.",
        "source <(evenspread completion bash)",
    ),
}
"""Name -> row, in the order of the documentation; ``webhook.cli.commands`` has their modules."""


class Program(click.Group):
    """Group of commands whose modules are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the documentation."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if the name is unknown."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"webhook.cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; pass our commands to the error, as click knows no names to suggest."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.summary) for name, row in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write an example of every command."""
        del ctx
        write_examples(formatter, (row.example for row in COMMANDS.values()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing them."""
        commands = [
            CompletionItem(name, help=row.summary)
            for name, row in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Call a command; convert a closed pipe, which click would report as a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedOutputError from error


program = Program(
    "evenspread",
    help="Check, default and explain Kubernetes pod topology spread constraints.",
    context_settings={**CONTEXT, "auto_envvar_prefix": None},  # EVENSPREAD_VERSION is not a flag
)
click.version_option(__version__, message="%(prog)s %(version)s")(program)
