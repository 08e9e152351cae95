"""Options and help of ``evenspread rebalance``; ``webhook.cli.rebalance`` runs it."""

import click

from webhook.cli import options
from webhook.cli.command import Command, ImportedFunction
from webhook.cli.inputs.filepaths import file_options

command = Command(
    "rebalance",
    callback=ImportedFunction("webhook.cli.rebalance:rebalance"),
    params=[
        click.Argument(["workload"], nargs=-1, metavar="[KIND/NAME]..."),
        *file_options("Manifests of a cluster with its pods", required=False, positional=False),
        *options.FACTS_SOURCES,
        options.namespace(
            "Plan",
            "Default: all namespaces; for KIND/NAME, the namespace of the context if the live "
            "cluster is read, or else default.",
        ),
        options.all_namespaces("Plan", exposed=True),
        *options.gates(),
        click.Option(
            ["--apply"],
            is_flag=True,
            help="Evict the pods of the live cluster, and plan again after each wave.",
        ),
        click.Option(["--yes"], is_flag=True, help="With --apply, evict without asking first."),
        click.Option(
            ["--wave"],
            metavar="N",
            type=click.IntRange(min=1),
            default=5,
            show_default=True,
            help="With --apply, evict at most N pods at the same time, of workloads that cannot "
            "affect each other.",
        ),
        click.Option(
            ["--timeout"],
            metavar="DURATION",
            default="10m",
            show_default=True,
            callback=options.parse_timeout,
            help="With --apply, stop if a replacement is not ready after this time.",
        ),
        options.output(
            "rebalance",
            "json writes one document, script a shell script of kubectl commands",
        ),
    ],
    help=(
        "Plan the fewest evictions after which the constraints of running workloads hold: hard "
        "ones, and soft ones where the scores of kube-scheduler bring the pods to other domains. "
        "All constraints of a pod are considered together, with PodDisruptionBudgets, resources, "
        "volumes, affinity and all other filters of kube-scheduler. Pods without a controller are "
        "not evicted. Each step names the nodes that the replacement may go to, if those before it "
        "are where the plan assumes. Without "
        "-f and --facts, the current context is read. Without --apply, nothing is evicted. With "
        "it, pods are evicted by the eviction API. When all replacements of a wave are ready, the "
        "command plans again. It stops if an eviction is refused, if two replacements are on nodes "
        "that were not planned, or if more evictions would be necessary than were planned. "
        f"{options.FACTS_RULE} The exit code is 1 if a constraint does not hold at the end, and 3 "
        "if the command stops before."
    ),
    examples=(
        "evenspread rebalance deploy/web -n shop --facts cluster/",
        "evenspread rebalance -n shop --context prod",
        "evenspread rebalance -A -o json",
        "evenspread rebalance deploy/web -n shop -o script > rebalance.sh",
        "evenspread rebalance deploy/web -n shop --apply",
    ),
)
