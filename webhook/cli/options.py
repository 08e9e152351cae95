"""Options that several commands share, each worded once."""

import click

from webhook.audit.report import AuditSeverity
from webhook.cli.output import Format

DENY = "deny"
WARN = "warn"
NEVER = "never"


def filename(what: str, *, required: bool = True) -> click.Option:
    """``-f``: what to read."""
    return click.Option(
        ["-f", "--filename"],
        multiple=True,
        required=required,
        type=click.Path(),
        metavar="PATH",
        help=f"{what}: a file, a folder, or - for the standard input. May be repeated.",
    )


def strict() -> click.Option:
    """``--strict``: whether what is no manifest is an error."""
    return click.Option(
        ["--strict"],
        is_flag=True,
        help="Make an error of files without manifests, templates of charts, and repeated keys.",
    )


def output() -> click.Option:
    """``-o``: for people, or for programs."""
    return click.Option(
        ["-o", "--output"],
        type=click.Choice([str(each) for each in Format]),
        callback=_format,
        default=str(Format.TABLE),
        show_default=True,
        help="json is one document a line.",
    )


def fail_on() -> click.Option:
    """``--fail-on``: from which weight on findings make the exit code 1."""
    return click.Option(
        ["--fail-on"],
        type=click.Choice([DENY, WARN]),
        default=DENY,
        show_default=True,
        help="The least finding that makes the exit code 1.",
    )


def weight(where: str = "") -> click.Option:
    """
    ``--fail-on`` of what weighs its findings; gives a ``AuditSeverity``, or None for never.

    Args:
        where: Which findings, if not all, as it continues the help.
    """
    return click.Option(
        ["--fail-on"],
        type=click.Choice([*map(str, AuditSeverity), NEVER]),
        callback=_weight,
        default=str(AuditSeverity.DENY),
        show_default=True,
        help=f"The least finding{where} that makes the exit code 1.",
    )


def reach() -> tuple[click.Option, click.Option]:
    """``--kubeconfig`` and ``--context``: which API server to ask."""
    return (
        click.Option(
            ["--kubeconfig"],
            type=click.Path(),
            metavar="FILE",
            default="",
            help="How to reach the cluster; as for kubectl if not given.",
        ),
        click.Option(
            ["--context"],
            metavar="NAME",
            default="",
            help="Context of the kubeconfig; its current one if not given.",
        ),
    )


def cluster() -> click.Option:
    """``--cluster``: facts from manifests."""
    return click.Option(
        ["--cluster"],
        type=click.Path(),
        metavar="PATH",
        default="",
        help="Manifests that stand for the cluster: Services, owners, Namespaces, Nodes.",
    )


def config() -> click.Option:
    """``--config``: our own configuration."""
    return click.Option(
        ["--config"],
        type=click.Path(),
        metavar="FILE",
        default="",
        help="SpreadConfiguration to follow.",
    )


def scheduler_config() -> click.Option:
    """``--scheduler-config``: the configuration of kube-scheduler instead."""
    return click.Option(
        ["--scheduler-config"],
        type=click.Path(),
        metavar="FILE",
        default="",
        help="File of kube-scheduler to take defaults from instead.",
    )


def gates(*, versions: bool = False) -> list[click.Option]:
    """
    Version and gates of the API server to judge like.

    Args:
        versions: Whether the version may be a range.
    """
    several = ", or all from one to another" if versions else ""
    return [
        click.Option(
            ["--kube-version"],
            metavar="X.Y[..X.Y]" if versions else "X.Y",
            default="",
            help=f"Kubernetes version to judge by{several}; the newest known if not given.",
        ),
        click.Option(
            ["--feature-gates"],
            metavar="A=true,B=false",
            default="",
            help="Gates to switch, over those of the file.",
        ),
        click.Option(
            ["--allow-locked-gates"],
            is_flag=True,
            help="Let a feature be held back that Kubernetes has locked on.",
        ),
    ]


def _format(_ctx: click.Context, _option: click.Parameter, chosen: str) -> Format:
    return Format(chosen)


def _weight(_ctx: click.Context, _option: click.Parameter, written: str) -> AuditSeverity | None:
    return None if written == NEVER else AuditSeverity(written)
