"""Options and help of ``evenspread scaledown``; ``webhook.cli.scaledown`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.labelselectors import selector_option

command = Command(
    "scaledown",
    callback=ImportedFunction("webhook.cli.scaledown:scaledown"),
    params=[
        *file_options("Manifests with pods", required=False, positional=False),
        click.Option(["--remove"], is_flag=True, help="Remove the ranks and the labels."),
        click.Option(
            ["--dry-run"],
            is_flag=True,
            help="With --remove, show what would be removed, and change nothing.",
        ),
        *options.FACTS_SOURCES,
        options.namespace("Use", "Default: all namespaces."),
        selector_option("Only pods", others=""),
        options.output("scaledown"),
    ],
    help=(
        "Count the pods with the label evenspread.io/scale-down: keep-spread of each controller, "
        "with and without a rank. For controllers with ranked pods, show for each topology domain "
        "the number of pods, their ranks, the ranks that several pods have, and those below the "
        "highest one that no pod has. Without -f and --facts, the current context is read. "
        f"{options.FACTS_RULE} With --remove, remove the label from the pods of the cluster, and "
        "each deletion cost that is a rank; costs that other clients wrote stay. First remove "
        "scaleDown: KeepSpread from the profiles, since new pods get the label otherwise. The exit "
        "code is 3 if a pod could not be changed: then repeat the command."
    ),
    examples=(
        "evenspread scaledown -n shop",
        "evenspread scaledown --facts cluster/",
        "evenspread scaledown --remove --dry-run",
        "evenspread scaledown --remove -n shop -l app=web -o json",
    ),
)
