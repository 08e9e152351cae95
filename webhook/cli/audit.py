"""``evenspread audit``: find problems in the workloads of a cluster, of files or of a snapshot."""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, TaskID

from webhook.audit import baseline
from webhook.audit.collect import ManifestCollector
from webhook.audit.inventory import Inventory
from webhook.audit.listing import ClusterListing
from webhook.audit.renderers import AUDIT_FORMATS, render_report
from webhook.audit.renderers.table import format_lines
from webhook.audit.report import AuditReport, AuditSeverity
from webhook.audit.scan import AuditOptions, scan
from webhook.audit.snapshot import Snapshot, load_snapshot, write_snapshot
from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import read_policy
from webhook.cli.output import TABLE, OutputTarget, targets_option, write_text
from webhook.cli.terminal import Style, Terminal
from webhook.cluster.protocol import ApiClient
from webhook.config import Configuration
from webhook.errors import ConfigError


@contextmanager
def pause_garbage_collection() -> Generator[None]:
    """
    Disable the cyclic garbage collector in the context; reference counting still frees objects.

    An audit keeps everything it reads, up to 10 000 workloads and their pods, until it ends.
    Repeated collections take a tenth of its time and free nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@pause_garbage_collection()
def audit(
    *,
    filename: tuple[str, ...],
    strict: bool,
    cluster: str,
    snapshot: str,
    save_snapshot: str,
    kubeconfig: str,
    context: str,
    namespace: str,
    all_namespaces: bool,
    output: tuple[OutputTarget, ...],
    fail_on: AuditSeverity | None,
    rules: frozenset[str],
    since_baseline: str,
    **policy_options: Any,
) -> ExitCode:
    """Run the audit and write every output."""
    if namespace and all_namespaces:
        raise ConfigError("use -n or -A, not both", "-A")
    requested = read_policy(**policy_options)
    configuration = requested.configuration
    known = baseline.load_baseline(since_baseline) if since_baseline else None
    inputs = Inputs(filename, strict=strict)
    if filename or cluster or snapshot:
        collected = read_snapshot(inputs, cluster, snapshot, configuration)
    else:
        collected = list_cluster(inputs, configuration, kubeconfig, context, namespace)
    if save_snapshot:
        write_snapshot(collected, save_snapshot)
    question = AuditOptions(requested.policy, rules, namespace)
    report = _scan(collected, question, configuration)
    if known is not None:
        report = baseline.remove_known_findings(report, known)
    for target in output:
        _write(report, target, fail_on)
    inputs.report()
    return outcome(findings=report.exceeds(fail_on), unfinished=bool(inputs.problems))


def _scan(collected: Snapshot, question: AuditOptions, configuration: Configuration) -> AuditReport:
    inventory = Inventory(collected, configuration.owner_selectors)
    with progress_bar() as bar:
        return scan(inventory, question, partial(bar.track, description="auditing"))


def _write(report: AuditReport, target: OutputTarget, threshold: AuditSeverity | None) -> None:
    if not target.file and target.format == TABLE:
        Terminal().lines(
            [(text, Style[meaning.name]) for text, meaning in line] for line in format_lines(report)
        )
        return
    write_text(render_report(report, target.format, threshold), target)


def read_snapshot(
    inputs: Inputs, cluster: str, snapshot: str, configuration: Configuration
) -> Snapshot:
    """
    Read manifests and those of ``--cluster`` around them, or a saved snapshot instead.

    Raises:
        ConfigError: The sources exclude each other.
        SourceError: The snapshot cannot be read; ``inputs`` receives all other problems.
    """
    if snapshot:
        if inputs.paths or cluster:
            raise ConfigError(
                "already contains manifests and cluster: leave out -f and --cluster", "--snapshot"
            )
        return load_snapshot(snapshot)
    if not inputs.paths:
        raise ConfigError("requires -f: name the manifests to audit", "--cluster")
    collector = ManifestCollector(configuration)
    for document in inputs.cluster_objects(cluster):
        collector.add(document, requested=False)
    for document in inputs.objects():
        collector.add(document)
    inputs.problems += collector.problems
    return collector.snapshot


def list_cluster(
    inputs: Inputs, configuration: Configuration, kubeconfig: str, context: str, namespace: str
) -> Snapshot:
    """
    List the objects from an API server, with a progress bar for each kind.

    Raises:
        SourceError: The API server cannot be reached; ``inputs`` receives all other problems.
    """

    async def read(api: ApiClient) -> ClusterListing:
        listing = ClusterListing(api, configuration)
        with progress_bar() as bar:
            tasks: dict[str, TaskID] = {}

            def report(kind: str, number: int) -> None:
                if kind not in tasks:
                    tasks[kind] = bar.add_task(f"{kind}s", total=None)
                bar.update(tasks[kind], completed=number)

            await listing.read(namespace, report)
        return listing

    listing = apiserver.call(kubeconfig, context, read)
    inputs.problems += listing.problems
    return listing.snapshot


def progress_bar() -> Progress:
    """Create a progress bar on stderr, erased when done; invisible if stderr is no terminal."""
    console = Console(file=sys.stderr)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


command = Command(
    "audit",
    callback=audit,
    params=[
        options.filename("Manifests to audit, instead of a cluster", required=False),
        options.STRICT,
        options.CLUSTER,
        options.path(
            ["--snapshot"], "FILE", "Audit a file written by --save-snapshot, instead of a cluster."
        ),
        options.path(
            ["--save-snapshot"],
            "FILE",
            "Save all objects that the audit reads to a file, for later runs.",
        ),
        *options.API_SERVER,
        options.text(["-n", "--namespace"], "NAME", "Audit only this namespace."),
        click.Option(
            ["-A", "--all-namespaces"], is_flag=True, help="Audit all namespaces (the default)."
        ),
        *options.POLICY,
        options.rules("Check only these rules, for example TSC101,TSC110. Default: all rules."),
        options.path(
            ["--since-baseline"],
            "FILE",
            "Report only findings that are not in FILE, a report written with -o json.",
        ),
        targets_option(AUDIT_FORMATS),
        options.fail_on(options.AUDIT_LEVELS),
    ],
    help=(
        "Find problems in the workloads of a cluster, of manifests, or of a snapshot: constraints "
        "that break API rules, constraints without the intended effect, missing constraints, and "
        "unevenly spread pods. The audit changes nothing."
    ),
    examples=(
        "evenspread audit -f manifests/ --config config.yaml",
        "evenspread audit --context prod -o table -o html=spread.html --save-snapshot prod.json.gz",
        "evenspread audit --snapshot prod.json.gz -o json --fail-on never",
        "helm template chart/ | evenspread audit -f - -o sarif=spread.sarif --fail-on warn",
    ),
)
