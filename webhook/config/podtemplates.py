"""
Configured kinds of custom resources: where they hold pod templates and constraint lists.

``collect_templates`` merges them with the kinds that every installation knows. Paths that cannot
lead to a pod template or to a list are refused when the configuration is read.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, Field

from webhook.config.messages import format_value, refusal
from webhook.config.models import CustomKindModel
from webhook.policy.kinds import BUILT_IN_TEMPLATES, KNOWN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.paths import CONSTRAINTS_IN_POD, LIST_NAME, FieldPath, TemplatePath
from webhook.policy.places import ENTRIES, TemplatePatterns, TemplatePlaces, format_pattern

_CLOSE = 0.7  # minimum similarity of a type error to the name that is meant, from 0 to 1

_part = re.compile(r"(?P<name>[^\[\]*{}$]+)(?P<lists>(\[\*\])*)").fullmatch
_index = re.compile(r"\[\d*\]")

Problems = Iterator[tuple[FieldPath, str]]


def parse_pattern(written: str) -> TemplatePath:
    """
    Read a path, such as ``spec.replicatedJobs[*].template.spec.template``.

    Raises:
        RefusalError: It is not names of members with dots between them, and ``[*]`` after lists.
    """
    steps: list[str] = []
    for part in written.split("."):
        found = _part(part)
        if found is None:
            raise refusal(_explain_part(part, written))
        steps += (found["name"], *([ENTRIES] * found["lists"].count(ENTRIES)))
    return tuple(steps)


def _explain_part(part: str, written: str) -> str:
    if _index.search(part):
        meant = _index.sub(f"[{ENTRIES}]", written)
        return f"names one entry of a list: did you mean {format_value(meant)}?"
    if "*" in part:
        return "write [*] after the name of a list for all entries, as in `spec.jobs[*].template`"
    return "must be names of members with dots between them, as in `spec.template`"


def _check_template(written: str) -> str:
    path = _parse_below_spec(written)
    if path[-1] == LIST_NAME:
        parent = path[: -len(CONSTRAINTS_IN_POD)]
        if path[-2:-1] == ("spec",) and parent:
            raise refusal(
                _suggest_pattern("is the list in a pod template, not the template", parent)
            )
        raise refusal("is a bare list of constraints: move the entry to `constraintLists`")
    if path == ("spec",):
        raise refusal("is no pod template: write the path of one, as in `spec.template`")
    if path[-1] == "spec":
        raise refusal(
            _suggest_pattern("is the specification in a pod template, not the template", path[:-1])
        )
    return written


def _check_list(written: str) -> str:
    path = _parse_below_spec(written)
    last = path[-1]
    if path[-3:] == ("template", *CONSTRAINTS_IN_POD):
        template = format_value(format_pattern(path[:-2]))
        raise refusal(f"is in a pod template: write {template} under `podTemplates`")
    if last != LIST_NAME and get_close_matches(last, [LIST_NAME], 1, _CLOSE):
        raise refusal(_suggest_pattern("is no list of constraints", (*path[:-1], LIST_NAME)))
    if last != LIST_NAME:
        raise refusal(_suggest_pattern(f"must end in {LIST_NAME}", (*path, LIST_NAME)))
    return written


def _parse_below_spec(written: str) -> TemplatePath:
    path = parse_pattern(written)
    first = path[0]
    if first in {"apiVersion", "kind", "metadata", "status"}:
        raise refusal(f"cannot begin with {first}, which holds no pod template: begin with `spec`")
    if first != "spec" and get_close_matches(first.lower(), ["spec"], 1, _CLOSE):
        raise refusal(_suggest_pattern(f"begins with {format_value(first)}", ("spec", *path[1:])))
    return path


def _suggest_pattern(problem: str, path: TemplatePath) -> str:
    return f"{problem}: did you mean {format_value(format_pattern(path))}?"


class PodTemplateModel(CustomKindModel):
    """A custom kind that holds a pod template, or a list of them."""

    path: Annotated[str, AfterValidator(_check_template)] = Field(examples=["spec.template"])


class ConstraintListModel(CustomKindModel):
    """A custom kind with constraints for pods whose template it does not hold."""

    path: Annotated[str, AfterValidator(_check_list)] = Field(
        examples=["spec.topologySpreadConstraints"]
    )


def find_repeated_places(written: tuple[PodTemplateModel | ConstraintListModel, ...]) -> Problems:
    """Find built-in kinds, and places that occur twice; a kind may have several places."""
    seen = set[tuple[GroupKind, str]]()
    for i, row in enumerate(written):
        if row.group_kind in BUILT_IN_TEMPLATES:
            yield (i, "kind"), f"{row.group_kind} is built in: remove the entry"
        elif (row.group_kind, row.path) in seen:
            yield (i, "path"), f"{row.group_kind} has this path twice: remove one of the two"
        seen.add((row.group_kind, row.path))


def collect_templates(
    written: Iterable[PodTemplateModel | ConstraintListModel],
) -> Mapping[GroupKind, TemplatePlaces]:
    """Merge built-in, shipped and configured places; configured kinds replace shipped ones."""
    named: defaultdict[GroupKind, list[TemplatePath]] = defaultdict(list)
    for row in written:
        named[row.group_kind].append(parse_pattern(row.path))
    configured = {kind: _join(paths) for kind, paths in named.items()}
    return MappingProxyType({**KNOWN_TEMPLATES, **configured})


def _join(paths: list[TemplatePath]) -> TemplatePlaces:
    """Join the paths of a kind; only a single path without lists needs no patterns."""
    is_plain = len(paths) == 1 and ENTRIES not in paths[0]
    return paths[0] if is_plain else TemplatePatterns(tuple(paths))
