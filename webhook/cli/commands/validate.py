"""Options and help of ``evenspread validate``; ``webhook.cli.validate`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.completers import FLAGS
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.labelselectors import selector_option
from webhook.cli.projectoptions import project_options
from webhook.cli.ruleoptions import explain_rules


def _explain(ctx: click.Context, _: click.Parameter, ids: str | None) -> None:
    if ids is not None:
        click.echo(explain_rules(ids, "--explain"))
        ctx.exit()


command = Command(
    "validate",
    callback=ImportedFunction("webhook.cli.validate:validate"),
    params=[
        *file_options("Manifests to check"),
        options.STRICT,
        *project_options(
            "It names the files to check if there is no -f, what to leave out, the configuration "
            "and the versions, and its exemptions apply.",
            versions=True,
        ),
        *options.gates(versions=True),
        options.namespace("Check"),
        options.all_namespaces("Check"),
        selector_option("Check only objects"),
        options.CONFIG,
        options.output(
            "validate",
            "json writes one document per line, name the objects with findings, wide also lists "
            "objects without findings",
        ),
        options.fail_on(),
        click.Option(
            ["--explain"],
            metavar="ID",
            is_eager=True,
            expose_value=False,
            callback=_explain,
            shell_complete=FLAGS["--explain"],
            help="Explain rules, for example TSC001 or TSC004,TSC006, and exit.",
        ),
    ],
    help=(
        "Check the topologySpreadConstraints of manifests against the API rules of a Kubernetes "
        "version, with the messages of its kube-apiserver. Pods and objects with a pod template "
        "are checked; other objects are ignored. For a range of versions, the results are shown "
        "side by side."
    ),
    examples=(
        "evenspread validate -f manifests/",
        "evenspread validate web.yaml db.yaml",
        "evenspread validate -k overlays/prod",
        "evenspread validate -f pod.yaml --kube-version 1.29 -o json",
        "evenspread validate -f manifests/ --kube-version 1.24..1.36",
        "helm template chart/ | evenspread validate -f - --fail-on warn",
        "evenspread validate -f manifests/ -n shop -o name",
        "evenspread validate --explain TSC006",
    ),
)
