"""``evenspread explain``: why a pod can or cannot be placed, and what change would place it."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Any

import click
import msgspec

from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.cluster import ClusterReader, ManifestCluster, open_cluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import read_policy
from webhook.cli.inputs.subjects import ExplainSubject, Templates, find, find_in_manifests
from webhook.cli.inputs.targets import PlacementTarget, TargetBuilder
from webhook.cli.output import write_stderr
from webhook.cli.terminal import Terminal
from webhook.cli.views.explanation import render_page, show
from webhook.cluster.manifests import DEFAULT_NAMESPACE
from webhook.errors import ConfigError, SourceError
from webhook.manifests import Document
from webhook.policy.api.labels import key_problems, value_problems
from webhook.policy.escape import escape_json
from webhook.policy.explain.explanation import Explanation
from webhook.policy.explain.explanation import explain as explain_placement
from webhook.policy.explain.nodeedits import AddNodes, Cordon, RemoveNodes
from webhook.policy.explain.rollout import PLACED_REPLICAS, Rollout, roll_out
from webhook.policy.explain.scenario import ScenarioEdit, full_key

_NO_NODES = (
    "these files contain no Node: name manifests of the cluster with --cluster, or a live cluster "
    "with --context"
)


class ExplainFormat(StrEnum):
    """Formats of ``-o``."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


class ExplainResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """
    Result for one subject.

    Attributes:
        explanation: Of the pod; after a simulated rollout, of the next pod like it.
        what_if: The simulated rollout, if one was requested.
    """

    explanation: Explanation
    what_if: Rollout | None = None

    @property
    def is_bad(self) -> bool:
        """Whether a pod finds no node."""
        if self.what_if is not None:
            return bool(self.what_if.pending)
        return not (self.explanation.placeable or self.explanation.runs_on)


def explain(
    *,
    subject: str,
    filename: tuple[str, ...],
    namespace: str,
    output: ExplainFormat,
    cluster: str,
    kubeconfig: str,
    context: str,
    what_if: bool,
    without: tuple[str, ...],
    cordon: tuple[str, ...],
    scale: int | None,
    add_nodes: tuple[str, ...],
    scheduler_config: str,
    **policy_options: Any,
) -> ExitCode:
    """Explain the placement of a pod, of the next pod of a workload, or of pods in manifests."""
    if not (subject or filename):
        raise ConfigError("nothing to explain: name a subject as pod/web-1, or a file with -f")
    edits = parse_edits(without, cordon, add_nodes)
    simulate = what_if or bool(edits) or scale is not None
    requested = read_policy(scheduler_config=scheduler_config, **policy_options)
    configuration = requested.configuration
    owners, templates = configuration.owner_selectors, configuration.pod_templates
    inputs = Inputs(filename)
    documents = list(inputs.objects())
    is_live = not cluster and bool(kubeconfig or context or not filename)
    opened: AbstractContextManager[ClusterReader]
    if is_live:
        opened = open_cluster(kubeconfig, context, owners)
    else:
        others = inputs.cluster_objects(cluster) if cluster else documents
        opened = nullcontext(ManifestCluster(others, owners, inputs, namespace))
    try:
        with opened as reader:
            found = _find(subject, inputs, documents, namespace, templates, cluster=reader)
            builder = TargetBuilder(requested, reader, replaces=bool(scheduler_config))
            targets = [builder.build(item) for item in found]
            nodes = targets[0].situation.topology.nodes
            if unknown := set(cordon) - {node.name for node in nodes}:
                problem = f"node {min(unknown)!r} does not exist: check its name"
                raise ConfigError(problem, "--cordon")
        results = [_explain_target(target, edits, scale, simulate=simulate) for target in targets]
        _write(results, output)
    finally:
        inputs.report()
    if not (nodes or is_live):
        write_stderr(_NO_NODES)
    return outcome(
        findings=any(result.is_bad for result in results), unfinished=bool(inputs.problems)
    )


def _find(
    subject: str,
    inputs: Inputs,
    documents: list[Document],
    namespace: str,
    templates: Templates,
    *,
    cluster: ClusterReader,
) -> list[ExplainSubject]:
    if not inputs.paths:
        return [find(subject, namespace, templates, cluster)]
    found = list(find_in_manifests(documents, subject, namespace, templates))
    if not found:
        what = f"{subject} with a pod template" if subject else "object with a pod template"
        raise SourceError(", ".join(inputs.paths), f"contains no {what}")
    return found


def _explain_target(
    target: PlacementTarget, edits: tuple[ScenarioEdit, ...], scale: int | None, *, simulate: bool
) -> ExplainResult:
    situation = target.situation
    if not simulate:
        return ExplainResult(explain_placement(situation, target.subject, target.runs_on))
    replicas = target.replicas if scale is None else scale
    rollout, end = roll_out(situation, edits, replicas, target.running)
    return ExplainResult(explain_placement(end, f"after that, {target.subject}"), rollout)


def _write(results: Sequence[ExplainResult], output: ExplainFormat) -> None:
    match output:
        case ExplainFormat.JSON:
            for result in results:
                click.echo(escape_json(msgspec.json.encode(result).decode()))
        case ExplainFormat.HTML:
            answers = [(result.explanation, result.what_if) for result in results]
            click.echo(render_page(answers), nl=False)
        case ExplainFormat.TABLE:
            terminal = Terminal()
            for result in results:
                show(result.explanation, result.what_if, terminal)


MOST_NODES = 1000  # nodes to add at a time; the largest clusters have 5000

_addition = re.compile(r"(?P<labels>[^:]+)(:(?P<number>[0-9]+))?").fullmatch


def parse_edits(
    without: tuple[str, ...], cordon: tuple[str, ...], add_nodes: tuple[str, ...]
) -> tuple[ScenarioEdit, ...]:
    """
    Parse the changes to make before replicas are placed: lost nodes, cordons, additions.

    Raises:
        ConfigError: A value cannot be parsed.
    """
    lost = (RemoveNodes(*_parse_label(text, "--without")) for text in without)
    return (*lost, *map(Cordon, cordon), *map(_parse_addition, add_nodes))


def whatif_options() -> list[click.Option]:
    """Create the options; any of them simulates a rollout."""
    return [
        click.Option(
            ["--what-if"],
            is_flag=True,
            help="Simulate placing the replicas that are desired but not running, one by one, "
            "and count those left Pending.",
        ),
        options.repeated(
            "--without",
            "KEY=VALUE",
            "Simulate the loss of the nodes with this label, for example zone=us-1c.",
        ),
        options.repeated("--cordon", "NODE", "Simulate that this node is unschedulable."),
        click.Option(
            ["--scale"],
            metavar="N",
            type=click.IntRange(0, PLACED_REPLICAS),
            help="Simulate N desired replicas; running pods stay.",
        ),
        options.repeated(
            "--add-nodes",
            "KEY=VALUE:N",
            "Simulate N more nodes with this label, for example zone=us-1d:3; separate several "
            "labels by commas.",
        ),
    ]


def _parse_addition(written: str) -> AddNodes:
    found = _addition(written)
    number = int(found["number"] or 1) if found else 0
    if found is None or not 1 <= number <= MOST_NODES:
        raise ConfigError(
            f"{written!r} is not an addition: write labels and a number up to {MOST_NODES}, as in "
            "zone=us-1d:3",
            "--add-nodes",
        )
    labels = dict(_parse_label(text, "--add-nodes") for text in found["labels"].split(","))
    return AddNodes(labels, number)


def _parse_label(written: str, option: str) -> tuple[str, str]:
    name, _, value = written.partition("=")
    key = full_key(name)
    if not value or key_problems(key) or value_problems(value):
        raise ConfigError(f"{written!r} is not a label: write one as in zone=us-1c", option)
    return key, value


command = Command(
    "explain",
    callback=explain,
    params=[
        click.Argument(["subject"], default="", metavar="[KIND/NAME]"),
        options.filename("Manifests with pods or workloads to explain", required=False),
        options.CLUSTER,
        *options.API_SERVER,
        click.Option(
            ["-n", "--namespace"],
            metavar="NAME",
            default=DEFAULT_NAMESPACE,
            show_default=True,
            help="Namespace of KIND/NAME, and of manifests without a namespace.",
        ),
        *whatif_options(),
        *options.POLICY,
        options.output(
            ExplainFormat,
            "Output format; json writes one document per line, html a page with diagrams.",
        ),
    ],
    help=(
        "Explain where a pod can be placed, and why. Name a pod or a workload as KIND/NAME, or "
        "give manifests with -f. For a workload, the next pod is explained. Each constraint is "
        "shown with the pods of each domain, the global minimum, the skew and the excluded "
        "nodes. Each node is shown with its score. For a pod that cannot be placed, the smallest "
        "changes that would place it are shown. The exit code is 1 if the pod is not running and "
        "no node can take it. Resources, ports, volumes and pod affinity are not considered."
    ),
    examples=(
        "evenspread explain -f pod.yaml --cluster cluster/",
        "evenspread explain deploy/web -n shop --cluster cluster/ -o html > web.html",
        "evenspread explain deploy/web -n shop --cluster cluster/ --without zone=us-1c --scale 9",
    ),
)
