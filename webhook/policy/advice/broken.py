"""
Advice on constraints of which some fields are broken: only what the readable fields justify.

Entry points: ``find_broken_fields`` and ``neutralize``. A field is broken if it violates an API
rule, or if it is misspelled, so that the API reads it as unset. Advice on such a field would be
about a value that the author did not intend. The other fields get their advice at once, so that one
audit finds everything.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from msgspec.structs import replace

from webhook.policy.advice.findings import AdviceFinding
from webhook.policy.advice.subject import Subject
from webhook.policy.api.rules import ApiViolation
from webhook.policy.api.schema import CONSTRAINT_FIELDS, UNKNOWN_FIELD, StrictFinding
from webhook.policy.model import HONOR, IGNORE, NODE_POLICIES, SCHEDULE_ANYWAY, Constraint
from webhook.policy.paths import find_entry, parse_path

ALL_FIELDS = frozenset(CONSTRAINT_FIELDS)

VIOLATED_FIELDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "TSC001": frozenset({"maxSkew"}),
        "TSC002": frozenset({"topologyKey"}),
        "TSC003": frozenset({"whenUnsatisfiable"}),
        "TSC004": frozenset({"topologyKey", "whenUnsatisfiable"}),
        "TSC005": frozenset({"minDomains"}),
        "TSC006": frozenset({"minDomains", "whenUnsatisfiable"}),
        "TSC007": frozenset({"nodeAffinityPolicy", "nodeTaintsPolicy"}),
        "TSC008": frozenset({"matchLabelKeys"}),
        "TSC009": frozenset({"labelSelector"}),
    }
)
"""API rule -> the fields that a violation makes doubtful; all fields for the other rules."""

_SELECTION = frozenset({"labelSelector", "matchLabelKeys"})

READ_FIELDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "TSC020": frozenset({"topologyKey"}),
        "TSC021": frozenset({"labelSelector"}),
        "TSC101": frozenset({"labelSelector"}),
        "TSC102": _SELECTION,
        "TSC103": frozenset({"topologyKey"}),
        "TSC104": ALL_FIELDS - {"nodeAffinityPolicy", "nodeTaintsPolicy"},
        "TSC105": ALL_FIELDS - {"minDomains"},
        "TSC107": _SELECTION,
        "TSC108": ALL_FIELDS - {"maxSkew", "minDomains"},
        "TSC111": frozenset(),
        "TSC112": _SELECTION | {"maxSkew", "whenUnsatisfiable"},
        "TSC113": _SELECTION,
        "TSC116": ALL_FIELDS - {"minDomains"},
        "TSC117": frozenset({"matchLabelKeys"}),
        "TSC120": frozenset({"topologyKey", "whenUnsatisfiable", "minDomains"}),
        "TSC121": frozenset({"whenUnsatisfiable"}),
    }
)
"""Rule -> the fields of a constraint that its advice depends on; all fields for the other rules."""

# Their advice depends on all hard constraints.
JOINT_RULES = frozenset({"TSC106", "TSC109", "TSC119"})
UNSPREAD_RULES = frozenset({"TSC110"})  # their advice supposes that nothing was written


@dataclass(frozen=True)
class BrokenFields:
    """
    The broken fields of a list of constraints.

    Attributes:
        list_path: The field path of the list.
        entries: Index of a constraint -> its broken fields.
        soft: Those of them that are certainly no hard constraints.
        hides_list: Whether a whole list has no effect, since it is misspelled or misplaced.
    """

    list_path: str
    entries: Mapping[int, frozenset[str]]
    soft: frozenset[int] = frozenset()
    hides_list: bool = False

    def mislead(self, rule: str, entry: int | None) -> bool:
        """Whether a finding of a rule on an entry, or on none, would mislead."""
        if rule in UNSPREAD_RULES:
            return self.hides_list
        if rule in JOINT_RULES:
            return not self.entries.keys() <= self.soft
        if entry is None:
            return False
        return bool(self.entries.get(entry, frozenset()) & READ_FIELDS.get(rule, ALL_FIELDS))

    def justify(self, finding: AdviceFinding) -> bool:
        """Whether the readable fields justify a finding."""
        return not self.mislead(finding.rule, find_entry(finding.field, self.list_path))


def find_broken_fields(
    violations: Collection[ApiViolation], strict: Collection[StrictFinding], subject: Subject
) -> BrokenFields:
    """
    Find the broken fields of a subject's constraints; all fields of those that are not judged.

    Args:
        violations: Of API rules, in this list.
        strict: The unknown and duplicate fields of the object.
    """
    if not (violations or strict or subject.unjudged):
        return BrokenFields(subject.list_path, {})  # nearly always
    entries: defaultdict[int, frozenset[str]] = defaultdict(frozenset)
    entries.update(dict.fromkeys(subject.unjudged, ALL_FIELDS))
    for violation in violations:
        entry = find_entry(violation.error.field, subject.list_path)
        if entry is not None:
            entries[entry] |= VIOLATED_FIELDS.get(violation.rule, ALL_FIELDS)
    path = parse_path(subject.list_path)
    depth = len(path)
    unknown = [finding for finding in strict if finding.rule == UNKNOWN_FIELD]
    for finding in unknown:
        match finding.meant[depth : depth + 2]:
            case (int(entry), str(field)) if finding.meant[:depth] == path:
                entries[entry] |= {field}
            case _:
                pass
    return BrokenFields(
        subject.list_path,
        dict(entries),
        frozenset(
            entry
            for entry, fields in entries.items()
            if "whenUnsatisfiable" not in fields and _is_soft(subject, entry)
        ),
        any(finding.hides_list for finding in unknown),
    )


def _is_soft(subject: Subject, entry: int) -> bool:
    found = subject.pod.constraints[entry : entry + 1]
    return bool(found) and found[0].when_unsatisfiable == SCHEDULE_ANYWAY


def neutralize(subject: Subject) -> Subject:
    """
    Replace the values of constraints with which kube-scheduler cannot compute by neutral ones.

    Rules that do not read such a field can judge the others. The neutral maxSkew permits every
    placement, so that no rule reports a pod that only a smaller one would keep Pending.
    """
    written = subject.pod.constraints
    neutral = tuple(map(_neutralize, written))
    return subject if neutral == written else subject.with_constraints(neutral)


def _neutralize(constraint: Constraint) -> Constraint:
    least = constraint.min_domains
    affinity, taints = constraint.node_affinity_policy, constraint.node_taints_policy
    return replace(
        constraint,
        max_skew=constraint.max_skew if constraint.max_skew > 0 else _LOOSEST_SKEW,
        min_domains=least if least is None else max(least, 1),
        node_affinity_policy=affinity if affinity in _POLICIES else HONOR,
        node_taints_policy=taints if taints in _POLICIES else IGNORE,
    )


_LOOSEST_SKEW = 2**31 - 1  # of an int32
_POLICIES = (None, *NODE_POLICIES)
