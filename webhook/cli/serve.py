"""``evenspread serve``: read the settings and run the admission server of ``webhook.server``."""

import click
from click.core import ParameterSource

from webhook.cli.command import Command
from webhook.cli.output import write_stderr
from webhook.config.settings import SettingRow, read_settings, setting_table
from webhook.errors import ConfigError
from webhook.server.run import run

DEMO = "demo"

_SWITCH = "yes or no"  # the kind of a flag without a value in the settings table
_METAVARS = {"text": "TEXT", "number": "N"}


@click.pass_context
def serve(context: click.Context, /, **flags: str | bool | None) -> None:
    """Run the server until SIGTERM or SIGINT."""
    file = flags.pop(DEMO)
    given = {
        name: value
        for name, value in flags.items()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    settings = read_settings(given)
    if isinstance(file, str):
        if settings.certificate != "standalone":
            raise ConfigError("requires the standalone CA: add --tls standalone", f"--{DEMO}")
        if settings.client_ca:
            raise ConfigError("presents no client certificate: leave out --client-ca", f"--{DEMO}")
        # Imported for a demo only: rich takes 3 MiB, which the server would hold for its lifetime.
        from webhook.cli.views.demo import demo_callback  # noqa: PLC0415

        run(settings, lambda _line: None, demo_callback(file))  # it shows the addresses itself
    else:
        run(settings, write_stderr)


def _option(row: SettingRow) -> click.Option:
    """Create the option of a setting; the settings table applies variable and default."""
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
            help="After the start, send this AdmissionReview to the server and show the answer.",
        ),
    ],
    help=(
        "Run the admission server until SIGTERM or Ctrl-C. A flag overrides its environment "
        "variable, which overrides the configuration file, which overrides the default."
    ),
    examples=(
        "evenspread serve --config config.yaml",
        "evenspread serve --kubeconfig ~/.kube/config --tls standalone --port 9443",
        "evenspread serve --standalone --cluster cluster/ --config config.yaml",
        "evenspread serve --standalone --scheduler-config kube-scheduler.yaml --port 9443",
        "evenspread serve --standalone --cluster cluster/ --config config.yaml --demo review.json",
    ),
)
