from typing import Any

import click
import pytest

from webhook.audit.report import AuditSeverity
from webhook.cli import options
from webhook.cli.output import OutputFormat
from webhook.errors import ConfigError


def parse(option: click.Option, *arguments: str) -> Any:
    """Parse a command line with one option, and return its value."""
    with click.Command("c", params=[option]).make_context("c", list(arguments)) as context:
        (value,) = context.params.values()
        return value


TABLE_OR_JSON = options.output((OutputFormat.TABLE, OutputFormat.JSON))

# option, arguments, value
VALUES: dict[str, tuple[click.Option, list[str], Any]] = {
    "a text": (options.text(["--name"], "NAME", "Name."), ["--name", "web"], "web"),
    "a text by default": (options.text(["--name"], "NAME", "Name.", "web"), [], "web"),
    "no path": (options.path(["--file"], "FILE", "File."), [], ""),
    "a repeated option": (
        options.repeated("--node", "NODE", "Node."),
        ["--node", "a", "--node", "b"],
        ("a", "b"),
    ),
    "two files": (options.filename("Read"), ["-f", "a", "-f", "-"], ("a", "-")),
    "no file": (options.filename("Read", required=False), [], ()),
    "a format by default": (options.output(), [], OutputFormat.TABLE),
    "a format": (options.output(), ["-o", "yaml"], OutputFormat.YAML),
    "a severity by default": (options.fail_on(), [], AuditSeverity.DENY),
    "a severity": (options.fail_on(), ["--fail-on", "warn"], AuditSeverity.WARN),
    "never": (options.fail_on(options.AUDIT_LEVELS), ["--fail-on", "never"], None),
    "no rules": (options.rules("Rules."), [], frozenset()),
    "rules": (options.rules("Rules."), ["--rules", "TSC001, TSC101,"], {"TSC001", "TSC101"}),
    "strict": (options.STRICT, ["--strict"], True),
}


@pytest.mark.parametrize(("option", "arguments", "value"), VALUES.values(), ids=VALUES.keys())
def test_values(option: click.Option, arguments: list[str], value: Any) -> None:
    assert parse(option, *arguments) == value


# option, arguments, message
ERRORS: dict[str, tuple[click.Option, list[str], str]] = {
    "no file": (options.filename("Read"), [], "Missing parameter: filename"),
    "a format of another command": (TABLE_OR_JSON, ["-o", "yaml"], "is not one of 'table', 'json'"),
    "a severity of another command": (options.fail_on(), ["--fail-on", "audit"], "is not one of"),
}


@pytest.mark.parametrize(("option", "arguments", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_invalid_values_are_usage_errors(
    option: click.Option, arguments: list[str], message: str
) -> None:
    with pytest.raises(click.UsageError) as caught:
        parse(option, *arguments)

    assert message in str(caught.value)


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(ConfigError, match="'TSC999' is not a rule: use some of "):
        parse(options.rules("Rules."), "--rules", "TSC001,TSC999")


@pytest.mark.parametrize(("versions", "metavar"), [(False, "X.Y"), (True, "X.Y[..X.Y]")])
def test_the_version_may_be_a_range(versions: bool, metavar: str) -> None:
    version, *_ = options.gates(versions=versions)

    assert version.metavar == metavar
    assert version.help is not None
    assert ("range of versions" in version.help) is versions


def test_options_of_several_commands_are_created_once() -> None:
    names = [option.name for option in (*options.POLICY, *options.API_SERVER, options.CLUSTER)]

    assert names == [
        "config",
        "scheduler_config",
        "kube_version",
        "feature_gates",
        "allow_locked_gates",
        "kubeconfig",
        "context",
        "cluster",
    ]
