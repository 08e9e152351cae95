"""``evenspread serve``: the admission server; how it runs is decided in ``webhook.server.run``."""

import click
from click.core import ParameterSource

from webhook.cli.command import Command
from webhook.cli.output import say
from webhook.config.settings import SettingRow, read_settings, setting_table
from webhook.errors import ConfigError
from webhook.server.run import run

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
        # With a demo only: what it draws with takes 3 MiB, which the server would hold for good.
        from webhook.cli.views.demo import greeting  # noqa: PLC0415

        run(settings, _keep_quiet, greeting(file))
    else:
        run(settings, say)


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
