"""``--what-if``: what is supposed about the cluster, as it is written on the command line."""

import re

import click

from webhook.errors import ConfigError
from webhook.policy.api.labels import key_problems, value_problems
from webhook.policy.explain.edits import Edit
from webhook.policy.explain.names import full_key
from webhook.policy.explain.nodeedits import AddNodes, Cordon, Without
from webhook.policy.explain.rollout import MOST_REPLICAS

MOST_NODES = 1000  # to add at a time; the largest clusters have five times as many in all

_addition = re.compile(r"(?P<labels>[^:]+)(:(?P<number>[0-9]+))?").fullmatch


def supposed(
    without: tuple[str, ...], cordon: tuple[str, ...], add_nodes: tuple[str, ...]
) -> tuple[Edit, ...]:
    """
    Read what is to be changed before replicas are placed: losses, cordons, additions.

    Raises:
        ConfigError: One of them cannot be read.
    """
    lost = (Without(*_pair(each, "--without")) for each in without)
    return (*lost, *map(Cordon, cordon), *map(_added, add_nodes))


def options() -> list[click.Option]:
    """The options; each of them, or ``--what-if`` alone, asks what would be."""
    return [
        click.Option(
            ["--what-if"],
            is_flag=True,
            help="Place the missing replicas one after another, and tell what stays Pending.",
        ),
        click.Option(
            ["--without"],
            metavar="KEY=VALUE",
            multiple=True,
            help="Suppose that these nodes are gone, as zone=us-1c. May be repeated.",
        ),
        click.Option(
            ["--cordon"],
            metavar="NODE",
            multiple=True,
            help="Suppose that a node takes no new pods. May be repeated.",
        ),
        click.Option(
            ["--scale"],
            metavar="N",
            type=click.IntRange(0, MOST_REPLICAS),
            help="Suppose that there should be N replicas.",
        ),
        click.Option(
            ["--add-nodes"],
            metavar="KEY=VALUE:N",
            multiple=True,
            help="Suppose N more nodes, as zone=us-1d:3; labels with commas. May be repeated.",
        ),
    ]


def _added(written: str) -> AddNodes:
    found = _addition(written)
    number = int(found["number"] or 1) if found else 0
    if found is None or not 1 <= number <= MOST_NODES:
        raise ConfigError(
            f"{written!r} adds no nodes: write labels and a number up to {MOST_NODES}, as in "
            "zone=us-1d:3",
            "--add-nodes",
        )
    labels = dict(_pair(each, "--add-nodes") for each in found["labels"].split(","))
    return AddNodes(labels, number)


def _pair(written: str, option: str) -> tuple[str, str]:
    name, _, value = written.partition("=")
    key = full_key(name)
    if not value or key_problems(key) or value_problems(value):
        raise ConfigError(f"{written!r} is no label: write one as in zone=us-1c", option)
    return key, value
