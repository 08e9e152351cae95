"""Options of ``explain`` for hypothetical changes of the cluster, such as ``--scale``."""

import re

import click

from webhook.cli import options
from webhook.errors import ConfigError
from webhook.policy.api.labels import key_problems, value_problems
from webhook.policy.explain.nodeedits import AddNodes, Cordon, RemoveNodes
from webhook.policy.explain.rollout import PLACED_REPLICAS
from webhook.policy.explain.scenario import ScenarioEdit, full_key

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
