"""Options and help of ``evenspread explain``; ``webhook.cli.explain`` runs it."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.labelselectors import selector_option
from webhook.cli.projectoptions import project_options
from webhook.explain.rollout import PLACED_REPLICAS

REPLICAS, ROLLOUT = "replicas", "rollout"  # what to simulate
_FLAG = "--what-if"


class _WhatIfType(click.ParamType[str]):
    """
    What to simulate; empty for nothing.

    The environment variable may also have the value of a flag, as for an option without a value.
    """

    name = "what-if"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Convert a text."""
        if value in ("", REPLICAS, ROLLOUT):
            return str(value)
        try:
            return REPLICAS if click.BOOL.convert(value, param, ctx) else ""
        except click.BadParameter:
            self.fail(f"{value!r} is not known: did you mean {_FLAG} {ROLLOUT}?", param, ctx)


class _ExplainCommand(Command):
    """The command, whose option ``--what-if`` has an optional value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        return super().parse_args(ctx, list(_complete(args)))


def _complete(args: Iterable[str]) -> Iterator[str]:
    """
    Write ``--what-if`` with its value in one argument.

    What follows the option is its value only if it is ``rollout``, or a type error of it; else it
    is a subject.
    """
    waiting = iter(args)
    for argument in waiting:
        if argument != _FLAG:
            yield argument
            if argument == "--":
                yield from waiting
            continue
        following = next(waiting, None)
        is_value = following is not None and _resembles_rollout(following)
        yield f"{_FLAG}={following if is_value else REPLICAS}"
        if following is not None and not is_value:
            yield from _complete([following, *waiting])


def _resembles_rollout(word: str) -> bool:
    """Whether a word is ``rollout`` or nearly so; the plural is a kind, and pods have digits."""
    is_kind = word.lower() == f"{ROLLOUT}s"
    return word.isalpha() and not is_kind and bool(get_close_matches(word, [ROLLOUT], 1, 0.8))


_WHAT_IF = (
    click.Option(
        [_FLAG],
        metavar=f"[{ROLLOUT}]",
        type=_WhatIfType(),
        default="",
        help="Simulate placing the replicas that are desired but not running, one by one, "
        f"and count those left Pending. With {ROLLOUT}, simulate the rollout of a new revision, "
        "step by step; the other changes come before it.",
    ),
    options.repeated(
        "--without",
        "KEY=VALUE",
        "Simulate the loss of the nodes with this label, for example zone=us-1c. zone, region and "
        "hostname stand for the well-known labels, unless a node or the pod uses such a key.",
    ),
    options.repeated("--cordon", "NODE", "Simulate that this node is unschedulable."),
    click.Option(
        ["--scale"],
        metavar="N",
        type=click.IntRange(0, PLACED_REPLICAS),
        help="Simulate N desired replicas. Pods are removed in the order of their controller.",
    ),
    options.repeated(
        "--add-nodes",
        "KEY=VALUE:N",
        "Simulate N more nodes with this label, for example zone=us-1d:3; separate several "
        "labels by commas.",
    ),
)
"""Any of these options simulates something."""

command = _ExplainCommand(
    "explain",
    callback=ImportedFunction("webhook.cli.explain:explain"),
    params=[
        click.Argument(["subject"], nargs=-1, metavar="[KIND/NAME]..."),
        *file_options(
            "Manifests with pods or workloads to explain", required=False, positional=False
        ),
        *project_options(
            "It names the files to read unless -f or the live cluster is named, what to leave out, "
            "the facts, the configuration and the version; its rules do not apply."
        ),
        *options.FACTS_SOURCES,
        options.namespace(
            "Explain",
            "Default: for KIND/NAME, the namespace of the context if the live cluster is read, or "
            "else default.",
        ),
        click.Option(
            ["-A", "--all-namespaces"], is_flag=True, help="Select in all namespaces, with -l."
        ),
        selector_option("Without names, explain only objects"),
        *_WHAT_IF,
        *options.POLICY,
        options.output(
            "explain",
            "json writes one document per line, html a page with diagrams, name the objects whose "
            "pods find no node, and wide does not shorten tables and names",
        ),
    ],
    help=(
        "Explain where a pod can be placed, and why. Name pods or workloads as KIND/NAME or KIND "
        "NAME, select them as KIND -l SELECTOR, or give manifests with -f. For a workload, the "
        "next pod is explained. Each constraint is shown with the pods of each domain, the global "
        "minimum, the skew and the excluded nodes. Each node is shown with its score. For a pod "
        "that cannot be placed, the smallest changes that would place it are shown. The exit code "
        "is 1 if the pod is not running and no node can take it. What is not considered, such as "
        "resources and volumes, is listed for each pod. Without -f and --facts, the current "
        "context is read. "
        f"{options.FACTS_RULE}"
    ),
    examples=(
        "evenspread explain -f pod.yaml --facts cluster/",
        "evenspread explain deploy web -n shop --facts cluster/",
        "evenspread explain deploy -l app=web --context prod -n shop",
        "evenspread explain deploy/web -n shop --facts cluster/ -o html > web.html",
        "evenspread explain deploy/web -n shop --facts cluster/ --without zone=us-1c --scale 9",
        "evenspread explain deploy/web -n shop --facts cluster/ --what-if rollout",
    ),
)
