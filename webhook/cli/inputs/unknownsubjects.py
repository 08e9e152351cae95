"""What to write instead of a subject that does not exist: ``suggest_subjects``."""

from collections.abc import Iterable
from difflib import get_close_matches

from webhook.cli.inputs.kindnames import (
    Templates,
    find_kinds,
    suggest_kind,
    suggest_words,
    write_kind,
)
from webhook.policy.advice.findings import join_names
from webhook.policy.model import GroupKind

MOST_SUGGESTED = 3  # similar names
MOST_LISTED_NAMES = 5  # names if none is similar


def suggest_subjects(
    written: str, known: Iterable[tuple[GroupKind, str]], templates: Templates
) -> str:
    """
    Suggest subjects in place of one that does not exist; return an empty text for none.

    Args:
        written: As for ``parse_subject``.
        known: Kinds and names of the objects of its namespace.
    """
    prefix, slash, name = written.rpartition("/")
    if not slash:
        return _suggest_for_name(name, known, templates)
    kinds = find_kinds(prefix, templates)
    names = sorted({other for kind, other in known if kind in kinds})
    close = get_close_matches(name, names, MOST_SUGGESTED)
    if close or not names:
        return suggest_words(f"{prefix}/{other}" for other in close)
    listed = join_names([f"{prefix}/{one}" for one in names], most=MOST_LISTED_NAMES)
    return f"write one of {listed}" if len(names) > 1 else f"write {listed}"


def _suggest_for_name(
    name: str, known: Iterable[tuple[GroupKind, str]], templates: Templates
) -> str:
    """Suggest the objects of any kind with a name or a similar one, or a kind."""
    places: dict[str, list[str]] = {}
    for kind, other in known:
        places.setdefault(other, []).append(f"{write_kind(kind)}/{other}")
    close = [name] if name in places else get_close_matches(name, places, 1)
    found = [place for other in close for place in places[other]]
    return suggest_words(found[:MOST_SUGGESTED]) or suggest_kind(name, templates)
