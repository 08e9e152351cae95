"""Options and help of ``evenspread policy``; ``webhook.cli.policydiff`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, CommandGroup, ImportedFunction
from webhook.cli.completers import complete_policies
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.labelselectors import selector_option
from webhook.cli.projectoptions import project_options

command = CommandGroup(
    "policy",
    help="Try changes of policies before they are applied.",
    commands=[
        Command(
            "diff",
            callback=ImportedFunction("webhook.cli.policydiff:diff"),
            params=[
                *file_options(
                    "SpreadPolicies to add or to replace, or a SpreadConfiguration in place of "
                    "that of --config",
                    required=False,
                ),
                click.Option(
                    ["--remove"],
                    multiple=True,
                    metavar="NAME",
                    shell_complete=complete_policies,
                    help="SpreadPolicy to remove. May be repeated.",
                ),
                *options.POLICY,
                *project_options(
                    "It names what to leave out of folders, the facts, the configuration in force "
                    "and the version.",
                    paths=False,
                ),
                *options.FACTS_SOURCES,
                options.namespace("Compare"),
                options.all_namespaces("Compare"),
                selector_option("Compare only workloads"),
                options.fail_on(
                    options.VERDICT_LEVELS | {"never": None},
                    " new; a pod that becomes Pending counts as deny",
                ),
                options.output("policy diff", "name lists the workloads that change"),
            ],
            short_help="Show what a change of policies would do to a cluster.",
            help=(
                "Compare the policies in force with those of -f, without --remove. Show which "
                "profiles are new, changed, removed or reordered, and which apply to no pod. For "
                "each workload, show how its next pod, and what rules do about the workload, "
                "would change, and whether the pod would be denied or stay Pending because of "
                "the change. Nothing is written to the cluster. The exit code is 1 if any "
                "workload would be denied, or a next pod stay Pending, that would not be now. "
                "The policies in force are the configuration of --config and the SpreadPolicies "
                "of the cluster. Without --facts, the current context is read."
            ),
            examples=(
                "evenspread policy diff -f new.yaml --config config.yaml --context prod",
                "evenspread policy diff -f new.yaml --facts cluster/",
                "evenspread policy diff --remove payments --facts cluster/ -n shop",
                "evenspread policy diff -f config-new.yaml --config config.yaml --facts cluster/",
            ),
        )
    ],
    examples=("evenspread policy diff -f new.yaml --facts cluster/",),
)
