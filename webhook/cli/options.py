"""Options that several commands share, each with one wording."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from webhook.audit.report import AuditSeverity
from webhook.cli.completers import FLAGS
from webhook.cli.inputs.factpaths import facts_options
from webhook.cli.output import OUTPUT_FORMATS
from webhook.config.durations import parse_duration
from webhook.errors import ConfigError

VERDICT_LEVELS = {str(level): level for level in (AuditSeverity.DENY, AuditSeverity.WARN)}
"""Choices of ``--fail-on`` for validate and review, whose findings are denials and warnings."""

AUDIT_LEVELS = {str(level): level for level in AuditSeverity} | {"never": None}
"""Choices of ``--fail-on`` for audit and fix."""


def text(flags: Sequence[str], metavar: str, words: str, default: str = "") -> click.Option:
    """Create an option that takes a text; ``words`` are its help."""
    return click.Option(
        flags,
        metavar=metavar,
        default=default,
        help=words,
        shell_complete=FLAGS.get(flags[-1]),
    )


def path(flags: Sequence[str], metavar: str, words: str) -> click.Option:
    """Create an option that takes a path, which shells complete; empty if absent."""
    return click.Option(flags, type=click.Path(), metavar=metavar, default="", help=words)


def repeated(flag: str, metavar: str, words: str) -> click.Option:
    """Create an option that may be repeated; its value is a tuple of texts."""
    return click.Option([flag], multiple=True, metavar=metavar, help=f"{words} May be repeated.")


def output(command: str, words: str = "json writes one document per line") -> click.Option:
    """
    Create ``-o``; its value is one of the formats of a command, the first one by default.

    Args:
        words: What the formats are; ends the help.
    """
    formats = {str(name): name for name in OUTPUT_FORMATS[command]}
    return _choice(["-o", "--output"], formats, f"Output format; {words}.")


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


def _choice(
    flags: Sequence[str], values: Mapping[str, Any], words: str, default: str = ""
) -> click.Option:
    def convert(_ctx: click.Context, _option: click.Parameter, name: str) -> Any:
        return values[name]

    return click.Option(
        flags,
        type=click.Choice(list(values)),
        callback=convert,
        default=default or next(iter(values)),
        show_default=True,
        help=words,
    )


LEVEL = _choice(
    ["--level"],
    {str(level): level for level in AuditSeverity},
    "Fix findings of this and higher severities: deny is what admission denies, warn what it warns "
    "about, audit what only an audit records.",
    default=str(AuditSeverity.WARN),
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


def parse_timeout(_ctx: click.Context, option: click.Parameter, written: str) -> float:
    """Parse a duration as kubectl does: a number without a unit is in seconds."""
    duration = parse_duration(f"{written}s" if written.isdecimal() else written)
    if duration is None:
        raise ConfigError(
            f"{written!r} is not a duration: write one such as 30s or 2m", option.opts[0]
        )
    return duration.total_seconds()


STRICT = click.Option(
    ["--strict"],
    is_flag=True,
    help="Treat these as errors: files without manifests, chart templates, duplicate keys, unknown "
    "fields of constraints, constraints that nothing judges, and nothing to work on.",
)

API_SERVER = (
    path(
        ["--kubeconfig"],
        "FILE",
        "Kubeconfig of the cluster. Default: $KUBECONFIG or ~/.kube/config, as for kubectl.",
    ),
    text(["--context"], "NAME", "Context of the kubeconfig. Default: its current context."),
    text(["as_user", "--as"], "USER", "User to act as in the cluster."),
    click.Option(
        ["--as-group"],
        multiple=True,
        metavar="GROUP",
        help="Group to act as in the cluster, with --as. May be repeated.",
    ),
    text(["--as-uid"], "UID", "UID to act as in the cluster, with --as."),
    click.Option(
        ["--request-timeout"],
        metavar="DURATION",
        default="0",
        callback=parse_timeout,
        help="Limit for each response of the API server, such as 30s; 0 for the usual limit.",
    ),
)

FACTS = facts_options(
    "Facts about the cluster, such as Nodes, Services and Pods: manifests, dumps of kubectl get -o "
    "yaml, or snapshots of audit --save-snapshot."
)


def namespace(what: str, default: str = "") -> click.Option:
    """
    Create ``-n``, with one meaning for all commands that work on objects.

    Args:
        what: The verb of the command.
        default: Further sentences.
    """
    words = f"{what} only objects of this namespace; manifests without a namespace are in it."
    option = text(["-n", "--namespace"], "NAME", f"{words} {default}".strip())
    option.callback = _keep_namespace
    return option


def all_namespaces(what: str, *, exposed: bool = False) -> click.Option:
    """
    Create ``-A`` for commands that work on all namespaces by default, where it has no effect.

    Args:
        what: The verb of the command.
        exposed: Whether the command takes the value, as ``all_namespaces``.
    """
    return click.Option(
        ["-A", "--all-namespaces"],
        is_flag=True,
        expose_value=exposed,
        callback=_keep_all,
        help=f"{what} objects of all namespaces, as without -n; for those who are used to kubectl.",
    )


_NAMESPACE, _ALL = "evenspread.namespace", "evenspread.all"  # keys of ``Context.meta``


def _keep_namespace(ctx: click.Context, _option: click.Parameter, name: str) -> str:
    ctx.meta[_NAMESPACE] = name
    _refuse_both(ctx)
    return name


def _keep_all(ctx: click.Context, _option: click.Parameter, is_given: bool) -> bool:
    ctx.meta[_ALL] = is_given
    _refuse_both(ctx)
    return is_given


def _refuse_both(ctx: click.Context) -> None:
    if ctx.meta.get(_NAMESPACE) and ctx.meta.get(_ALL):
        raise ConfigError("use -n or -A, not both", "-A")


FACTS_SOURCES = (
    *FACTS,
    click.Option(
        ["--live"],
        is_flag=True,
        help="Read facts from the live cluster too; implied by --kubeconfig and --context.",
    ),
    *API_SERVER,
)
"""The sources of facts besides ``-f``: the arguments of ``FactsSources``."""

FACTS_RULE = (
    "Facts about the cluster are the union of all sources that you name: -f, --facts, and the live "
    "cluster. An object that stands in several is taken from -f, then from --facts, then from the "
    "live cluster."
)
"""Ends the help of every command that takes ``FACTS_SOURCES``."""

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
