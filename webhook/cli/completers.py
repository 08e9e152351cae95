"""
Values that shells complete: rules, formats, feature gates, contexts, namespaces.

``FLAGS`` is the entry point. A function must not write, and returns nothing rather than raising,
since it runs while the user types, in a process of its own, whose stderr it discards.
"""

import os
from collections.abc import Callable, Iterable
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem

from webhook.cli.command import ImportedFunction
from webhook.policy.api.gates import Gate
from webhook.policy.api.versions import NEWEST_VERSION, OLDEST_VERSION, Version
from webhook.policy.catalogue import CATALOGUE

Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completer(find: Callable[[click.Context], Iterable[tuple[str, str]]]) -> Completer:
    """
    Create the function of an option with one value, or several with commas between them.

    Args:
        find: Lists the values and their help; it may fail.
    """

    def complete(
        ctx: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        head, comma, last = incomplete.rpartition(",")
        _silence_stderr()
        try:
            found = list(find(ctx))
        except Exception:  # noqa: BLE001  # a kubeconfig or a plugin may fail in any way, silently
            return []
        return [
            CompletionItem(f"{head}{comma}{value}", help=words)
            for value, words in found
            if value.lower().startswith(last.lower())
        ]

    return complete


def find_rules(_ctx: click.Context) -> Iterable[tuple[str, str]]:
    """List the rules with their titles."""
    return [(rule, entry.title) for rule, entry in CATALOGUE.items() if rule.isupper()]


def find_gates(_ctx: click.Context) -> Iterable[tuple[str, str]]:
    """List the settings of feature gates."""
    return [(f"{gate}={state}", "") for gate in Gate for state in ("true", "false")]


def find_versions(_ctx: click.Context) -> Iterable[tuple[str, str]]:
    """List the Kubernetes versions, the newest first."""
    minors = range(NEWEST_VERSION.minor, OLDEST_VERSION.minor - 1, -1)
    return [(str(Version(1, minor)), "") for minor in minors]


def complete_formats(formats: Iterable[str]) -> Completer:
    """Create the function of an option with one of these formats."""
    return completer(lambda _: [(name, "") for name in formats])


complete_policies = completer(ImportedFunction("webhook.cli.inputs.clusternames:find_policies"))

FLAGS: dict[str, Completer] = {
    "--rules": completer(find_rules),
    "--exclude-rules": completer(find_rules),
    "--explain": completer(find_rules),
    "--feature-gates": completer(find_gates),
    "--kube-version": completer(find_versions),
    "--context": completer(ImportedFunction("webhook.cli.inputs.clusternames:find_contexts")),
    "--namespace": completer(ImportedFunction("webhook.cli.inputs.clusternames:find_namespaces")),
}
"""The function of each option whose values are completed; others are choices or paths."""


def _silence_stderr() -> None:
    """
    Discard what is written to stderr until the process ends, which is soon after.

    Threads and exit handlers write there, too: asyncio's thread that waits for a credential plugin
    reports a loop that a deadline has closed, whenever the killed plugin ends.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)
