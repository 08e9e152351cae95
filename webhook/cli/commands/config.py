"""Options and help of ``evenspread config``; ``webhook.cli.config`` runs it."""

from webhook.cli import options
from webhook.cli.command import Command, CommandGroup, ImportedFunction
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.labelselectors import selector_option
from webhook.cli.projectoptions import project_options

command = CommandGroup(
    "config",
    help="Check configuration files, and show their effect.",
    commands=[
        Command(
            "check",
            callback=ImportedFunction("webhook.cli.config:check"),
            params=[
                *options.POLICY,
                *file_options("Pod whose defaults to show", required=False),
                options.STRICT,
                *project_options(
                    "It names what to leave out of folders, the facts, the configuration and the "
                    "version.",
                    paths=False,
                ),
                *options.FACTS_SOURCES,
                options.namespace("Use", "Without -f, the pod of the example is in it."),
                options.all_namespaces("Use"),
                selector_option("Use only objects"),
                options.output("config check"),
            ],
            short_help="Validate configuration, and show profiles, gates and an example.",
            help=(
                "Validate the files of --config and --scheduler-config. Show profiles and feature "
                "gates that apply, the source of each value, and the default constraints of a pod. "
                f"{options.FACTS_RULE}"
            ),
            examples=(
                "evenspread config check --config config.yaml",
                "evenspread config check --scheduler-config kube-scheduler.yaml -f pod.yaml",
                "evenspread config check --config config.yaml --facts cluster/ -o json",
            ),
        )
    ],
    examples=("evenspread config check --config config.yaml",),
)
