"""
Revisions of a workload's pods: those that their constraints count together.

``split_revisions`` is the entry point. Pods that a rollout is about to delete are a revision of
their own, since they do not make a workload uneven. With matchLabelKeys, pods of a rollout count
only pods with equal values of these labels. kube-apiserver writes the values into the selectors of
new pods, so the constraints of two revisions may differ as well. Pods that are older than a default
lack its constraint, which counts them all the same: they are no revision of their own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.model import Constraint
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.podlabels import REVISION_KEYS, unique_keys

MOST_REVISIONS = 4  # with rows of their own; a rollout has two


class PodRevision:
    """
    Pods of a workload that their constraints count together.

    Attributes:
        groups: The pods, at least one group; the largest group first.
        constraints: The constraints of these pods; empty if nothing limits them.
        name: A label, as ``pod-template-hash=5d9c``; empty if the workload has no other revision.
    """

    def __init__(
        self, groups: Iterable[RunningPods], constraints: tuple[Constraint, ...], name: str = ""
    ) -> None:
        """Take the groups, of which there is at least one."""
        self.groups = sorted(groups, key=lambda group: -group.number)
        self.constraints = constraints
        self.name = name

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the largest group."""
        return self.groups[0].pod.labels

    @cached_property
    def nodes(self) -> Mapping[str, int]:
        """Node name -> pods, at least 1; pods without a node are under ``""``."""
        if len(self.groups) == 1:
            return self.groups[0].nodes
        nodes = Counter[str]()
        for group in self.groups:
            nodes.update(group.nodes)
        return nodes

    @property
    def number(self) -> int:
        """Number of pods."""
        return sum(self.nodes.values())

    @property
    def is_replaced(self) -> bool:
        """Whether a rollout that runs is about to delete all of these pods."""
        return all(group.replaced for group in self.groups)

    @property
    def is_unordered(self) -> bool:
        """Whether a rollout runs that may be about to delete some of these pods."""
        return any(group.unordered for group in self.groups)


def split_revisions(subject: Subject, gates: Gates) -> list[PodRevision]:
    """
    Split the running pods of a workload, the largest revision first.

    Pods without constraints count as if they had those of the template. Of too many revisions, the
    smallest ones become a single one without constraints.
    """
    if len(subject.running) == 1:
        (group,) = subject.running
        return [PodRevision((group,), group.pod.constraints or subject.constraints)]
    found: dict[object, list[RunningPods]] = {}
    for group in subject.running:
        found.setdefault(_identify(group, subject, gates), []).append(group)
    joined = _join_counted(list(found.values()), subject, gates)
    ordered = sorted(joined, key=lambda groups: -sum(group.number for group in groups))
    return list(_build(ordered, subject))


def _build(ordered: list[list[RunningPods]], subject: Subject) -> Iterator[PodRevision]:
    for groups in ordered[:MOST_REVISIONS]:
        name = _name(groups[0].pod.labels) if len(ordered) > 1 else ""
        yield PodRevision(groups, _constraints_of(groups, subject), name)
    if rest := ordered[MOST_REVISIONS:]:
        joined = (group for groups in rest for group in groups)
        yield PodRevision(joined, (), f"{len(rest)} more revisions")


def _join_counted(
    found: list[list[RunningPods]], subject: Subject, gates: Gates
) -> list[list[RunningPods]]:
    """Join pods to those that have their constraints, and more that count them as well."""
    kept: list[list[RunningPods]] = []
    for groups in sorted(found, key=lambda groups: -len(_constraints_of(groups, subject))):
        counting = (others for others in kept if _counts(others, groups, subject, gates))
        if (host := next(counting, None)) is not None:
            host += groups
        else:
            kept.append([*groups])
    return kept


def _counts(
    counting: list[RunningPods], counted: list[RunningPods], subject: Subject, gates: Gates
) -> bool:
    """Whether some pods have all constraints of others, and more, all of which count the others."""
    constraints = _constraints_of(counting, subject)
    own = _constraints_of(counted, subject)
    is_replaced = {group.replaced for group in (*counting, *counted)}
    if (
        len(is_replaced) > 1
        or len(own) >= len(constraints)
        or any(one not in constraints for one in own)
    ):
        return False
    resolved = resolve_constraints(constraints, counting[0].pod.labels, gates).by_index
    return all(one.counts(group.pod.labels) for one in resolved for group in counted)


def _constraints_of(groups: list[RunningPods], subject: Subject) -> tuple[Constraint, ...]:
    """Return the constraints of pods; those that joined others later do not have all of them."""
    return groups[0].pod.constraints or subject.constraints


def _identify(group: RunningPods, subject: Subject, gates: Gates) -> object:
    """Return what pods of one revision have in common; a key of each pod alone is no part of it."""
    constraints = group.pod.constraints or subject.constraints
    if Gate.MATCH_LABEL_KEYS not in gates:
        return _encode(constraints), group.replaced
    alone = unique_keys(subject.pods_kind)
    keys = {key for constraint in constraints for key in constraint.match_label_keys} - alone
    values = tuple((key, group.pod.labels.get(key)) for key in sorted(keys))
    common = [_leave_out(constraint, alone) for constraint in constraints]
    return _encode(common), group.replaced, values


def _leave_out(constraint: Constraint, keys: AbstractSet[str]) -> Constraint:
    """Leave out what kube-apiserver merged into the selector for keys in matchLabelKeys."""
    selector = constraint.label_selector
    if selector is None or keys.isdisjoint(constraint.match_label_keys):
        return constraint
    kept = tuple(one for one in selector.match_expressions if one.key not in keys)
    return replace(constraint, label_selector=replace(selector, match_expressions=kept))


def _name(labels: Mapping[str, str]) -> str:
    return next((f"{key}={labels[key]}" for key in REVISION_KEYS if key in labels), "")


_encode = msgspec.json.Encoder().encode
