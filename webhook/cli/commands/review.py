"""Options and help of ``evenspread review``; ``webhook.cli.review`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.labelselectors import selector_option
from webhook.cli.projectoptions import project_options
from webhook.policy.request import HOOK_CHOICES

command = Command(
    "review",
    callback=ImportedFunction("webhook.cli.review:review"),
    params=[
        *file_options("Manifests or recorded AdmissionReviews"),
        options.STRICT,
        *project_options(
            "It names the files to review if there is no -f, what to leave out, the facts, the "
            "configuration and the version; its rules do not apply, as the server does not know "
            "them."
        ),
        options.namespace("Review"),
        options.all_namespaces("Review"),
        selector_option("Review only objects"),
        *options.FACTS_SOURCES,
        *options.POLICY,
        click.Option(
            ["--hook"],
            type=click.Choice(list(HOOK_CHOICES)),
            help="Webhook to call; `both` calls mutate first, and then validate with the patched "
            "object. Default: both, or the webhook of a recorded review.",
        ),
        options.output(
            "review",
            "json writes one document per line, name the objects that are patched, denied or "
            "warned about",
        ),
        options.fail_on(),
    ],
    help=(
        "Show what the server would answer to manifests and recorded AdmissionReviews: the patch "
        "as a diff, warnings, or a denial with its causes. A manifest is reviewed as if it were "
        "created now; for a workload, the pod that its controller creates is reviewed as well, "
        "with placeholders such as `hash` for generated values; for an Argo Rollout with "
        "workloadRef, it has the template of the Deployment. "
        f"{options.FACTS_RULE}"
    ),
    examples=(
        "evenspread review -f deployment.yaml --config config.yaml --facts cluster/",
        "evenspread review -f review.json --scheduler-config kube-scheduler.yaml -o json",
        "kubectl get pods -o yaml | evenspread review -f - --hook validate",
    ),
)
