#!/usr/bin/env python3
"""
Write the tables of the reference, the schemas and the badges from the tables of the code.

A page holds prose, written by hand, and between marks the tables of this program, so that they
cannot disagree with the code. ``python docs/generate.py`` writes the pages anew; with ``--check``
it only names those that are out of date, and exits with 1.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click
import yaml
from pydantic import BaseModel

from tests.docs.badges import badges
from tests.docs.gate_sections import gate_history, gates
from tests.docs.limits import limit_rows
from tests.docs.reference_texts import CHECK_READS
from tests.docs.rule_sections import (
    advice,
    api_rules,
    api_warnings,
    deprecated,
    own_rules,
    remedies,
    strict_rules,
)
from tests.docs.sections import code, table
from webhook.audit.renderers import AUDIT_FORMATS
from webhook.cli.inputs.facts import FACTS_BY_DEFAULT
from webhook.cli.options import FACTS_SOURCES
from webhook.cli.output import OUTPUT_FORMATS
from webhook.cli.program import program
from webhook.cli.views.diffs import REASONS
from webhook.config.ownerselectors import SHIPPED_OWNERS
from webhook.config.projectschema import ExemptionModel, SpreadProject
from webhook.config.settings import setting_table
from webhook.doctor.probes import FAILURES
from webhook.doctor.table import CHECKS
from webhook.policy.api.versions import NEWEST_VERSION, OLDEST_VERSION
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.places import TemplatePlaces, format_places
from webhook.server.http import limits
from webhook.spreadtest.schema import CaseSchema, Expectation, SpreadTest
from webhook.telemetry.catalogue import METRICS

DOCS = Path(__file__).parent
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings() -> str:
    """Every setting of the server."""
    rows = (
        (f"{code(row.flag)}<br>{code(row.variable)}", row.kind, code(row.default), row.reason)
        for row in setting_table()
    )
    return table(("flag, variable", "value", "default", "what it is for"), rows)


def facts_sources() -> str:
    """Every option that names a source of facts, in the order of precedence."""
    files = ("`-f PATH`", "The files to check, or to explain. May be repeated.")
    options = [option for option in FACTS_SOURCES if not option.hidden]
    return table(("option", "facts"), (files, *map(_option_row, options)))


def _option_row(option: click.Option) -> tuple[str, str]:
    return code(f"{option.opts[-1]} {option.metavar or ''}".strip()), option.help or ""


def facts_by_default() -> str:
    """The facts of each command without an option that names a source."""
    rows = ((code(name), facts) for name, facts in FACTS_BY_DEFAULT.items())
    return table(("command", "facts without `-f` and these options"), rows)


OF_OBJECTS = (
    "validate", "review", "audit", "fix", "explain", "config check", "policy diff", "scaledown"
)  # fmt: skip
"""The commands that work on objects."""


def command_options() -> str:
    """The options of kubectl that each command takes, and its output formats."""
    headings = ("command", "files", *(code(flag) for flag in _SELECTING), "cluster", "`-o`")
    return table(headings, map(_command_row, OF_OBJECTS))


_SELECTING = ("-n", "-l", "-A")
_SERVER = "--kubeconfig"


def _command_row(name: str) -> tuple[str, ...]:
    command: click.Command | None = program
    for part in name.split():
        assert isinstance(command, click.Group), "its parts are commands"
        command = command.get_command(click.Context(command), part)
    assert command is not None, "it is a command"
    flags = {flag for option in command.params for flag in option.opts}
    files = [form for form in ("files", "-f", "-k") if form in flags]
    return (
        code(name),
        ", ".join("`FILE`" if form == "files" else code(form) for form in files),
        *("yes" if flag in flags else "" for flag in _SELECTING),
        "yes" if _SERVER in flags else "",
        ", ".join(OUTPUT_FORMATS.get(name, AUDIT_FORMATS)),
    )


def server_limits() -> str:
    """Every limit of the server, with its reason."""
    rows = ((row.name, _amount(row.value, row.unit), row.reason) for row in limit_rows())
    return table(("limit", "value", "why"), rows)


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value // limits.MIB} MiB" if value >= limits.MIB else f"{value // limits.KIB} KiB"
    return f"{value:n} {unit}"


def metrics() -> str:
    """Every metric."""
    rows = (
        (code(row.name), row.type, ", ".join(map(code, row.labels)), row.help) for row in METRICS
    )
    return table(("metric", "type", "labels", "meaning"), rows)


def skips() -> str:
    """The reasons for which a pod gets no defaults."""
    return table(("reason", "meaning"), ((code(skip), reason) for skip, reason in REASONS.items()))


def templates() -> str:
    """The kinds whose pod templates are checked."""
    kinds = [
        *_template_rows(BUILT_IN_TEMPLATES, "built in"),
        *_template_rows(SHIPPED_TEMPLATES, "shipped"),
    ]
    return table(("kind", "group", "pod template", "known"), kinds)


def owners() -> str:
    """The custom controllers whose selectors are read."""
    rows = (
        (owner.kind.kind, code(owner.kind.group), code(".".join(owner.path)))
        for owner in SHIPPED_OWNERS
    )
    return table(("kind", "group", "label selector"), rows)


def _template_rows(
    kinds: Mapping[GroupKind, TemplatePlaces], known: str
) -> Iterator[tuple[str, ...]]:
    for kind, places in kinds.items():
        paths = ", ".join(map(code, format_places(places)))
        yield kind.kind, code(kind.group), paths or "the object itself", known


def checks() -> str:
    """Every check of a doctor."""
    rows = ((code(row.id), row.title, CHECK_READS[row.id]) for row in CHECKS)
    return table(("check", "all is well if", "it looks at"), rows)


def failures() -> str:
    """The meanings of an API server's messages about a failed call, and what to do."""
    rows = (
        (failure.meaning, failure.advice.format(flag="-n evenspread", name="evenspread"))
        for failure in FAILURES
    )
    return table(("it means", "what to do"), rows)


def newest() -> str:
    """The range of versions that are known."""
    return (
        f"Versions {OLDEST_VERSION} to {NEWEST_VERSION} are known; "
        f"a newer one is judged as {NEWEST_VERSION}."
    )


def suite() -> str:
    """The keys of a suite."""
    return _schema_table(SpreadTest)


def case() -> str:
    """The keys of a case of a suite."""
    return _schema_table(CaseSchema)


def expectation() -> str:
    """The keys of an expectation."""
    return _schema_table(Expectation)


def project() -> str:
    """The keys of a project file."""
    return _schema_table(SpreadProject)


def exemption() -> str:
    """The keys of an exemption in a project file."""
    return _schema_table(ExemptionModel)


def action() -> str:
    """The inputs of the GitHub Action."""
    inputs = yaml.safe_load((DOCS.parent / "action.yml").read_text())["inputs"]
    rows = (
        (code(name), code(entry["default"]), _one_line(entry["description"]))
        for name, entry in inputs.items()
    )
    return table(("input", "default", "what it is"), rows)


def _schema_table(model: type[BaseModel]) -> str:
    rows = (
        (code(field.alias), "yes" if field.is_required() else "", _one_line(field.description))
        for field in model.model_fields.values()
    )
    return table(("key", "required", "what it is"), rows)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


SECTIONS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "facts sources": facts_sources,
    "facts by default": facts_by_default,
    "command options": command_options,
    "limits": server_limits,
    "metrics": metrics,
    "skips": skips,
    "templates": templates,
    "owners": owners,
    "api rules": api_rules,
    "api warnings": api_warnings,
    "strict rules": strict_rules,
    "deprecated labels": deprecated,
    "our bounds": own_rules,
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
    "action": action,
    "project": project,
    "exemption": exemption,
}
"""Name of a section -> the function that formats its content."""


def update_page(text: str) -> str:
    """
    Replace the sections of a page by those of the program.

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


def schemas() -> dict[str, str]:
    """The JSON Schemas of files that users write: name of the file -> text."""
    schema = {"$schema": DIALECT, **SpreadProject.model_json_schema(by_alias=True)}
    return {"project.schema.json": f"{json.dumps(schema, indent=2)}\n"}


def main(arguments: Sequence[str]) -> int:
    """Write the pages that are out of date, or name them; returns the exit code."""
    only_check = list(arguments) == ["--check"]
    texts = {page: update_page(page.read_text()) for page in sorted(DOCS.glob("*.md"))}
    texts |= {DOCS / name: text for name, text in (schemas() | badges()).items()}
    stale = [page for page, text in texts.items() if not page.exists() or page.read_text() != text]
    for page in stale:
        click.echo(f"{page.name}: {'out of date' if only_check else 'written'}")
        if not only_check:
            page.write_text(texts[page])
    return int(only_check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
