"""Options that several commands share, each with one wording."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import click

from webhook.audit.report import AuditSeverity
from webhook.cli.output import OutputFormat
from webhook.errors import ConfigError
from webhook.policy.catalogue import CATALOGUE

VERDICT_LEVELS = {str(level): level for level in (AuditSeverity.DENY, AuditSeverity.WARN)}
"""Choices of ``--fail-on`` for validate and review, whose findings are denials and warnings."""

AUDIT_LEVELS = {str(level): level for level in AuditSeverity} | {"never": None}
"""Choices of ``--fail-on`` for audit and fix."""


def text(flags: Sequence[str], metavar: str, words: str, default: str = "") -> click.Option:
    """Create an option that takes a text; ``words`` are its help."""
    return click.Option(flags, metavar=metavar, default=default, help=words)


def path(flags: Sequence[str], metavar: str, words: str) -> click.Option:
    """Create an option that takes a path, which shells complete; empty if absent."""
    return click.Option(flags, type=click.Path(), metavar=metavar, default="", help=words)


def repeated(flag: str, metavar: str, words: str) -> click.Option:
    """Create an option that may be repeated; its value is a tuple of texts."""
    return click.Option([flag], multiple=True, metavar=metavar, help=f"{words} May be repeated.")


def filename(what: str, *, required: bool = True) -> click.Option:
    """Create ``-f``: the files, folders or standard input to read."""
    return click.Option(
        ["-f", "--filename"],
        multiple=True,
        required=required,
        type=click.Path(),
        metavar="PATH",
        help=f"{what}: a file, a folder, or - for the standard input. May be repeated.",
    )


def output(
    formats: Iterable[StrEnum] = OutputFormat,
    words: str = "Output format; json writes one document per line.",
) -> click.Option:
    """Create ``-o``; its value is one of ``formats``, the first one by default."""
    return _choice(["-o", "--output"], {str(name): name for name in formats}, words)


def fail_on(
    levels: Mapping[str, AuditSeverity | None] = VERDICT_LEVELS, where: str = ""
) -> click.Option:
    """
    Create ``--fail-on``; its value is a severity, or None for ``never``.

    Args:
        levels: The choices; the first one is the default.
        where: Restricts the findings in the help text; starts with a space.
    """
    words = f"Exit with 1 if a finding of this or a higher severity is{where or ' found'}."
    return _choice(["--fail-on"], levels, words)


def _choice(flags: Sequence[str], values: Mapping[str, Any], words: str) -> click.Option:
    def convert(_ctx: click.Context, _option: click.Parameter, name: str) -> Any:
        return values[name]

    return click.Option(
        flags,
        type=click.Choice(list(values)),
        callback=convert,
        default=next(iter(values)),
        show_default=True,
        help=words,
    )


def rules(words: str) -> click.Option:
    """Create ``--rules``; its value is a set of rule ids, empty for all rules."""
    return click.Option(
        ["--rules"], metavar="ID,...", default="", callback=_parse_rules, help=words
    )


def gates(*, versions: bool = False) -> list[click.Option]:
    """Create the options for the feature gates, and for one Kubernetes version or a range."""
    several = ", or a range of versions" if versions else ""
    return [
        text(
            ["--kube-version"],
            "X.Y[..X.Y]" if versions else "X.Y",
            f"Kubernetes version whose rules apply{several}. Default: the newest one supported.",
        ),
        text(
            ["--feature-gates"],
            "A=true,B=false",
            "Feature gates to set; they override those of the configuration file.",
        ),
        click.Option(
            ["--allow-locked-gates"],
            is_flag=True,
            help="Allow turning off a feature gate that Kubernetes has locked on.",
        ),
    ]


STRICT = click.Option(
    ["--strict"],
    is_flag=True,
    help="Treat these as errors: files without manifests, chart templates, duplicate keys.",
)

API_SERVER = (
    path(
        ["--kubeconfig"],
        "FILE",
        "Kubeconfig of the cluster. Default: $KUBECONFIG or ~/.kube/config, as for kubectl.",
    ),
    text(["--context"], "NAME", "Context of the kubeconfig. Default: its current context."),
)

CLUSTER = path(
    ["--cluster"],
    "PATH",
    "Manifests that describe the cluster: Nodes, Namespaces, Services, workloads and Pods.",
)

CONFIG = path(["--config"], "FILE", "SpreadConfiguration to apply.")

POLICY = (
    CONFIG,
    path(
        ["--scheduler-config"],
        "FILE",
        "kube-scheduler configuration file to take default constraints from, instead of --config.",
    ),
    *gates(),
)
"""Configuration, Kubernetes version and feature gates: the arguments of ``read_policy``."""


def _parse_rules(_ctx: click.Context, _option: click.Parameter, written: str) -> frozenset[str]:
    ids = {name.strip() for name in written.split(",")} - {""}
    unknown = sorted(ids - CATALOGUE.keys())
    if unknown:
        raise ConfigError(
            f"{unknown[0]!r} is not a rule: use some of {', '.join(CATALOGUE)}", "--rules"
        )
    return frozenset(ids)
