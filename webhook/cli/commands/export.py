"""Options and help of ``evenspread export``; ``webhook.cli.export`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.output import EXPORT_FORMS
from webhook.cli.projectoptions import project_options

command = Command(
    "export",
    callback=ImportedFunction("webhook.cli.export:export"),
    params=[
        click.Argument(["form"], type=click.Choice(EXPORT_FORMS), metavar="FORM"),
        *options.POLICY,
        *project_options(
            "It names the facts, the configuration and the version.",
            paths=False,
        ),
        *options.FACTS_SOURCES,
        click.Option(
            ["--check"],
            is_flag=True,
            help="Compare the objects of map or vap with those of the cluster, and show a diff. "
            "The exit code is 1 if they differ.",
        ),
        options.path(["--output-dir"], "DIR", "Folder to write the files of static into."),
        options.output("export", "yaml begins with comments about what the objects do not do"),
    ],
    help=(
        "Write the policy of a configuration as objects that work without a webhook. FORM is map, "
        "for MutatingAdmissionPolicies that add default constraints to new pods; vap, for "
        "ValidatingAdmissionPolicies of the rules that need no facts; static, for both as files "
        "that kube-apiserver reads; or scheduler, for a KubeSchedulerConfiguration with default "
        "constraints. What the objects do not do, and why, is in comments, and with -o json on "
        "stderr. The SpreadPolicies of --facts and of a live cluster count as profiles, with "
        "--check always those of the cluster. Of other facts, the Nodes decide about System "
        "defaults."
    ),
    examples=(
        "evenspread export map --config config.yaml",
        "evenspread export map --config config.yaml --kube-version 1.36 | kubectl apply -f -",
        "evenspread export vap --config config.yaml",
        "evenspread export static --config config.yaml --output-dir policies",
        "evenspread export map --config config.yaml --check --context prod",
        "evenspread export scheduler --config config.yaml",
        "evenspread export map --config config.yaml --facts policies/",
        "evenspread export map --scheduler-config kube-scheduler.yaml --facts cluster/",
    ),
)
