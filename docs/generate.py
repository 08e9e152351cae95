#!/usr/bin/env python3
"""
Write the tables of the reference from the tables of the code.

A page holds prose, written by hand, and between marks what is written here, so that neither can
disagree with the program. ``python docs/generate.py`` writes the pages anew; with ``--check`` it
only names those that are out of date, and exits with 1.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from webhook import limits, metrics, review
from webhook.cli.catalogue import CATALOGUE
from webhook.cli.diffs import REASONS
from webhook.config.kinds import SHIPPED_OWNERS, SHIPPED_TEMPLATES
from webhook.config.settings import setting_table
from webhook.policy import apiwarnings, rules
from webhook.policy.actions import DEFAULT_ACTIONS
from webhook.policy.facts import NoFacts
from webhook.policy.gates import GATES, Gate, GateSpec, Stage, resolve
from webhook.policy.model import Constraint
from webhook.policy.profiles import Policy
from webhook.policy.request import Hook
from webhook.policy.rules import MOST_CONSTRAINTS, RULES, Form
from webhook.policy.verdict import judge
from webhook.policy.versions import FIRST, NEWEST, Version
from webhook.policy.workloads import BUILT_IN, TemplatePath

DOCS = Path(__file__).parent
LIST = "spec.topologySpreadConstraints"

USUAL = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
}

BROKEN: dict[str, Sequence[Mapping[str, Any]]] = {
    "TSC001": [USUAL | {"maxSkew": 0}],
    "TSC002": [USUAL | {"topologyKey": ""}],
    "TSC003": [USUAL | {"whenUnsatisfiable": "DoNotSchedul"}],
    "TSC004": [USUAL, USUAL | {"maxSkew": 2}],
    "TSC005": [USUAL | {"minDomains": 0}],
    "TSC006": [USUAL | {"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}],
    "TSC007": [USUAL | {"nodeTaintsPolicy": "Honour"}],
    "TSC008": [USUAL | {"matchLabelKeys": ["pod-template-hash"]}],
    "TSC009": [USUAL | {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In"}]}}],
    "TSC010": [USUAL] * (MOST_CONSTRAINTS + 1),
    "TSC020": [USUAL | {"topologyKey": next(iter(apiwarnings.DEPRECATED_KEYS))}],
    "TSC021": [USUAL],
}
"""Lists that break a rule, for the message that each one leads to."""

_SINCE = {rule.id: rule.since for rule in RULES}


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay out a table of Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", r"\|")


def code(text: object) -> str:
    """Text as it would be typed; nothing if there is none."""
    return f"`{text}`" if str(text) else ""


def settings() -> str:
    """Every setting of the server."""
    rows = (
        (code(row.flag), code(row.variable), row.kind, code(row.default), row.reason)
        for row in setting_table()
    )
    return table(("flag", "variable", "value", "default", "what it is for"), rows)


def bounds() -> str:
    """Every bound of the server, with its reason."""
    rows = ((row.name, _amount(row.value, row.unit), row.reason) for row in limits.table())
    return table(("limit", "value", "why"), rows)


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value // limits.MIB} MiB" if value >= limits.MIB else f"{value // limits.KIB} KiB"
    return f"{value:n} {unit}"


def measures() -> str:
    """Every metric."""
    rows = (
        (code(row.name), row.type, ", ".join(map(code, row.labels)), row.help)
        for row in metrics.METRICS
    )
    return table(("metric", "type", "labels", "what it says"), rows)


def skips() -> str:
    """Why a pod gets no defaults."""
    return table(("reason", "meaning"), ((code(skip), said) for skip, said in REASONS.items()))


def templates() -> str:
    """The kinds whose pod templates are judged."""
    kinds = [*_placed(BUILT_IN, "built in"), *_placed(SHIPPED_TEMPLATES, "shipped")]
    return table(("kind", "group", "pod template", "known"), kinds)


def owners() -> str:
    """The custom controllers whose selectors are read."""
    rows = (
        (each.kind.kind, code(each.kind.group), code(".".join(each.path)))
        for each in SHIPPED_OWNERS
    )
    return table(("kind", "group", "label selector"), rows)


def _placed(kinds: Mapping[Any, TemplatePath], known: str) -> Iterator[tuple[str, ...]]:
    for kind, path in kinds.items():
        yield kind.kind, code(kind.group), code(".".join(path)) or "the object itself", known


def api_rules() -> str:
    """Each rule of the API, with the message that breaking it leads to."""
    return "\n\n".join(_described(each) for each in CATALOGUE if each in _SINCE)


def api_warnings() -> str:
    """Each warning of the API server."""
    return "\n\n".join(_described(row.id) for row in apiwarnings.WARNINGS)


def our_rules() -> str:
    """Each rule that only evenspread has."""
    theirs = {*_SINCE, *(row.id for row in apiwarnings.WARNINGS)}
    return "\n\n".join(_described(each) for each in CATALOGUE if each not in theirs)


def deprecated() -> str:
    """The node labels that TSC020 warns about."""
    rows = (
        (code(key), since, code(successor))
        for key, (since, successor) in apiwarnings.DEPRECATED_KEYS.items()
    )
    return table(("label", "deprecated since", "write instead"), rows)


def _described(rule: str) -> str:
    entry = CATALOGUE[rule]
    lines = [
        f"### {rule}: {entry.title}",
        "",
        f"- otherwise: {entry.effect}",
        f"- instead: {entry.fix}",
    ]
    if rule in DEFAULT_ACTIONS:
        lines.append(f"- action, unless configured: {code(DEFAULT_ACTIONS[rule])}")
    message = message_of(rule)
    if message:
        lines += ["- message:", "", "  ```text", f"  {message}", "  ```"]
    return "\n".join(lines)


def message_of(rule: str) -> str:
    """What somebody reads who breaks a rule; empty for a rule without an example here."""
    if rule == "TSC111":
        return _dropped()
    if rule not in BROKEN:
        return ""
    constraints = msgspec.convert(BROKEN[rule], tuple[Constraint, ...])
    if rule == "TSC010":
        return str(rules.too_many(constraints, LIST).error)
    if rule in _SINCE:
        found = rules.check(constraints, LIST, Form(merged=True))
        return next(str(each.error) for each in found if each.rule == rule)
    return next(each.text for each in apiwarnings.warn(constraints, LIST) if each.rule == rule)


def _dropped() -> str:
    """Ask about a pod with a field that its Kubernetes has not got."""
    pod = {
        "metadata": {"name": "web"},
        "spec": {"topologySpreadConstraints": [USUAL | {"minDomains": 2}]},
    }
    request = {"uid": "1", "kind": {"kind": "Pod"}, "operation": "CREATE", "object": pod}
    body = {"apiVersion": review.API_VERSION, "kind": review.KIND, "request": request}
    policy = Policy(gates=resolve(Version(1, 24), {}))
    return judge(review.decode(msgspec.json.encode(body)), Hook.MUTATE, policy, NoFacts()).warnings[
        0
    ]


def gates() -> str:
    """Every gate, and what it takes away while it is off."""
    rows = (
        (f"[{gate}](#{gate.lower()})", spec.guards, _taken(gate, spec), code(spec.needs or ""))
        for gate, spec in GATES.items()
    )
    return table(("gate", "guards", "dropped while it is off", "needs"), rows)


def _taken(gate: Gate, spec: GateSpec) -> str:
    if gate is Gate.EVEN_PODS_SPREAD:
        return "the whole list"
    return ", ".join(map(code, spec.fields)) or "nothing"


def gate_history() -> str:
    """Every gate by itself: what it was in which version."""
    return "\n\n".join(_told(gate, spec) for gate, spec in GATES.items())


def _told(gate: Gate, spec: GateSpec) -> str:
    lines = [f"### {gate}", "", f"Guards {spec.guards}."]
    if spec.history[0].since == FIRST and len(spec.history) == 1:
        return "\n".join(
            [*lines, "It is evenspread's own: on by default, whatever the Kubernetes version."]
        )
    rows = list(_periods(spec))
    if spec.removed_after:
        lines.append(
            f"Kubernetes {spec.removed_after} is the last to know its name; the feature stays on."
        )
    return "\n".join(
        [*lines, "", table(("Kubernetes", "stage", "default", "can be switched"), rows)]
    )


def _periods(spec: GateSpec) -> Iterator[tuple[str, str, str, str]]:
    if spec.history[0].since > FIRST:
        yield f"before {spec.history[0].since}", "not there", "off", "no"
    ends = [*(each.since for each in spec.history[1:]), None]
    for period, end in zip(spec.history, ends, strict=True):
        last = Version(end.major, end.minor - 1) if end else None
        until = f" to {last}" if last and last != period.since else "" if last else " and later"
        locked = period.stage is Stage.GA
        switched = "off only with `--allow-locked-gates`" if locked else "yes"
        yield f"{period.since}{until}", period.stage, "on" if period.default else "off", switched


def newest() -> str:
    """The range of versions that are known."""
    return f"Versions {FIRST} to {NEWEST} are known; a newer one is judged as {NEWEST}."


SECTIONS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "limits": bounds,
    "metrics": measures,
    "skips": skips,
    "templates": templates,
    "owners": owners,
    "api rules": api_rules,
    "api warnings": api_warnings,
    "deprecated labels": deprecated,
    "our rules": our_rules,
    "gates": gates,
    "gate history": gate_history,
    "versions": newest,
}
"""What may stand between the marks of a name."""


def written(text: str) -> str:
    """
    A page with its tables as they have to be.

    Raises:
        ValueError: A mark has no end.
    """
    for name, make in SECTIONS.items():
        start, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
        if start in text:
            before, _, rest = text.partition(start)
            _, _, after = rest.partition(end)
            if end not in rest:
                raise ValueError(f"there is no {end} after {start}")
            text = f"{before}{start}\n{make()}\n{end}{after}"
    return text


def main(arguments: Sequence[str]) -> int:
    """Write the pages that are out of date, or name them; returns the exit code."""
    only_check = list(arguments) == ["--check"]
    stale = [
        page for page in sorted(DOCS.glob("*.md")) if written(page.read_text()) != page.read_text()
    ]
    for page in stale:
        click.echo(f"{page.name}: {'out of date' if only_check else 'written'}")
        if not only_check:
            page.write_text(written(page.read_text()))
    return int(only_check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
