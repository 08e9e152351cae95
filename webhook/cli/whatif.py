"""
Values of what-if options, parsed as edits of a scenario and checked against the cluster.

Entry points: ``parse_edits``, ``check_edits`` and ``keep_supported``. This module applies no edit.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from types import MappingProxyType
from typing import Any, NoReturn

import msgspec

from webhook.cli.commands.explain import ROLLOUT
from webhook.cli.inputs.combining import combine_options
from webhook.cli.inputs.placementtargets import PlacementTarget
from webhook.cli.inputs.rollingpods import check_rollout
from webhook.errors import ConfigError, SourceError
from webhook.explain.keynames import SHORT_NAMES, KeyNames
from webhook.explain.nodeedits import AddNodes, Cordon, RemoveNodes
from webhook.explain.scenario import Scenario, ScenarioEdit, list_used_keys
from webhook.explain.volumelabels import list_volume_labels
from webhook.policy.advice.findings import join_names
from webhook.policy.advice.podcount import JOBS
from webhook.policy.api.labels import key_problems, value_problems
from webhook.policy.kinds import DAEMON_SET, LEADER_WORKER_SET, POD
from webhook.policy.model import HOSTNAME

NAMED = 12  # values or names in a message; more zones than most clusters have

MOST_NODES = 1000  # nodes to add at a time; the largest clusters have 5000

_addition = re.compile(r"(?P<labels>[^:]+)(:(?P<number>[0-9]+))?").fullmatch


class WhatIfOptions(msgspec.Struct, frozen=True):
    """
    The values of the what-if options, as written.

    Attributes:
        what_if: What to simulate without a change; empty for nothing.
        scale: The desired replicas; None for those of the workload.
    """

    what_if: str
    without: tuple[str, ...]
    cordon: tuple[str, ...]
    add_nodes: tuple[str, ...]
    scale: int | None

    @classmethod
    def take(cls, values: dict[str, Any]) -> "WhatIfOptions":
        """Take the values out of those of a command."""
        return cls(**{name: values.pop(name) for name in cls.__struct_fields__})

    @property
    def simulates(self) -> bool:
        """Whether an option requests a simulation."""
        return bool(self.what_if or self.without or self.cordon or self.add_nodes) or (
            self.scale is not None
        )

    @property
    def rolls_out(self) -> bool:
        """Whether to simulate the rollout of a new revision."""
        return self.what_if == ROLLOUT

    def parse(self, names: KeyNames = SHORT_NAMES) -> tuple[ScenarioEdit, ...]:
        """Parse the changes of nodes; ``names`` and errors as for ``parse_edits``."""
        return parse_edits(self.without, self.cordon, self.add_nodes, names)


takes_what_if = combine_options("options", WhatIfOptions.take)
"""Lets a command take the values of the what-if options as its argument ``options``."""


def parse_edits(
    without: tuple[str, ...],
    cordon: tuple[str, ...],
    add_nodes: tuple[str, ...],
    names: KeyNames = SHORT_NAMES,
) -> tuple[ScenarioEdit, ...]:
    """
    Parse the changes to make before replicas are placed: lost nodes, cordons, additions.

    Args:
        names: The names of label keys in the cluster.

    Raises:
        ConfigError: A value cannot be parsed.
    """
    lost = (RemoveNodes(*_parse_label(text, "--without", names)) for text in without)
    added = (_parse_addition(text, names) for text in add_nodes)
    return (*lost, *map(Cordon, cordon), *added)


def _parse_addition(written: str, names: KeyNames) -> AddNodes:
    found = _addition(written)
    number = int(found["number"] or 1) if found else 0
    if found is None or not 1 <= number <= MOST_NODES:
        raise ConfigError(
            f"{written!r} is not an addition: write labels and a number up to {MOST_NODES}, as in "
            "zone=us-1d:3",
            "--add-nodes",
        )
    parts = found["labels"].split(",")
    labels = dict(_parse_label(text, "--add-nodes", names) for text in parts)
    if len(labels) < len(parts):
        raise ConfigError(f"{written!r} has a key twice", "--add-nodes")
    if HOSTNAME in labels:
        problem = f"each new node has a {HOSTNAME} of its own: leave it out of {written!r}"
        raise ConfigError(problem, "--add-nodes")
    return AddNodes(labels, number)


def _parse_label(written: str, option: str, names: KeyNames) -> tuple[str, str]:
    name, _, value = written.partition("=")
    key = names.full(name)
    if not value or key_problems(key) or value_problems(value):
        raise ConfigError(f"{written!r} is not a label: write one as in zone=us-1c", option)
    return key, value


def keep_supported(
    targets: Iterable[PlacementTarget], options: WhatIfOptions
) -> tuple[list[PlacementTarget], list[SourceError]]:
    """
    Keep the targets that the options can be applied to.

    Returns:
        Those targets, and a problem for each of the others.

    Raises:
        ConfigError: The options can be applied to no target; the error of the first.
    """
    kept: list[PlacementTarget] = []
    errors: list[tuple[PlacementTarget, ConfigError]] = []
    for target in targets:
        try:
            check_edits(options.parse(target.situation.names), [target], options.scale)
            if options.rolls_out:
                check_rollout(target, options.scale)
            kept.append(target)
        except ConfigError as error:
            errors.append((target, error))
    if errors and not kept:
        raise errors[0][1]
    return kept, [SourceError(target.name, str(error)) for target, error in errors]


def check_edits(
    edits: Iterable[ScenarioEdit], targets: Sequence[PlacementTarget], scale: int | None
) -> None:
    """
    Check that the nodes and labels of edits exist, and that the targets can be scaled.

    Raises:
        ConfigError: A what-if would change nothing, or has no meaning for a target.
    """
    for target in targets:
        if scale is not None:
            _check_scale(target, scale)
        changed = target.situation
        for edit in edits:
            _check_edit(edit, target.situation)
            changed = _apply_edit(edit, changed)


def _apply_edit(edit: ScenarioEdit, situation: Scenario) -> Scenario:
    """Apply an edit, which must change nodes that the edits before it have left."""
    changed = edit.apply(situation)
    option = _OPTIONS.get(type(edit))
    if option and changed.topology.nodes == situation.topology.nodes:
        problem = "changes nothing: these nodes are lost or cordoned already"
        raise ConfigError(f"{edit.describe(situation.names)} {problem}", option)
    return changed


_OPTIONS: Mapping[type[ScenarioEdit], str] = MappingProxyType(
    {Cordon: "--cordon", RemoveNodes: "--without"}
)


def _check_scale(target: PlacementTarget, scale: int) -> None:
    if target.kind.kind == DAEMON_SET.kind:  # also that of OpenKruise
        raise ConfigError(
            "a DaemonSet has no replicas, but one pod on each node that its pods can go to: use "
            "--without, --cordon or --add-nodes",
            "--scale",
        )
    if target.kind in JOBS or target.kind.kind in _OTHER_JOBS:
        field = "spec.parallelism" if target.kind in JOBS else "the number of its pods"
        problem = f"a {target.kind.kind} cannot be scaled: change {field} in its manifest"
        raise ConfigError(problem, "--scale")
    if target.kind == LEADER_WORKER_SET:
        raise ConfigError(
            "the replicas of a LeaderWorkerSet are groups of pods, whose scaling is not modelled: "
            "leave the option out",
            "--scale",
        )
    if target.kind == POD and scale < target.replicas:
        raise ConfigError(
            "a pod alone cannot be scaled down: name its workload, as in deploy/web", "--scale"
        )


def _check_edit(edit: ScenarioEdit, situation: Scenario) -> None:
    nodes = situation.topology.nodes
    match edit:
        case RemoveNodes():
            values = {node.labels[edit.key] for node in nodes if edit.key in node.labels}
            if edit.value not in values:
                _reject_label(edit, situation, values)
        case Cordon():
            names = {node.name for node in nodes}
            if edit.node not in names:
                known = f"the nodes are {_list_known(edit.node, names)}" if names else _NO_NODE
                raise ConfigError(f"node {edit.node!r} does not exist: {known}", "--cordon")
        case AddNodes():
            for key in edit.labels:
                _check_key(key, situation)
        case _:
            pass


_NO_NODE = "there is no node"
_OTHER_JOBS = frozenset({"JobSet", "BroadcastJob"})


def _reject_label(edit: RemoveNodes, situation: Scenario, values: set[str]) -> NoReturn:
    nodes, names = situation.topology.nodes, situation.names
    key = names.short(edit.key)
    if values:
        known = f"{key} is {_list_known(edit.value, values)}"
    elif nodes:
        keys = {names.short(name) for node in nodes for name in node.labels}
        known = f"their labels are {_list_known(key, keys)}" if keys else "they have no labels"
    else:
        known = _NO_NODE
    raise ConfigError(f"no node has the label {key}={edit.value}: {known}", "--without")


def _check_key(key: str, situation: Scenario) -> None:
    """Check that a label of new nodes can matter: that nodes have its key, or the pod uses it."""
    nodes, names = situation.topology.nodes, situation.names
    known = {name for node in nodes for name in node.labels}
    known.update(list_used_keys(situation.pod.demands, situation.spreads))
    known.update(chain.from_iterable(list_volume_labels(situation)))
    if key not in known and nodes:
        listed = _list_known(names.short(key), set(map(names.short, known)))
        raise ConfigError(
            f"no node has a label {names.short(key)}, and the pod does not use it: known are "
            f"{listed or 'none'}",
            "--add-nodes",
        )


def _list_known(word: str, known: set[str]) -> str:
    """List known words: the similar ones of many first."""
    close = get_close_matches(word, sorted(known), NAMED) if len(known) > NAMED else []
    ordered = [*close, *sorted(known.difference(close))]
    return join_names(ordered, most=NAMED)
