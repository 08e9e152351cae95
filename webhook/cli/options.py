"""Options that several commands share, each with one wording."""

from collections.abc import Sequence

import click

from webhook.audit.report import AuditSeverity
from webhook.cli.output import OutputFormat
from webhook.errors import ConfigError
from webhook.policy.catalogue import CATALOGUE

DENY = "deny"
WARN = "warn"
NEVER = "never"


def text(flags: Sequence[str], metavar: str, words: str, default: str = "") -> click.Option:
    """
    Create an option that takes a text.

    Args:
        words: The help text.
        default: The value if the option is absent.
    """
    return click.Option(flags, metavar=metavar, default=default, help=words)


def path(flags: Sequence[str], metavar: str, words: str) -> click.Option:
    """Create an option that takes a path, which shells complete; empty if absent."""
    return click.Option(flags, type=click.Path(), metavar=metavar, default="", help=words)


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


def strict() -> click.Option:
    """Create ``--strict``: whether a file without manifests is an error."""
    return click.Option(
        ["--strict"],
        is_flag=True,
        help="Treat files without manifests, chart templates and duplicate keys as errors.",
    )


def output() -> click.Option:
    """Create ``-o``: table, JSON or YAML."""
    return click.Option(
        ["-o", "--output"],
        type=click.Choice([str(name) for name in OutputFormat]),
        callback=parse_format,
        default=str(OutputFormat.TABLE),
        show_default=True,
        help="Output format; json writes one document per line.",
    )


def fail_on() -> click.Option:
    """Create ``--fail-on`` for validate and review, whose findings are denials and warnings."""
    return click.Option(
        ["--fail-on"],
        type=click.Choice([DENY, WARN]),
        default=DENY,
        show_default=True,
        help="Lowest severity of a finding that makes the exit code 1.",
    )


def severity(where: str = "") -> click.Option:
    """
    Create ``--fail-on`` for audit and fix; its value is a severity, or None for ``never``.

    Args:
        where: Restricts the findings in the help text; starts with a space.
    """
    return click.Option(
        ["--fail-on"],
        type=click.Choice([*map(str, AuditSeverity), NEVER]),
        callback=_parse_severity,
        default=str(AuditSeverity.DENY),
        show_default=True,
        help=f"Lowest severity of a finding{where} that makes the exit code 1.",
    )


def rules(words: str) -> click.Option:
    """
    Create ``--rules``; its value is a set of rule ids, empty for all rules.

    Args:
        words: The help text.
    """
    return click.Option(
        ["--rules"], metavar="ID,...", default="", callback=_parse_rules, help=words
    )


def api_server() -> tuple[click.Option, click.Option]:
    """Create ``--kubeconfig`` and ``--context``: the API server to connect to."""
    return (
        path(
            ["--kubeconfig"],
            "FILE",
            "Kubeconfig of the cluster. Default: $KUBECONFIG or ~/.kube/config, as for kubectl.",
        ),
        text(["--context"], "NAME", "Context of the kubeconfig. Default: its current context."),
    )


def cluster() -> click.Option:
    """Create ``--cluster``: manifests that describe the cluster."""
    return path(
        ["--cluster"],
        "PATH",
        "Manifests that describe the cluster: Services, owners, Namespaces, Nodes.",
    )


def config() -> click.Option:
    """Create ``--config``: a SpreadConfiguration."""
    return path(["--config"], "FILE", "SpreadConfiguration to apply.")


def scheduler_config() -> click.Option:
    """Create ``--scheduler-config``: a configuration of kube-scheduler instead."""
    return path(
        ["--scheduler-config"],
        "FILE",
        "kube-scheduler configuration file to take default constraints from, instead of --config.",
    )


def gates(*, versions: bool = False) -> list[click.Option]:
    """
    Create the options for the Kubernetes version and the feature gates.

    Args:
        versions: Whether ``--kube-version`` accepts a range.
    """
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


def parse_format(_ctx: click.Context, _option: click.Parameter, chosen: str) -> OutputFormat:
    """Convert the value of ``-o``, as a callback of click."""
    return OutputFormat(chosen)


def _parse_severity(
    _ctx: click.Context, _option: click.Parameter, written: str
) -> AuditSeverity | None:
    return None if written == NEVER else AuditSeverity(written)


def _parse_rules(_ctx: click.Context, _option: click.Parameter, written: str) -> frozenset[str]:
    ids = {name.strip() for name in written.split(",")} - {""}
    unknown = sorted(ids - CATALOGUE.keys())
    if unknown:
        raise ConfigError(
            f"{unknown[0]!r} is not a rule: use some of {', '.join(CATALOGUE)}", "--rules"
        )
    return frozenset(ids)
