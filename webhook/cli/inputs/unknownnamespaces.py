"""
Namespaces whose labels a profile selects, and that no source has.

``note_unknown_namespaces`` is the entry point. Such a profile does not fit, and the pods may get
the defaults of another one, or none.
"""

from collections.abc import Callable, Iterable, Mapping

from webhook.cli.inputs.notes import limit_notes
from webhook.policy.defaulting.profiles import Profile

LabelsOf = Callable[[str], Mapping[str, str] | None]
"""Returns the labels of a Namespace by its name; None if they are not known."""


def find_unfit_profiles(profiles: Iterable[Profile], namespace: str, labels_of: LabelsOf) -> str:
    """
    Find the profiles that do not fit, since they select labels of a Namespace that is not known.

    Returns:
        Their names, in order; empty if there are none.
    """
    if labels_of(namespace) is not None:
        return ""
    selecting = (one.name for one in profiles if one.needs_namespace_labels)
    return ", ".join(dict.fromkeys(selecting))


def note_unknown_namespaces(
    profiles: Iterable[Profile], namespaces: Iterable[str], labels_of: LabelsOf
) -> Iterable[str]:
    """Yield a note for each of the namespaces that some profile does not fit for this reason."""
    written = tuple(profiles)
    notes = [
        f"note: namespace {namespace}: its Namespace is not among the facts, so that profiles that "
        f"select its labels do not match: {names}"
        for namespace in sorted(set(namespaces) - {""})
        if (names := find_unfit_profiles(written, namespace, labels_of))
    ]
    return limit_notes(notes, "namespaces that are not among the facts")
