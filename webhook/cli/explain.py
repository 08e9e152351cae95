"""``evenspread explain``: why a pod can or cannot be placed, and what would let it."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, NamedTuple

import click
import msgspec

from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import whatif
from webhook.cli.inputs.cluster import Files, Surroundings, live
from webhook.cli.inputs.found import Found
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import AskedPolicy, asked_policy
from webhook.cli.inputs.subjects import find, in_manifests
from webhook.cli.inputs.targets import Judge, Target
from webhook.cli.inputs.whatif import supposed
from webhook.cli.output import say
from webhook.cli.terminal import Terminal
from webhook.cli.views.explained import show
from webhook.cli.views.pictures import page
from webhook.cluster.manifests import NAMESPACE
from webhook.errors import ConfigError, SourceError
from webhook.manifests import Document
from webhook.policy.explain.edits import Edit
from webhook.policy.explain.explanation import Explanation
from webhook.policy.explain.explanation import explain as explained
from webhook.policy.explain.rollout import Rollout, roll_out
from webhook.policy.model import Node

_NO_NODES = (
    "no Node is in these files: give manifests of the cluster's with --cluster, or name a cluster "
    "with --context"
)


class Shape(StrEnum):
    """What ``-o`` takes here."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


class Answer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """
    What is told about one subject.

    Attributes:
        explanation: Of the pod; with ``--what-if`` of the next one like it, in the end.
        what_if: What would be.
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
    output: str,
    cluster: str,
    kubeconfig: str,
    context: str,
    what_if: bool,
    without: tuple[str, ...],
    cordon: tuple[str, ...],
    scale: int | None,
    add_nodes: tuple[str, ...],
    scheduler_config: str,
    **asked: Any,
) -> ExitCode:
    """Explain the placement of a pod, of the next pod of a workload, or of those of manifests."""
    if not (subject or filename):
        raise ConfigError("nothing to explain: name a subject as pod/web-1, or a file with -f")
    edits = supposed(without, cordon, add_nodes)
    supposes = what_if or bool(edits) or scale is not None
    found = asked_policy(scheduler_config=scheduler_config, **asked)
    inputs = Inputs(filename)
    documents = list(inputs.objects())
    source = Where(filename, cluster, kubeconfig, context, namespace)
    try:
        with source.surroundings(documents, found, inputs) as surroundings:
            judge = Judge(found, surroundings, replaces=bool(scheduler_config))
            objects = source.objects(subject, documents, found, surroundings)
            targets = [judge.target(each) for each in objects]
            nodes = targets[0].situation.topology.nodes
            _check_cordons(cordon, nodes)
        answers = [_answer(target, edits, scale, supposes=supposes) for target in targets]
        _show(answers, Shape(output))
    finally:
        inputs.tell()
    if not (nodes or source.is_live):
        say(_NO_NODES)
    return outcome(
        findings=any(answer.is_bad for answer in answers), unfinished=bool(inputs.problems)
    )


class Where(NamedTuple):
    """
    Which cluster is asked about; texts that were not given are empty.

    Attributes:
        files: Manifests to explain.
        path: Of manifests that stand for it.
        kubeconfig: File that says how to reach it.
        context: Of the kubeconfig.
        namespace: Of objects that name none.
    """

    files: tuple[str, ...]
    path: str
    kubeconfig: str
    context: str
    namespace: str

    @property
    def is_live(self) -> bool:
        """Whether an API server is asked."""
        return not self.path and bool(self.kubeconfig or self.context or not self.files)

    @contextmanager
    def surroundings(
        self, documents: list[Document], asked: AskedPolicy, inputs: Inputs
    ) -> Generator[Surroundings]:
        """Read files or reach a cluster, as long as the context lasts."""
        owners = asked.configuration.owner_selectors
        if self.is_live:
            with live(self.kubeconfig, self.context, owners) as reached:
                yield reached
            return
        if self.path:
            there = Inputs([self.path])
            documents = list(there.objects())
            inputs.problems += there.problems
            inputs.skipped += there.skipped
        yield Files(documents, owners, inputs, self.namespace)

    def objects(
        self,
        subject: str,
        documents: list[Document],
        asked: AskedPolicy,
        surroundings: Surroundings,
    ) -> list[Found]:
        """
        Find what is asked about: in the files, or in the cluster.

        Raises:
            SourceError: There is nothing of that name.
        """
        templates = asked.configuration.pod_templates
        if not self.files:
            return [find(subject, self.namespace, templates, surroundings)]
        found = list(in_manifests(documents, subject, self.namespace, templates))
        if not found:
            such = f"no {subject}" if subject else "nothing"
            raise SourceError(", ".join(self.files), f"there is {such} with a pod template in it")
        return found


def _answer(
    target: Target, edits: tuple[Edit, ...], scale: int | None, *, supposes: bool
) -> Answer:
    situation = target.situation
    if not supposes:
        return Answer(explained(situation, target.subject, target.runs_on))
    replicas = target.replicas if scale is None else scale
    rollout, end = roll_out(situation, edits, replicas, target.running)
    return Answer(explained(end, f"after that, {target.subject}"), rollout)


def _show(answers: Sequence[Answer], shape: Shape) -> None:
    match shape:
        case Shape.JSON:
            for answer in answers:
                click.echo(msgspec.json.encode(answer).decode())
        case Shape.HTML:
            click.echo(page([(answer.explanation, answer.what_if) for answer in answers]))
        case Shape.TABLE:
            terminal = Terminal()
            for answer in answers:
                show(answer.explanation, answer.what_if, terminal)


def _check_cordons(names: Iterable[str], nodes: Iterable[Node]) -> None:
    unknown = set(names) - {node.name for node in nodes}
    if unknown:
        raise ConfigError(f"there is no node {min(unknown)!r}: look at its name", "--cordon")


command = Command(
    "explain",
    callback=explain,
    params=[
        click.Argument(["subject"], default="", metavar="[KIND/NAME]"),
        options.filename("Manifests with pods or workloads to explain", required=False),
        options.cluster(),
        *options.reach(),
        click.Option(
            ["-n", "--namespace"],
            metavar="NAME",
            default=NAMESPACE,
            show_default=True,
            help="Of the subject, and of manifests that name none.",
        ),
        *whatif.options(),
        *options.gates(),
        options.config(),
        options.scheduler_config(),
        click.Option(
            ["-o", "--output"],
            type=click.Choice([str(each) for each in Shape]),
            default=str(Shape.TABLE),
            show_default=True,
            help="json is one document a line; html is a page that draws the domains.",
        ),
    ],
    help=(
        "Explain where a pod can be placed and why: for each constraint the pods of each domain, "
        "the global minimum, the skew, the nodes left out; the score of each node; and, for one "
        "that cannot be placed, the smallest changes that would let it. For a workload it is its "
        "next pod. Exits with 1 if a pod finds no node. Resources, ports, volumes and pod affinity "
        "are not looked at."
    ),
    examples=(
        "evenspread explain -f pod.yaml --cluster cluster/",
        "evenspread explain deploy/web -n shop --cluster cluster/ -o html > web.html",
        "evenspread explain deploy/web -n shop --cluster cluster/ --without zone=us-1c --scale 9",
    ),
)
