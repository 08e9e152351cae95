"""
The annotation that exempts an object from policy rules, and from those of strict decoding.

``evenspread.io/exempt: "TSC101=counted by its operator, TSC110=one zone by contract"``. Commas
separate exemptions, so a reason has no comma. ``parse_exemptions`` is the entry point; a malformed
exemption has no effect and becomes a finding about the annotation, not of the rule that it names.
"""

from collections.abc import Mapping
from typing import NamedTuple

from webhook.policy.advice.findings import AdviceFinding, quote_value
from webhook.policy.catalogue import DEFAULT_ACTIONS, REFUSED_EXEMPTION, STRICT_RULES

EXEMPT_ANNOTATION = "evenspread.io/exempt"
FIELD = f"metadata.annotations[{EXEMPT_ANNOTATION}]"
_EXEMPTIBLE = (*STRICT_RULES, *DEFAULT_ACTIONS)

MOST_EXEMPTIONS = 32  # that are read of one annotation; there are 20 rules
REASON_CHARACTERS = 200  # of a reason, which reports repeat; a sentence has half of that


class Exemptions(NamedTuple):
    """
    The exemptions of an object.

    Attributes:
        reasons: Id of each rule that the object is exempted from -> reason.
        refused: Exemptions without effect, as findings about the annotation.
    """

    reasons: Mapping[str, str]
    refused: tuple[AdviceFinding, ...]


def parse_exemptions(annotations: Mapping[str, str], not_exemptible: frozenset[str]) -> Exemptions:
    """Parse the exemptions of an object."""
    reasons: dict[str, str] = {}
    refused: list[AdviceFinding] = []
    parts = annotations.get(EXEMPT_ANNOTATION, "").split(",", MOST_EXEMPTIONS)[:MOST_EXEMPTIONS]
    for part in filter(str.strip, parts):
        rule, equals, reason = (piece.strip() for piece in part.partition("="))
        problem = _find_problem(rule, reason if equals else "", reasons, not_exemptible)
        if problem:
            problem = f"{quote_value(rule)} {problem}"
            instead = _suggest(rule, reasons, not_exemptible)
            refused.append(AdviceFinding(REFUSED_EXEMPTION, FIELD, problem, instead))
        else:
            reasons[rule] = reason
    return Exemptions(reasons, tuple(refused))


def _suggest(rule: str, earlier: Mapping[str, str], not_exemptible: frozenset[str]) -> str:
    """Suggest what to write in place of a refused exemption."""
    if rule in not_exemptible or rule in earlier:
        return f"# remove {rule} from the annotation"
    named = rule if rule in _EXEMPTIBLE else "RULE"
    return f'{EXEMPT_ANNOTATION}: "{named}=REASON"'


def _find_problem(
    rule: str, reason: str, earlier: Mapping[str, str], not_exemptible: frozenset[str]
) -> str:
    if rule not in _EXEMPTIBLE:
        return f"is no exemptible rule: write one of {', '.join(_EXEMPTIBLE)}"
    if rule in not_exemptible:
        return "cannot be exempted from: the configuration forbids it"
    if rule in earlier:
        return "is exempted from twice: leave one out"
    if not reason:
        return f"has no reason: write {rule}=REASON"
    if len(reason) > REASON_CHARACTERS:
        return f"has a reason of more than {REASON_CHARACTERS} characters: write a shorter one"
    return ""
