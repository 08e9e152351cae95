"""
Advice on constraints of which some fields are broken: only what the readable fields justify.

Entry points: ``find_broken_fields`` and ``drop_misleading``. A field is broken if it violates an
API rule, or if it is misspelled, so that the API reads it as unset. Advice on such a field would be
about a value that the author did not intend. The other fields get their advice at once, so that one
audit finds everything.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from msgspec.structs import replace

from webhook.policy.advice.advise import Advice
from webhook.policy.advice.findings import AdviceFinding
from webhook.policy.api.rules import ApiViolation
from webhook.policy.api.schema import CONSTRAINT_FIELDS, UNKNOWN_FIELD, StrictFinding
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
        "TSC021": _SELECTION,
        "TSC101": frozenset({"labelSelector"}),
        "TSC102": _SELECTION,
        "TSC103": frozenset({"topologyKey", "whenUnsatisfiable"}),
        "TSC107": _SELECTION,
        "TSC108": frozenset({"topologyKey", "whenUnsatisfiable"}),
        "TSC111": frozenset(),
        "TSC112": _SELECTION | {"maxSkew", "whenUnsatisfiable"},
        "TSC113": _SELECTION,
        "TSC117": frozenset({"matchLabelKeys"}),
    }
)
"""Rule -> the fields of a constraint that its advice depends on; all fields for the other rules."""

JOINT_RULES = frozenset({"TSC106", "TSC109"})  # their advice depends on all constraints together
UNSPREAD_RULES = frozenset({"TSC110"})  # their advice supposes that nothing was written


@dataclass(frozen=True)
class BrokenFields:
    """
    The broken fields of a list of constraints.

    Attributes:
        entries: Index of a constraint -> its broken fields.
        hides_list: Whether a whole list has no effect, since it is misspelled or misplaced.
    """

    entries: Mapping[int, frozenset[str]]
    hides_list: bool = False

    def mislead(self, rule: str, entry: int | None) -> bool:
        """Whether a finding of a rule on an entry, or on none, would mislead."""
        if rule in UNSPREAD_RULES:
            return self.hides_list
        if rule in JOINT_RULES:
            return bool(self.entries)
        if entry is None:
            return False
        return bool(self.entries.get(entry, frozenset()) & READ_FIELDS.get(rule, ALL_FIELDS))


def find_broken_fields(
    violations: Iterable[ApiViolation],
    strict: Iterable[StrictFinding],
    list_path: str,
    unjudged: Iterable[int] = (),
) -> BrokenFields:
    """
    Find the broken fields of a list.

    Args:
        violations: Of API rules, in this list.
        strict: The unknown and duplicate fields of the object.
        list_path: The field path of the list.
        unjudged: Indexes of constraints that are parts of a patch: all their fields are doubtful.
    """
    entries: defaultdict[int, frozenset[str]] = defaultdict(frozenset)
    entries.update(dict.fromkeys(unjudged, ALL_FIELDS))
    for violation in violations:
        entry = find_entry(violation.error.field, list_path)
        if entry is not None:
            entries[entry] |= VIOLATED_FIELDS.get(violation.rule, ALL_FIELDS)
    path = parse_path(list_path)
    depth = len(path)
    unknown = [finding for finding in strict if finding.rule == UNKNOWN_FIELD]
    for finding in unknown:
        match finding.meant[depth : depth + 2]:
            case (int(entry), str(field)) if finding.meant[:depth] == path:
                entries[entry] |= {field}
            case _:
                pass
    return BrokenFields(dict(entries), any(finding.hides_list for finding in unknown))


def drop_misleading(advice: Advice, broken: BrokenFields, list_path: str) -> Advice:
    """Remove the findings that would mislead."""
    if not broken.entries and not broken.hides_list:
        return advice

    def justified(finding: AdviceFinding) -> bool:
        return not broken.mislead(finding.rule, find_entry(finding.field, list_path))

    return replace(
        advice,
        denied=tuple(filter(justified, advice.denied)),
        warned=tuple(filter(justified, advice.warned)),
        audited=tuple(filter(justified, advice.audited)),
        exempted=tuple(exempt for exempt in advice.exempted if justified(exempt.finding)),
    )
