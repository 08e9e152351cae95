"""``evenspread serve``: the admission server; how it runs is decided in ``webhook.service``."""

from collections.abc import Callable
from functools import partial

import click
from click.core import ParameterSource

from webhook.cli.command import Command
from webhook.cli.output import say
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views import demo
from webhook.config.settings import SettingRow, read_settings, setting_table
from webhook.errors import ConfigError
from webhook.service import Ready, run

DEMO = "demo"

_SWITCH = "yes or no"  # what the table of settings says of a flag without a value
_METAVARS = {"text": "TEXT", "number": "N"}


@click.pass_context
def serve(context: click.Context, /, **flags: str | bool | None) -> None:
    """Serve until a signal comes."""
    file = flags.pop(DEMO)
    given = {name: value for name, value in flags.items() if _is_given(name, context)}
    settings = read_settings(given)
    if isinstance(file, str):
        if settings.certificate != "standalone":
            raise ConfigError("trusts the standalone CA: add --tls standalone", f"--{DEMO}")
        if settings.client_ca:
            raise ConfigError("has no certificate to show: leave out --client-ca", f"--{DEMO}")
        run(settings, _keep_quiet, _greeting(file))
    else:
        run(settings, say)


def _greeting(file: str) -> Callable[[Ready], None]:
    """Read the review before the server starts, so that a wrong name is a mistake of usage."""
    return partial(_greet, file, demo.read_review(file))


def _greet(file: str, body: bytes, ready: Ready) -> None:
    """Show what the server answers to a review, and how to send it by hand."""
    assert ready.ca is not None  # it was made with a standalone certificate
    answer, terminal = demo.send(body, ready.url, ready.ca), Terminal()
    with terminal.together():
        probes = f", probes and metrics at {ready.health}"
        terminal.line("serving at ", (ready.url, Style.PLACE), probes)
        terminal.line(f"POST {demo.MUTATE} of {file} is answered:")
        demo.show(body, answer, terminal)
        terminal.line("try it by hand:")
        terminal.line("  ", (demo.curl(file, ready.url, ready.ca), Style.HINT))
        terminal.line("Ctrl-C stops the server")


def _keep_quiet(_line: str) -> None:
    """Leave it to the demo to say where the server is."""


def _is_given(name: str, context: click.Context) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _option(row: SettingRow) -> click.Option:
    """Make the option of a setting; its variable and its default are the business of the table."""
    is_switch = row.kind == _SWITCH
    default = f"; default: {row.default}" if row.default and not is_switch else ""
    return click.Option(
        [row.flag],
        is_flag=is_switch,
        metavar=None if is_switch else _METAVARS.get(row.kind, row.kind.replace(" ", "")),
        allow_from_autoenv=False,
        help=f"{row.reason[:1].upper()}{row.reason[1:]}.  [{row.variable}{default}]",
    )


command = Command(
    "serve",
    callback=serve,
    params=[
        *map(_option, setting_table()),
        click.Option(
            ["--demo"],
            type=click.Path(),
            metavar="FILE",
            help="Once it serves, send this review to it and show the answer.",
        ),
    ],
    help=(
        "Run the admission server until SIGTERM or Ctrl-C. A flag counts before its variable, "
        "that before the configuration file, that before the default."
    ),
    examples=(
        "evenspread serve --config config.yaml",
        "evenspread serve --kubeconfig ~/.kube/config --tls standalone --port 9443",
        "evenspread serve --standalone --cluster cluster/ --config config.yaml",
        "evenspread serve --standalone --scheduler-config kube-scheduler.yaml --port 9443",
        "evenspread serve --standalone --cluster cluster/ --config config.yaml --demo review.json",
    ),
)
