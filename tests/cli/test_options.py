from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli import files
from tests.cli.conftest import Run
from webhook.audit.report import AuditSeverity
from webhook.cli import options
from webhook.cli.output import OUTPUT_FORMATS, OutputFormat
from webhook.errors import ConfigError


def parse(option: click.Option, *arguments: str) -> Any:
    """Parse a command line with one option, and return its value."""
    with click.Command("c", params=[option]).make_context("c", list(arguments)) as context:
        (value,) = context.params.values()
        return value


DOCUMENTS = options.output("doctor")

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
    "a format by default": (DOCUMENTS, [], OutputFormat.TABLE),
    "a format": (DOCUMENTS, ["-o", "yaml"], OutputFormat.YAML),
    "a severity by default": (options.fail_on(), [], AuditSeverity.DENY),
    "a severity": (options.fail_on(), ["--fail-on", "warn"], AuditSeverity.WARN),
    "never": (options.fail_on(options.AUDIT_LEVELS), ["--fail-on", "never"], None),
    "strict": (options.STRICT, ["--strict"], True),
}


@pytest.mark.parametrize(("option", "arguments", "value"), VALUES.values(), ids=VALUES.keys())
def test_values(option: click.Option, arguments: list[str], value: Any) -> None:
    assert parse(option, *arguments) == value


# option, arguments, message
ERRORS: dict[str, tuple[click.Option, list[str], str]] = {
    "a format of another command": (
        DOCUMENTS, ["-o", "wide"], "is not one of 'table', 'json', 'yaml'"
    ),
    "a severity of another command": (options.fail_on(), ["--fail-on", "audit"], "is not one of"),
}  # fmt: skip


@pytest.mark.parametrize(("option", "arguments", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_invalid_values_are_usage_errors(
    option: click.Option, arguments: list[str], message: str
) -> None:
    with pytest.raises(click.UsageError) as caught:
        parse(option, *arguments)

    assert message in str(caught.value)


# written, seconds
TIMEOUTS = {"0": 0.0, "30": 30.0, "30s": 30.0, "1m30s": 90.0, "500ms": 0.5}


@pytest.mark.parametrize(("written", "seconds"), TIMEOUTS.items())
def test_timeouts_are_those_of_kubectl(written: str, seconds: float) -> None:
    (option,) = (one for one in options.API_SERVER if one.name == "request_timeout")

    assert parse(option, "--request-timeout", written) == seconds


@pytest.mark.parametrize("written", ["", "soon", "-1s"])
def test_an_invalid_timeout_is_an_error(written: str) -> None:
    (option,) = (one for one in options.API_SERVER if one.name == "request_timeout")

    with pytest.raises(ConfigError, match="is not a duration: write one such as 30s or 2m"):
        parse(option, f"--request-timeout={written}")


@pytest.mark.parametrize(("versions", "metavar"), [(False, "X.Y"), (True, "X.Y[..X.Y]")])
def test_the_version_may_be_a_range(versions: bool, metavar: str) -> None:
    version, *_ = options.gates(versions=versions)

    assert version.metavar == metavar
    assert version.help is not None
    assert ("range of versions" in version.help) is versions


def test_options_of_several_commands_are_created_once() -> None:
    names = [option.name for option in (*options.POLICY, *options.API_SERVER, *options.FACTS)]

    assert names == [
        "config",
        "scheduler_config",
        "kube_version",
        "feature_gates",
        "allow_locked_gates",
        "kubeconfig",
        "context",
        "as_user",
        "as_group",
        "as_uid",
        "request_timeout",
        "cluster",
        "facts",
    ]


def test_a_namespace_has_one_meaning_for_all_commands() -> None:
    option = options.namespace("Check", "Default: all.")

    assert parse(option, "-n", "shop") == "shop"
    assert option.help is not None
    assert option.help.startswith("Check only objects of this namespace; ")
    assert option.help.endswith(" Default: all.")


@pytest.mark.parametrize(
    ("command", "formats"),
    [
        (("validate", "pod.yaml"), ("table", "wide", "name", "json", "yaml")),
        (("review", "pod.yaml"), ("table", "name", "json", "yaml")),
        (("fix", "pod.yaml"), ("table", "name", "json", "yaml")),
        (("explain", "pod/web-1"), ("table", "wide", "name", "json", "yaml", "html")),
        (("config", "check"), ("table", "json", "yaml")),
        (("rules",), ("table", "wide", "name", "json", "yaml", "markdown")),
    ],
)
def test_an_unknown_format_is_an_error_that_lists_the_known_ones(
    command: tuple[str, ...], formats: tuple[str, ...], run: Run
) -> None:
    ran = run(*command, "-o", "jsonpath")

    assert ran.code == 2
    assert ran.err.endswith(f"'jsonpath' is not one of {', '.join(map(repr, formats))}.\n")


NAMESPACES = {
    "neither": ((), None),
    "all": (("-A",), None),
    "one": (("-n", "shop"), None),
    "both": (("-A", "-n", "shop"), "use -n or -A, not both"),
    "both in another order": (("-n", "shop", "-A"), "use -n or -A, not both"),
}


@pytest.mark.parametrize(("arguments", "problem"), NAMESPACES.values(), ids=NAMESPACES.keys())
def test_one_namespace_or_all(arguments: tuple[str, ...], problem: str | None) -> None:
    both = [options.namespace("Check"), options.all_namespaces("Check")]
    command = click.Command("c", params=list[click.Parameter](both))

    if problem is None:
        assert command.make_context("c", list(arguments)).params.keys() == {"namespace"}
    else:
        with pytest.raises(ConfigError, match=problem):
            command.make_context("c", list(arguments))


@pytest.mark.parametrize("command", ["validate", "review", "fix", "config check"])
def test_all_namespaces_are_accepted_where_they_are_the_default(
    command: str, folder: Path, run: Run
) -> None:
    (folder / "pod.yaml").write_text(files.POD)

    ran, all_of_them = (run(*command.split(), "pod.yaml", *given) for given in ((), ("-A",)))

    assert (ran.code, ran) == (0, all_of_them)


def test_every_format_of_a_command_is_in_its_help(run: Run) -> None:
    for command, formats in OUTPUT_FORMATS.items():
        out = run(*command.split(), "--help").out

        assert f"[{'|'.join(formats)}]" in out.replace("\n", "").replace(" ", "")


def test_the_variable_of_the_namespace_is_the_option_of_every_command(
    shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENSPREAD_NAMESPACE", "shop")

    assert run("explain", "deploy/web", "--facts", "shop.yaml").code == 1
    assert run("explain", "deploy/web", "--facts", "shop.yaml", "-n", "ops").code == 2
