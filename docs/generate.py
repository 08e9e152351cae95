#!/usr/bin/env python3
"""
Write the tables of the reference from the tables of the code.

A page holds prose, written by hand, and between marks what is written here, so that neither can
disagree with the program. ``python docs/generate.py`` writes the pages anew; with ``--check`` it
only names those that are out of date, and exits with 1.
"""

import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click
import msgspec
import yaml
from pydantic import BaseModel

from tests.docs.advice_examples import ADVICE_EXAMPLES as ADVISED
from tests.docs.advice_examples import AdviceExample
from tests.docs.api_examples import API_EXAMPLES
from tests.docs.limits import limit_rows
from tests.docs.reference_texts import CHECK_READS, REMEDY_TEXTS
from webhook.cli.views.diffs import REASONS
from webhook.config.models import SHIPPED_OWNERS
from webhook.config.settings import setting_table
from webhook.doctor.probes import FAILURES
from webhook.doctor.table import CHECKS
from webhook.fix.changes import FixObstacle
from webhook.fix.remedies import FIX_REMEDIES, FixRemedy
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.api import rules
from webhook.policy.api.gates import GATES, Gate, GateSpec, Stage
from webhook.policy.api.predict import DEPRECATED_KEYS, list_warnings
from webhook.policy.api.rules import API_RULES, ValidationOptions
from webhook.policy.api.versions import NEWEST_VERSION, OLDEST_VERSION, Version
from webhook.policy.catalogue import API_WARNINGS, CATALOGUE, TOO_MANY_CONSTRAINTS
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.model import MAX_CONSTRAINTS, Constraint, GroupKind
from webhook.policy.paths import TemplatePath
from webhook.server.http import limits
from webhook.spreadtest.schema import CaseSchema, Expectation, SpreadTest
from webhook.telemetry.catalogue import METRICS

NEXT = "\n\n"
DOCS = Path(__file__).parent
LIST = "spec.topologySpreadConstraints"

HEAD = 3  # lines of a diff that name files and places
MOST_LINES = 60  # of an example that is shown whole
FIRST_LINES = 14  # of one that is not


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
        (f"{code(row.flag)}<br>{code(row.variable)}", row.kind, code(row.default), row.reason)
        for row in setting_table()
    )
    return table(("flag, variable", "value", "default", "what it is for"), rows)


def bounds() -> str:
    """Every bound of the server, with its reason."""
    rows = ((row.name, _amount(row.value, row.unit), row.reason) for row in limit_rows())
    return table(("limit", "value", "why"), rows)


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value // limits.MIB} MiB" if value >= limits.MIB else f"{value // limits.KIB} KiB"
    return f"{value:n} {unit}"


def measures() -> str:
    """Every metric."""
    rows = (
        (code(row.name), row.type, ", ".join(map(code, row.labels)), row.help) for row in METRICS
    )
    return table(("metric", "type", "labels", "meaning"), rows)


def skips() -> str:
    """Why a pod gets no defaults."""
    return table(("reason", "meaning"), ((code(skip), said) for skip, said in REASONS.items()))


def templates() -> str:
    """The kinds whose pod templates are judged."""
    kinds = [*_placed(BUILT_IN_TEMPLATES, "built in"), *_placed(SHIPPED_TEMPLATES, "shipped")]
    return table(("kind", "group", "pod template", "known"), kinds)


def owners() -> str:
    """The custom controllers whose selectors are read."""
    rows = (
        (each.kind.kind, code(each.kind.group), code(".".join(each.path)))
        for each in SHIPPED_OWNERS
    )
    return table(("kind", "group", "label selector"), rows)


def _placed(kinds: Mapping[GroupKind, TemplatePath], known: str) -> Iterator[tuple[str, ...]]:
    for kind, path in kinds.items():
        yield kind.kind, code(kind.group), code(".".join(path)) or "the object itself", known


def api_rules() -> str:
    """Each rule of the API, with the message that breaking it leads to."""
    return NEXT.join(_described(each) for each in API_RULES)


def api_warnings() -> str:
    """Each warning of the API server."""
    return NEXT.join(map(_described, API_WARNINGS))


def deprecated() -> str:
    """The node labels that TSC020 warns about."""
    rows = (
        (code(key), since, code(successor)) for key, (since, successor) in DEPRECATED_KEYS.items()
    )
    return table(("label", "deprecated since", "write instead"), rows)


def our_bounds() -> str:
    """Each rule that bounds what a review costs."""
    return _described(TOO_MANY_CONSTRAINTS)


def advice() -> str:
    """Each policy rule."""
    return NEXT.join(
        f"### {row.id}: {CATALOGUE[row.id].title}{NEXT}{CATALOGUE[row.id].why}{NEXT}"
        f"- instead: {CATALOGUE[row.id].fix}\n"
        f"- checked by: {row.scope}, since Kubernetes {CATALOGUE[row.id].since}\n"
        f"- default action: {code(CATALOGUE[row.id].action)}{NEXT}"
        f"{_given(ADVISED[row.id])}{_shown(ADVISED[row.id].violates, ADVISED[row.id].passes)}"
        for row in POLICY_RULES
    )


def _given(example: AdviceExample) -> str:
    """What else holds for an example of a policy rule."""
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in example.gates.items())
    given = [f"With {code(f'--feature-gates {gates}')}:"] if gates else []
    given += (
        ["With a profile whose default constraint is on zones, with ScheduleAnyway:"]
        if example.profile
        else []
    )
    return "".join(f"{each}{NEXT}" for each in given)


def _described(rule: str) -> str:
    entry = CATALOGUE[rule]
    return (
        f"### {rule}: {entry.title}{NEXT}{entry.why}{NEXT}"
        f"- otherwise: {entry.effect}\n- instead: {entry.fix}\n"
        f"- message:{NEXT}  ```text\n  {message_of(rule)}\n  ```{NEXT}"
        f"{_shown(API_EXAMPLES[rule].violates, API_EXAMPLES[rule].passes)}"
    )


def _shown(violates: str, passes: str) -> str:
    """Both examples of a rule as one, whole; a list of a thousand is cut."""
    both = (violates.splitlines(), passes.splitlines())
    lines = list(difflib.unified_diff(*both, n=sum(map(len, both)), lineterm=""))[HEAD:]
    if len(lines) > MOST_LINES:
        lines = [*lines[:FIRST_LINES], "..."]
    return "\n".join(["```diff", *lines, "```"])


def message_of(rule: str) -> str:
    """Get the message for the violating example of a rule."""
    pod = yaml.safe_load(API_EXAMPLES[rule].violates)["spec"]
    constraints = msgspec.convert(pod["topologySpreadConstraints"], tuple[Constraint, ...])
    if rule in API_RULES:
        found = rules.check(constraints, LIST, ValidationOptions(merged=True))
        return next(str(each.error) for each in found if each.rule == rule)
    if len(constraints) > MAX_CONSTRAINTS:
        return str(rules.too_many(constraints, LIST).error)
    return next(each.text for each in list_warnings(constraints, LIST) if each.rule == rule)


def remedies() -> str:
    """What is written into manifests for each rule."""
    rows = (
        (rule, CATALOGUE[rule].title, *_remedy(rule, remedy))
        for rule, remedy in FIX_REMEDIES.items()
        if rule.startswith("TSC")
    )
    return table(("rule", "title", "fix", "on request", "not fixed"), rows)


def _remedy(rule: str, remedy: FixRemedy | FixObstacle) -> tuple[str, str, str]:
    """What a remedy writes, whether on request only, and what it leaves."""
    if isinstance(remedy, FixObstacle):
        return "none", "", remedy.reason
    writes, leaves = REMEDY_TEXTS[rule]
    return writes, "yes" if remedy.on_request else "", leaves


def checks() -> str:
    """Every check of a doctor."""
    rows = ((code(row.id), row.title, CHECK_READS[row.id]) for row in CHECKS)
    return table(("check", "all is well if", "it looks at"), rows)


def failures() -> str:
    """What the sentences of an API server about a failed call mean."""
    rows = (
        (each.meaning, each.advice.format(flag="-n evenspread", name="evenspread"))
        for each in FAILURES
    )
    return table(("it means", "what to do"), rows)


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
    return NEXT.join(_told(gate, spec) for gate, spec in GATES.items())


def _told(gate: Gate, spec: GateSpec) -> str:
    lines = [f"### {gate}", "", f"Guards {spec.guards}."]
    if spec.history[0].since == OLDEST_VERSION and len(spec.history) == 1:
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
    if spec.history[0].since > OLDEST_VERSION:
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
    return (
        f"Versions {OLDEST_VERSION} to {NEWEST_VERSION} are known; "
        f"a newer one is judged as {NEWEST_VERSION}."
    )


def suite() -> str:
    """What a suite is made of."""
    return _form(SpreadTest)


def case() -> str:
    """What a case of a suite is made of."""
    return _form(CaseSchema)


def expectation() -> str:
    """What can be expected of an answer."""
    return _form(Expectation)


def _form(model: type[BaseModel]) -> str:
    rows = (
        (code(field.alias), "yes" if field.is_required() else "", _one_line(field.description))
        for field in model.model_fields.values()
    )
    return table(("key", "required", "what it is"), rows)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


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
    "our bounds": our_bounds,
    "advice": advice,
    "remedies": remedies,
    "checks": checks,
    "failures": failures,
    "gates": gates,
    "gate history": gate_history,
    "versions": newest,
    "suite": suite,
    "case": case,
    "expectation": expectation,
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
