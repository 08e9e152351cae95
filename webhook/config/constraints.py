"""
Models of default constraints, validated by the rules of kube-scheduler and of kube-apiserver.

An injected constraint must be valid in a pod; kube-scheduler alone accepts more than that.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from msgspec.structs import replace
from pydantic import model_validator

from webhook.config.messages import refuse
from webhook.config.models import Int32, StrictModel
from webhook.policy.api import rules, schedulerargs
from webhook.policy.api.fielderrors import LONGEST_VALUE, FieldError
from webhook.policy.api.rules import ValidationOptions
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.model import DO_NOT_SCHEDULE, UNSATISFIABLE_ACTIONS, Constraint, LabelSelector
from webhook.policy.paths import FieldPath, parse_path

SELECTOR_FIX = "leave it out: each pod gets that of its Services and of the controller that owns it"
AFFINITY_FIX = (
    "cannot be Ignore in a hard default, which would hold back the pods of DaemonSets, each pinned "
    "to one node: write Honor, or whenUnsatisfiable: ScheduleAnyway"
)

_FIXES = {rule: CATALOGUE[rule].fix for rule in rules.API_RULES} | {
    "TSC008": "write the key of a label of the pod, as `pod-template-hash`",
}
_OF_API_SERVER = frozenset({"TSC005", "TSC006", "TSC007", "TSC008"})
"""Rules of kube-apiserver, absent from kube-scheduler, on the fields that a default may have."""

_FIX_OF_MEMBER = {
    "maxSkew": _FIXES["TSC001"],
    "topologyKey": _FIXES["TSC002"],
    "whenUnsatisfiable": _FIXES["TSC003"],
    "labelSelector": SELECTOR_FIX,
}


class DefaultConstraint(StrictModel):
    """
    A default constraint for pods; it has no selector, since each pod gets a deduced one.

    Source: k8s.io/api core/v1 ``TopologySpreadConstraint``.
    """

    keeps_keys: ClassVar[bool] = True  # whether matchLabelKeys are injected too

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: Any = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()

    @property
    def constraint(self) -> Constraint:
        """The constraint to inject."""
        members = self.model_dump()  # named as in ``Constraint``
        if self.label_selector is not None:
            members["label_selector"] = LabelSelector()
        if not self.keeps_keys:
            members["match_label_keys"] = ()
        return Constraint(**members)

    @model_validator(mode="after")
    def check(self) -> Self:
        """Reject a constraint that breaks kube-scheduler, kube-apiserver or DaemonSets."""
        refuse(_problems(self.constraint))
        return self


class SchedulerConstraint(DefaultConstraint):
    """A default constraint of kube-scheduler, which ignores matchLabelKeys; not injected either."""

    keeps_keys: ClassVar[bool] = False


def find_duplicates(constraints: Sequence[DefaultConstraint]) -> Iterator[tuple[FieldPath, str]]:
    """Find entries that repeat the topologyKey and whenUnsatisfiable of an earlier entry."""
    first: dict[tuple[str, str], int] = {}
    for i, entry in enumerate(constraints):
        pair = (entry.topology_key, entry.when_unsatisfiable)
        if first.setdefault(pair, i) != i:
            error = schedulerargs.duplicate_error(entry.constraint, "")
            yield (i,), f"{error.words(LONGEST_VALUE)}; {_FIXES['TSC004']}"


def _problems(constraint: Constraint) -> Iterator[tuple[FieldPath, str]]:
    for error in schedulerargs.constraint_errors(constraint, ""):
        at = parse_path(error.field)
        yield at, f"{error.words(LONGEST_VALUE)}; {_FIX_OF_MEMBER[str(at[0])]}"
    for fix, error in _api_errors(constraint):
        yield (
            parse_path(error.field)[1:],
            f"{error.words(LONGEST_VALUE)}, so no pod with it could be created; {fix}",
        )
    hard = constraint.when_unsatisfiable == DO_NOT_SCHEDULE
    if hard and constraint.node_affinity_policy == "Ignore":
        yield ("nodeAffinityPolicy",), AFFINITY_FIX


def _api_errors(constraint: Constraint) -> Iterator[tuple[str, FieldError]]:
    """Yield the errors that kube-apiserver would report for a pod, after the fix for each."""
    selecting = replace(constraint, label_selector=LabelSelector())  # for the deduced one
    if constraint.when_unsatisfiable not in UNSATISFIABLE_ACTIONS:
        selecting = replace(selecting, when_unsatisfiable=DO_NOT_SCHEDULE)  # reported above
    for finding in rules.check((selecting,), "", ValidationOptions(merged=False)):
        if finding.rule in _OF_API_SERVER:
            yield _FIXES[finding.rule], finding.error
