"""``evenspread config check``: validate configuration files, and show their effect."""

from typing import Any

from webhook.admission.offline import build_reviews, decode_review, unpack_recording
from webhook.cli import options
from webhook.cli.command import Command, CommandGroup
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.manifests import Inputs, facts_from
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Terminal
from webhook.cli.views.configuration import ExamplePod, as_document, show
from webhook.config.summary import advise, example
from webhook.errors import ConfigError, ReviewError
from webhook.manifests import Document
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD


def check(
    *, filename: tuple[str, ...], cluster: str, output: OutputFormat, **policy_options: Any
) -> ExitCode:
    """Check the configuration and show its effect."""
    requested = read_policy(**policy_options)
    inputs = Inputs(filename, unpack=unpack_recording)
    documents = list(inputs.objects())
    facts = facts_from(cluster, documents, requested.configuration.owner_selectors, inputs)
    effect = requested, advise(requested.policy, facts), _make_example(requested, facts, documents)
    inputs.report()
    if output is OutputFormat.TABLE:
        show(*effect, Terminal())
    else:
        write_document(as_document(*effect), output)
    return outcome(findings=False, unfinished=bool(inputs.problems))


def _make_example(
    requested: RequestedPolicy, facts: Facts, documents: list[Document]
) -> ExamplePod:
    """Use the first Pod of the files; without files, a built-in pod with a Service."""
    policy = requested.policy
    if not documents:
        return ExamplePod("a pod labelled app=example, behind a Service", example(policy))
    for review in build_reviews(documents, {POD: ()}):
        try:
            request = decode_review(review, policy)
        except ReviewError as error:
            raise ConfigError(str(error), review.document.place()) from error
        if request.template is not None:
            name = f"Pod {request.namespace}/{request.shown_name}"
            return ExamplePod(name, example(policy, facts, request.template))
    raise ConfigError("contains no Pod: name the manifest of one", "--filename")


command = CommandGroup(
    "config",
    help="Check configuration files, and show their effect.",
    commands=[
        Command(
            "check",
            callback=check,
            params=[
                *options.POLICY,
                options.filename("Pod whose defaults to show", required=False),
                options.CLUSTER,
                options.output(),
            ],
            short_help="Validate configuration, and show profiles, gates and an example.",
            help=(
                "Validate the files of --config and --scheduler-config. Show profiles and feature "
                "gates that apply, the source of each value, and the default constraints of a pod."
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
