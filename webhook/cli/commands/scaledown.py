"""Options and help of ``evenspread scaledown``; ``webhook.cli.scaledown`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.labelselectors import selector_option

command = Command(
    "scaledown",
    callback=ImportedFunction("webhook.cli.scaledown:scaledown"),
    params=[
        click.Option(["--remove"], is_flag=True, help="Remove the ranks and the labels."),
        click.Option(
            ["--dry-run"],
            is_flag=True,
            help="With --remove, show what would be removed, and change nothing.",
        ),
        options.text(
            ["-n", "--namespace"], "NAME", "Only pods of this namespace. Default: of all."
        ),
        selector_option("Only pods", others=""),
        *options.API_SERVER,
        options.output(),
    ],
    help=(
        "Count the pods with the label evenspread.io/scale-down: keep-spread of each controller in "
        "the cluster, with and without a rank. With --remove, remove the label from the pods, and "
        "each deletion cost that is a rank; costs that other clients wrote stay. First remove "
        "scaleDown: KeepSpread from the profiles, since new pods get the label otherwise. The exit "
        "code is 3 if a pod could not be changed: then repeat the command."
    ),
    examples=(
        "evenspread scaledown -n shop",
        "evenspread scaledown --remove --dry-run",
        "evenspread scaledown --remove -n shop -l app=web -o json",
    ),
)
