"""Options and help of ``evenspread serve``; ``webhook.cli.serve`` runs it."""

import click

from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.factpaths import FACTS_FLAG, facts_options
from webhook.config.settings import SettingRow, setting_table

DEMO = "demo"

_SWITCH = "yes or no"  # the kind of a flag without a value in the settings table
_METAVARS = {"text": "TEXT", "number": "N"}


def _options(row: SettingRow) -> list[click.Option]:
    """Create the option of a setting; the settings table applies variable and default."""
    if row.flag == FACTS_FLAG:
        return facts_options(f"{_help(row)}  [{row.variable}].")
    is_switch = row.kind == _SWITCH
    default = f"; default: {row.default}" if row.default and not is_switch else ""
    option = click.Option(
        [row.flag],
        is_flag=is_switch,
        metavar=None if is_switch else _METAVARS.get(row.kind, row.kind.replace(" ", "")),
        allow_from_autoenv=False,
        help=f"{_help(row)}.  [{row.variable}{default}]",
    )
    return [option]


def _help(row: SettingRow) -> str:
    return f"{row.reason[:1].upper()}{row.reason[1:]}"


command = Command(
    "serve",
    callback=ImportedFunction("webhook.cli.serve:serve"),
    last_value_wins=True,
    params=[
        *(option for row in setting_table() for option in _options(row)),
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
        "evenspread serve --standalone --facts cluster/ --config config.yaml",
        "evenspread serve --standalone --scheduler-config kube-scheduler.yaml --port 9443",
        "evenspread serve --standalone --facts cluster/ --config config.yaml --demo review.json",
    ),
)
