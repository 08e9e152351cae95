"""``evenspread config check``: validate configuration files, and show their effect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from webhook.admission.offline import build_reviews, decode_review, unpack_recording
from webhook.cli import options
from webhook.cli.command import Command, CommandGroup
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.manifests import Inputs, facts_from
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import REASONS
from webhook.config.summary import GateRow, advise, describe_pods, example, gate_table
from webhook.errors import ConfigError, ReviewError
from webhook.manifests import Document, format_yaml
from webhook.policy import render
from webhook.policy.defaulting.inject import Injection
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD

GATE_HEADINGS = ("gate", "stage", "value", "from", "guards")
NOT_YET = "not yet"  # the stage of a gate that a later version introduces


@dataclass(frozen=True)
class ExamplePod:
    """
    A pod with its default constraints.

    Attributes:
        pod: Its name or description.
        injection: Its defaults, or the reason that it has none.
    """

    pod: str
    injection: Injection

    @property
    def reason(self) -> str:
        """Why the pod gets no defaults; empty if it gets some."""
        return REASONS.get(self.injection.skip, "")

    @property
    def constraints(self) -> list[Any]:
        """The defaults as JSON values."""
        return [msgspec.json.decode(entry.written) for entry in self.injection.entries]


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


def as_document(
    requested: RequestedPolicy, advice: Sequence[str], example: ExamplePod
) -> dict[str, Any]:
    """Convert the effect to a document for JSON or YAML."""
    configuration, gates = requested
    return {
        "files": list(configuration.files),
        "mode": str(configuration.mode),
        "kubernetes": str(gates.version),
        "profiles": [
            {
                "name": profile.name,
                "pods": describe_pods(profile),
                "merge": str(profile.merge),
                "completeSelectors": profile.complete_selectors,
                "constraints": list(map(render.constraint, profile.constraints)),
            }
            for profile in requested.policy.profiles
        ],
        "gates": [row._asdict() for row in gate_table(gates)],
        "notices": list(configuration.notices),
        "advice": list(advice),
        "example": {
            "pod": example.pod,
            "profile": example.injection.profile,
            "reason": example.reason,
            "constraints": example.constraints,
        },
    }


def show(
    requested: RequestedPolicy, advice: Sequence[str], example: ExamplePod, terminal: Terminal
) -> None:
    """Write the effect as text."""
    configuration, gates = requested
    files = ", ".join(configuration.files) or "no file, so the defaults"
    terminal.line(("configuration", Style.PLACE), f": {files}; mode {configuration.mode}")
    _show_profiles(requested.policy.profiles, terminal)
    terminal.line()
    terminal.line((f"feature gates of Kubernetes {gates.version}", Style.PLACE))
    terminal.table(GATE_HEADINGS, map(_gate_cells, gate_table(gates)))
    for heading, sentences in (("notice", configuration.notices), ("advice", advice)):
        for sentence in sentences:
            terminal.line((heading, Style.DOUBTFUL), f": {sentence}")
    none = f"none, since {example.reason}"
    source = f"from profile {example.injection.profile}" if example.constraints else none
    terminal.line(("defaults", Style.PLACE), f" of {example.pod}: {source}")
    _show_constraints(example.constraints, terminal)


def _show_profiles(profiles: Sequence[Profile], terminal: Terminal) -> None:
    if not profiles:
        terminal.line("no profiles: no pod gets defaults")
    for number, profile in enumerate(profiles, start=1):
        completes = ", completes null selectors" if profile.complete_selectors else ""
        terminal.line()
        terminal.line((f"profile {number}: {profile.name}", Style.PLACE))
        terminal.line(f"  for     {describe_pods(profile)}")
        terminal.line(f"  merge   {profile.merge}{completes}")
        _show_constraints(list(map(render.constraint, profile.constraints)), terminal)


def _gate_cells(row: GateRow) -> tuple[str, ...]:
    return row.name, row.stage or NOT_YET, "on" if row.on else "off", row.source, row.guards


def _show_constraints(constraints: Sequence[Any], terminal: Terminal) -> None:
    written = format_yaml(list(constraints)) if constraints else ""
    for line in written.splitlines():
        terminal.line("  ", (line, Style.GOOD))


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
