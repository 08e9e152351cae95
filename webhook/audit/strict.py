"""
Errors of strict decoding in the objects of files, with their lines: TSC011 and TSC012.

``find_strict_errors`` is the entry point; ``policy.api.schema`` knows the fields.

Source: apimachinery runtime/serializer/json json.go ``unmarshal``.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from webhook.manifests import Document
from webhook.manifests.duplicates import DuplicateKey
from webhook.policy.advice.exemptions import EXEMPT_ANNOTATION, parse_exemptions
from webhook.policy.advice.findings import join_names
from webhook.policy.api.schema import DUPLICATE_FIELD, StrictFinding
from webhook.policy.paths import find_value, is_object
from webhook.policy.places import TemplatePlaces
from webhook.policy.unknown_fields import find_unknown_in_object

TWICE = 2
NAMED_LINES = 4  # of one key, in a message; fewer if there are more


def find_strict_errors(document: Document, places: TemplatePlaces) -> tuple[StrictFinding, ...]:
    """Find unknown and duplicate fields of an object with pod templates at these places."""
    unknown = find_unknown_in_object(document.value, document.group_kind, places)
    located = (replace(finding, line=document.line(finding.path)) for finding in unknown)
    return (*located, *_find_duplicates(document))


def drop_exempted(
    found: tuple[StrictFinding, ...], document: Document, not_exemptible: frozenset[str]
) -> tuple[StrictFinding, ...]:
    """Leave out the findings of exemptible rules that the object's annotation exempts it from."""
    annotations = find_value(document.value, ("metadata", "annotations")) if found else None
    text = annotations.get(EXEMPT_ANNOTATION) if is_object(annotations) else None
    if not isinstance(text, str):
        return found
    reasons = parse_exemptions({EXEMPT_ANNOTATION: text}, not_exemptible).reasons
    return tuple(finding for finding in found if finding.rule not in reasons)


def name_lines(key: DuplicateKey) -> str:
    """
    Name the lines of a duplicate key, as ``lines 3 and 7``; of many, the first and a number.

    A line that has all of them is ``line 3, twice``.
    """
    lines = list(map(str, dict.fromkeys(key.places)))
    *earlier, last = lines
    if not earlier:
        times = "twice" if len(key.places) == TWICE else f"{len(key.places)} times"
        return f"line {last}, {times}"
    if len(lines) > NAMED_LINES:
        return f"lines {join_names(lines)}"
    return f"lines {', '.join(earlier)} and {last}"


def _find_duplicates(document: Document) -> Iterator[StrictFinding]:
    for key in document.find_duplicate_keys():
        yield StrictFinding(
            DUPLICATE_FIELD,
            key.path,
            hint=f"it is in {name_lines(key)}, and the last one counts",
            instead="# remove all but one",
            line=key.places[-1],
        )
