"""``evenspread config check``: validates every configuration file, and shows what is in force."""

from typing import Any

from webhook.admission.offline import ask, decoded, unpack
from webhook.cli import options
from webhook.cli.command import Command, Group
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.clusters import facts_from
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import AskedPolicy, asked_policy
from webhook.cli.output import Format, write
from webhook.cli.terminal import Terminal
from webhook.cli.views.effects import Effects, Example
from webhook.config import example
from webhook.errors import ConfigError, ReviewError
from webhook.manifests import Document
from webhook.policy.facts import Facts
from webhook.policy.workloads import POD


def check(*, filename: tuple[str, ...], cluster: str, output: Format, **asked: Any) -> ExitCode:
    """Check the configuration, and show what comes of it."""
    found = asked_policy(**asked)
    inputs = Inputs(filename, unpack=unpack)
    documents = list(inputs.objects())
    facts = facts_from(cluster, documents, found.configuration.owner_selectors, inputs)
    effects = Effects(found, facts, _example(found, facts, documents))
    inputs.tell()
    if output is Format.TABLE:
        effects.show(Terminal())
    else:
        write(effects.as_document(), output)
    return outcome(findings=False, unfinished=bool(inputs.problems))


def _example(found: AskedPolicy, facts: Facts, documents: list[Document]) -> Example:
    """Take the first Pod there is; without any file, a pod of ours behind a Service of its own."""
    policy = found.policy
    if not documents:
        return Example("a pod labelled app=example, behind a Service", example(policy))
    for asked in ask(documents, {POD: ()}):
        try:
            request = decoded(asked, policy)
        except ReviewError as error:
            raise ConfigError(str(error), asked.document.place()) from error
        if request.template is not None:
            name = f"Pod {request.namespace}/{request.shown_name}"
            return Example(name, example(policy, facts, request.template))
    raise ConfigError("no Pod stands there: name the manifest of one", "--filename")


command = Group(
    "config",
    help="Check configuration, and show what is in force.",
    commands=[
        Command(
            "check",
            callback=check,
            params=[
                options.config(),
                options.scheduler_config(),
                *options.gates(),
                options.filename("A Pod to show the defaults of", required=False),
                options.cluster(),
                options.output(),
            ],
            short_help="Validate configuration, and show profiles, gates and an example.",
            help=(
                "Validate every configuration file, and show the profiles and feature gates in "
                "force, where each value comes from, and what a pod would get."
            ),
            examples=(
                "evenspread config check --config config.yaml",
                "evenspread config check --scheduler-config kube-scheduler.yaml -f pod.yaml",
                "evenspread config check --config config.yaml --cluster cluster/ -o json",
            ),
        )
    ],
    examples=("evenspread config check --config config.yaml",),
)
