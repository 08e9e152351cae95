"""Options and help of ``evenspread test``; ``webhook.cli.test`` runs it."""

import click

from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.factpaths import INPUT_PATH
from webhook.cli.output import TABLE, targets_option
from webhook.cli.projectoptions import project_options
from webhook.spreadtest.results import TEST_FORMATS

command = Command(
    "test",
    callback=ImportedFunction("webhook.cli.test:test"),
    params=[
        click.Argument(["folder"], nargs=-1, type=INPUT_PATH, metavar="[DIR]..."),
        *project_options(
            "Without DIR, all suites below its folder run; it names what to leave out."
        ),
        click.Option(
            ["-k", "--cases"],
            multiple=True,
            metavar="TEXT",
            help="Run only cases whose name contains TEXT, ignoring case. May be repeated.",
        ),
        targets_option([TABLE, *TEST_FORMATS]),
    ],
    help=(
        "Run every SpreadTest file below DIR, by default below the folder of the project file, "
        "with the configuration and the cluster that it names, and compare the verdicts with the "
        "expected ones. The exit code is 1 if a verdict differs."
    ),
    examples=(
        "evenspread test tests/",
        "evenspread test tests/ -k defaults -o table -o junit=report.xml",
    ),
)
