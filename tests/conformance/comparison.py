"""
Comparison of answers with those of the real components.

Causes are compared as sets: their order is that of Go's maps, and 1.29 repeats some. For 1.29
their wording is not compared, since it changed afterwards. Removed pods whose order depends on that
of an informer's cache are named as ``groups`` of the expected answer, and compared as their group.
Of a plan the number of evictions is compared, since several plans may be as short.
"""

from collections.abc import Iterable
from typing import Any

from tests.conformance.case import Answer, Case

FIRST_WORDING = "1.29"  # the one recorded version with older words for bad labels


def differs(case: Case, given: Answer) -> bool:
    """Whether an answer differs from the case's ``expect``."""
    return _comparable(case, given) != _comparable(case, case["expect"])


def _comparable(case: Case, answer: Answer) -> dict[str, Any]:
    words = case.get("kubernetes") != FIRST_WORDING
    kept = {key: value for key, value in answer.items() if key not in ("id", "message")}
    if "causes" in kept:
        kept["causes"] = {_cause(cause, words=words) for cause in kept["causes"]}
    if "nodes" in case["expect"] or "fits" in case["expect"]:
        return _filtered(case, answer)
    if "removed" in kept:
        kept["removed"] = _groups_of(kept["removed"], case["expect"].get("groups") or ())
        kept.pop("groups", None)
    if "evictions" in kept:
        return {"evictions": len(kept["evictions"])}
    if "code" in kept:
        kept["stored"] = kept.get("stored") or []
        kept["warnings"] = kept.get("warnings") or []
    if "selector" in kept:
        kept["selector"] = requirements(kept["selector"])
    return kept


def _filtered(case: Case, answer: Answer) -> dict[str, Any]:
    """Compare the sentence, and the nodes unless the pod fits; several reasons have no order."""
    nodes: dict[str, list[str]] = {} if "fits" in case["expect"] else answer["nodes"]
    sorted_nodes = {name: sorted(reasons) for name, reasons in nodes.items()}
    return {"message": answer["message"], "nodes": sorted_nodes}


def _groups_of(removed: list[str], groups: Iterable[list[str]]) -> list[tuple[str, ...]]:
    """For each removed pod, the pods that may take its place; only itself if it is repeated."""
    place = {name: tuple(sorted(group)) for group in groups for name in group}
    return [
        (name,) if name in removed[:index] else place.get(name, (name,))
        for index, name in enumerate(removed)
    ]


def _cause(cause: dict[str, str], *, words: bool) -> tuple[str, ...]:
    key = (cause["reason"], cause["field"])
    return (*key, cause["message"]) if words else key


def requirements(selector: str) -> frozenset[tuple[str, str, frozenset[str]]]:
    """A selector in its short form as a set of (key, operator, values)."""
    return frozenset(map(_requirement, _parts(selector)))


def _parts(selector: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth, current = [], 0, ""
    for character in selector:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part.strip() for part in [*parts, current] if part.strip()]


def _requirement(part: str) -> tuple[str, str, frozenset[str]]:
    key, _, rest = part.partition(" ")
    if rest:
        operator, _, values = rest.partition(" ")
        listed = (value.strip() for value in values.strip("()").split(","))
        return (key, operator, frozenset(listed))
    if "=" in part:
        key, _, value = part.partition("=")
        return (key, "in", frozenset({value.lstrip("=")}))
    return (part.lstrip("!"), "!" if part.startswith("!") else "exists", frozenset())
