"""Options and help of ``evenspread fix``; ``webhook.cli.fix`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.labelselectors import selector_option
from webhook.cli.projectoptions import project_options
from webhook.cli.ruleoptions import rules_options

command = Command(
    "fix",
    callback=ImportedFunction("webhook.cli.fix:fix"),
    params=[
        *file_options("Manifests to fix"),
        options.STRICT,
        *project_options(
            "It names the files to fix if there is no -f, what to leave out, the facts, the "
            "configuration and the version, and its actions and exemptions of rules apply."
        ),
        click.Option(
            ["--diff"],
            is_flag=True,
            help="Show the changes as a diff and write nothing; exit with 1 if there are any.",
        ),
        *options.FACTS_SOURCES,
        *options.POLICY,
        options.LEVEL,
        options.namespace("Fix"),
        options.all_namespaces("Fix"),
        selector_option("Fix only objects"),
        *rules_options(
            "Fix findings of only these rules, for example TSC001,TSC107, whatever their severity. "
            "For ids, not for patterns, this also makes fixes that weaken or tighten what the "
            "author requires."
        ),
        options.output("fix", "it is that of the report; name lists the fixed objects"),
        options.fail_on(options.AUDIT_LEVELS, " left"),
    ],
    help=(
        "Fix findings of audit and validate in manifests if the fix preserves what the author "
        "evidently intended, and list the other findings. Findings that are denied or warned "
        "about are fixed; what audit only records needs --level audit. Everything else stays "
        "unchanged, including comments, order, quotes and indentation. Manifests from the standard "
        "input are written to the standard output, and those that -k builds need --diff. "
        f"{options.FACTS_RULE}"
    ),
    examples=(
        "evenspread fix -f manifests/ --diff",
        "evenspread fix -f manifests/ --facts cluster/ --config config.yaml",
        "evenspread fix -f manifests/ --level audit",
        "evenspread fix -f web.yaml --rules TSC001,TSC107",
        "evenspread fix -k overlays/prod --diff",
        "kubectl get deployment web -o yaml | evenspread fix -f - | kubectl apply -f -",
    ),
)
