"""
Unknown fields in whole objects, and the warnings about them at admission: TSC011.

Entry points: ``find_unknown_in_object`` for objects of any source, ``select_findings`` for one of
its pod templates, ``warn_of_unknown_fields`` for requests. kube-apiserver drops unknown fields of
built-in kinds before it calls a webhook, and warns of them itself; schemas of custom resources may
keep them. The hooks never deny such an object, since a newer API server may know the field.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.exemptions import parse_exemptions
from webhook.policy.api.schema import UNKNOWN_FIELD, StrictFinding, find_unknown_fields
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import BUILT_IN_KINDS, CUSTOM_KINDS
from webhook.policy.model import GroupKind
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import CACHED_PATHS, FieldPath
from webhook.policy.places import TemplatePlaces, find_places, fits_pattern, list_patterns
from webhook.policy.request import AdmissionRequest

LONGEST_CHECKED = 32 * 1024  # bytes of a review; usual ones have 10 KiB
MOST_WARNED = 3  # unknown fields of one pod template; there are no warnings of more


class _Object(msgspec.Struct, frozen=True, gc=False):
    object: Any = None


class _Review(msgspec.Struct, frozen=True, gc=False):
    request: _Object = _Object()


_decode = partial(msgspec.json.decode, type=_Review)


def find_unknown_in_object(
    value: Any, kind: GroupKind, places: TemplatePlaces
) -> tuple[StrictFinding, ...]:
    """
    Find the unknown fields of an object.

    Args:
        value: The object, of JSON's types and of any content.
        kind: Its kind.
        places: Where objects of this kind hold pod templates.
    """
    paths = _find_templates(value, places)
    custom = [path for path in paths if _has_own_fields(kind, path)]
    return find_unknown_fields(value, paths, custom=custom)


@lru_cache(CACHED_PATHS)
def _has_own_fields(kind: GroupKind, path: FieldPath) -> bool:
    """
    Whether fields of an object outside of the pod template at a path are not known.

    One of them may be a list of constraints: in a configured kind, or of a configured template.
    """
    row = BUILT_IN_KINDS.get(kind) or CUSTOM_KINDS.get(kind)
    known = () if row is None or row.template is None else list_patterns(row.template)
    return not any(fits_pattern(path, pattern) for pattern in known)


def _find_templates(value: Any, places: TemplatePlaces) -> tuple[FieldPath, ...]:
    try:
        return find_places(value, places)
    except msgspec.ValidationError:
        return (places,) if isinstance(places, tuple) else ()


def select_findings(
    found: Iterable[StrictFinding], template: FieldPath, templates: Sequence[FieldPath]
) -> Iterator[StrictFinding]:
    """
    Select the findings about one of an object's templates; the first has those about none.

    A list that may be meant for any of several templates hides the lists of all of them, and is
    reported with the first.
    """
    for finding in found:
        about = (finding.path, finding.meant, *finding.alternatives)
        owners = [one for one in templates if any(path[: len(one)] == one for path in about)]
        first, *others = owners or templates[:1]
        if template == first:
            yield finding
        elif template in others:
            yield replace(finding, is_elsewhere=True)


def warn_of_unknown_fields(request: AdmissionRequest, policy: Policy) -> tuple[str, ...]:
    """
    Describe the unknown fields of a new or changed pod template of a custom kind.

    Objects that a controller created get no warnings, nor do updates that leave the template as it
    was, exempted objects, and objects in a review of more than ``LONGEST_CHECKED`` bytes.
    """
    is_settled = request.old is not None and request.old == request.template
    places = policy.pod_templates.get(request.kind)
    if request.built_in or request.path is None or request.controlled or is_settled:
        return ()
    annotations = request.metadata.annotations if request.metadata else {}
    exempt = UNKNOWN_FIELD in parse_exemptions(annotations, policy.not_exemptible).reasons
    if exempt or places is None or len(request.body) > LONGEST_CHECKED:
        return ()
    try:
        review = decode_nested(_decode, request.body)
    except msgspec.DecodeError:
        return ()  # the request was built without its body
    value = review.request.object
    found = find_unknown_in_object(value, request.kind, places)
    about = select_findings(found, request.path, _find_templates(value, places))
    return tuple(f"{one.rule} {one.problem}" for one in islice(about, MOST_WARNED))
