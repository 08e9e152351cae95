"""Options and help of ``evenspread audit``; ``webhook.cli.audit`` runs it."""

from webhook.audit.renderers import AUDIT_FORMATS
from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.labelselectors import selector_option
from webhook.cli.output import targets_option
from webhook.cli.projectoptions import project_options
from webhook.cli.ruleoptions import rules_options

command = Command(
    "audit",
    callback=ImportedFunction("webhook.cli.audit:audit"),
    params=[
        *file_options("Manifests to audit, instead of the whole cluster", required=False),
        options.STRICT,
        *project_options(
            "It names the files to audit unless a source is named, what to leave out, the facts, "
            "the configuration and the version, and its actions and exemptions of rules apply."
        ),
        *options.FACTS_SOURCES,
        options.path(
            ["--snapshot"], "FILE", "The same as --facts, for a file written by --save-snapshot."
        ),
        options.path(
            ["--save-snapshot"],
            "FILE",
            "Save all objects that the audit reads to a file, for later runs.",
        ),
        options.namespace("Audit"),
        options.all_namespaces("Audit"),
        selector_option("Audit only objects"),
        *options.POLICY,
        *rules_options("Check only these rules, for example TSC101,TSC110. Default: all rules."),
        options.path(
            ["--since-baseline"],
            "FILE",
            "Report only findings that are not in FILE, a report written with -o json.",
        ),
        options.path(
            ["--since"],
            "FILE",
            "Show what became better and worse since FILE, a report written with -o json, as "
            "table, json, yaml or html.",
        ),
        options.path(
            ["--report"],
            "FILE",
            "With --since, compare this report, written with -o json, in place of an audit.",
        ),
        targets_option(AUDIT_FORMATS),
        options.fail_on(options.AUDIT_LEVELS),
    ],
    help=(
        "Find problems in the workloads of a cluster, of manifests, or of a snapshot: constraints "
        "that break API rules, constraints without the intended effect, missing constraints, and "
        "unevenly spread pods. The audit changes nothing. With -f, the objects of these files are "
        "audited, otherwise all objects of the other sources; without any source, those of the "
        f"current context. {options.FACTS_RULE}"
    ),
    examples=(
        "evenspread audit -f manifests/ --config config.yaml",
        "evenspread audit --context prod -o table -o html=spread.html --save-snapshot prod.json.gz",
        "evenspread audit --context prod -n shop --as system:serviceaccount:ci:audit",
        "evenspread audit --snapshot prod.json.gz -o json --fail-on never",
        "evenspread audit --context prod --since monday.json",
        "helm template chart/ | evenspread audit -f - -o sarif=spread.sarif --fail-on warn",
    ),
)
