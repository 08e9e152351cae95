"""The reference names everything that a user can meet, and nothing that is not there."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import yaml

from certs.secret import RotationRequest
from tests.docs.advice_examples import ADVICE_EXAMPLES as ADVISED
from tests.docs.api_examples import API_EXAMPLES, STRICT_EXAMPLES
from tests.docs.limits import limit_rows
from tests.docs.markdown import PAGES, ROOT, rows
from tests.docs.reference_texts import CHECK_READS, REMEDY_TEXTS
from webhook.cli.commands.audit import command as audit
from webhook.cli.exits import DEBUG_VARIABLE, ExitCode
from webhook.cli.program import COMMANDS
from webhook.config.settings import setting_table
from webhook.doctor.table import CHECKS
from webhook.fix.remedies import FIX_REMEDIES, FixRemedy
from webhook.policy import probe
from webhook.policy.advice import exemptions
from webhook.policy.api.gates import Gate
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.defaulting.inject import MIRROR_ANNOTATION, SKIP_LABEL, SkipReason
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.scaledown.binding import BindingResult
from webhook.policy.scaledown.ranks import RANK_ANNOTATION, SCALE_DOWN_LABEL
from webhook.server.admission import HOOK_PATHS, REJECTION_REASONS
from webhook.server.health import PAGES as HEALTH_PATHS
from webhook.telemetry.catalogue import METRICS, Type

DOCS = ROOT / "docs"
REFERENCE_PAGE = DOCS / "reference.md"
REFERENCE = REFERENCE_PAGE.read_text()
EVERYTHING = "\n".join(page.read_text() for page in PAGES)

NEXT = "\n\n"  # what follows a table

LEVELS = {"debug", "info", "warning", "error"}


@cache
def list_nodes() -> list[ast.AST]:
    """Return the whole program, which takes seconds, and so not when tests are collected."""
    files = sorted((ROOT / "webhook").rglob("*.py"))
    return [node for file in files for node in ast.walk(ast.parse(file.read_text()))]


def column(heading: str, number: int = 0) -> set[str]:
    """What a column of the first table below a heading of the reference names."""
    section = REFERENCE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return names_in(f"|{section.partition('|')[2].partition(NEXT)[0]}", number)


def generated(page: Path, name: str) -> str:
    """What stands between the marks of a page."""
    return page.read_text().partition(f"<!-- generated: {name} -->")[2].partition("<!-- end")[0]


def names_in(text: str, number: int = 0) -> set[str]:
    """The names in a column of a table: everything in backticks, or numbers."""
    cells = [row[number] for row in rows(text)]
    return {name.strip("`") for cell in cells for name in re.findall(r"`[^`]+`|^\d+$", cell)}


def test_every_remedy_and_every_check_has_its_text() -> None:
    remedies = [rule for rule, remedy in FIX_REMEDIES.items() if isinstance(remedy, FixRemedy)]

    assert list(REMEDY_TEXTS) == remedies
    assert list(CHECK_READS) == [row.id for row in CHECKS]


def test_the_generated_tables_are_those_of_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )

    assert done.stdout == "", "run make docs-reference"
    assert done.returncode == 0


def test_each_rule_is_shown_broken_and_kept() -> None:
    sections = re.split(r"^### (?=TSC)", (DOCS / "rules.md").read_text(), flags=re.MULTILINE)[1:]
    shown = {text[:6]: text.partition("```diff\n")[2].partition("\n```")[0] for text in sections}
    sides = {
        rule: ["\n".join(_side(diff, sign)) + "\n" for sign in "-+"] for rule, diff in shown.items()
    }
    of_api = {**API_EXAMPLES, **STRICT_EXAMPLES}
    written = {rule: [example.violates, example.passes] for rule, example in of_api.items()}
    written |= {rule: [example.violates, example.passes] for rule, example in ADVISED.items()}

    assert sides.keys() == written.keys()
    del sides["TSC010"], written["TSC010"]  # of its thousand lines a few are shown
    assert sides == written


def _side(diff: str, sign: str) -> list[str]:
    return [line[1:] for line in diff.splitlines() if line.startswith((" ", sign))]


def test_settings() -> None:
    assert column("Settings") == {
        name for row in setting_table() for name in (row.flag, row.variable)
    }


def test_variables_that_pages_name_exist() -> None:
    named = set(re.findall(r"\bEVENSPREAD_[A-Z_]+\b", EVERYTHING))

    required = {row.variable for row in setting_table()} | {DEBUG_VARIABLE}
    template = yaml.safe_load((ROOT / "deploy/ci/gitlab.yml").read_text())
    others = {f"EVENSPREAD_{option.name}".upper() for option in audit.params}
    assert required <= named
    assert named - required <= others | template["evenspread"]["variables"].keys()


OF_OTHERS = {
    "aws": {"--group-id", "--protocol", "--source-group"},
    "cluster-autoscaler": {"--balance-similar-node-groups", "--scheduler-config-file"},
    "curl": {"--cacert", "--data-binary"},
    "gcloud": {"--allow", "--network", "--source-ranges", "--target-tags"},
    "k3d": {"--agents"},
    "karpenter": {"--preference-policy"},
    "minikube": {"--all", "--nodes"},
    "helm": {"--install", "--no-hooks", "--set", "--set-file"},
    "kind": {"--name"},
    "kube-apiserver": {"--admission-control-config-file", "--enable-aggregator-routing"},
    "kubectl": {
        "--dry-run", "--for", "--ignore-not-found", "--image", "--labels", "--raw",
        "--replicas", "--show-managed-fields", "--timeout", "--type",
    },
    "kubectl krew": {"--archive", "--manifest"},
    "uvx": {"--from"},
}  # fmt: skip
"""Flags in commands that are not ours."""


def test_flags_that_pages_name_exist() -> None:
    named = set(re.findall(r"(?<![-\w])--[a-z][a-z-]+\b", EVERYTHING))

    assert named - flags() - {flag for flags in OF_OTHERS.values() for flag in flags} == set()


def flags() -> set[str]:
    commands = [import_module(f"webhook.cli.commands.{name}").command for name in COMMANDS]
    leaves = [
        leaf
        for command in commands
        for leaf in (
            command,
            *(command.commands.values() if isinstance(command, click.Group) else ()),
        )
    ]
    options = {option for leaf in leaves for parameter in leaf.params for option in parameter.opts}
    return options | {"--help", "--version"}


def test_commands() -> None:
    named = {name.removeprefix("evenspread ").split()[0] for name in column("Commands")}

    assert named == set(COMMANDS)


def test_exit_codes() -> None:
    assert column("Exit codes") == {str(int(code)) for code in ExitCode}


def test_limits() -> None:
    named = [row[0] for row in rows(generated(REFERENCE_PAGE, "limits"))]

    assert named == [row.name for row in limit_rows()]


def test_metrics() -> None:
    assert names_in(generated(REFERENCE_PAGE, "metrics")) == {row.name for row in METRICS}


def test_metrics_that_pages_name_exist() -> None:
    named = set(re.findall(r"\b(?:evenspread|kubernetes)_[a-z_]+\b", EVERYTHING))

    assert named <= {name for row in METRICS for name in series(row.name, row.type)}


def series(name: str, kind: Type) -> Iterator[str]:
    yield name
    if kind is Type.HISTOGRAM:
        yield from (f"{name}_bucket", f"{name}_sum", f"{name}_count")


def test_rules() -> None:
    headings = re.findall(r"^### (TSC\d+): ", (DOCS / "rules.md").read_text(), re.MULTILINE)

    assert sorted(headings) == sorted(rule for rule in CATALOGUE if rule.startswith("TSC"))


def test_rules_that_pages_name_exist() -> None:
    named = set(re.findall(r"\bTSC\d{3}\b", EVERYTHING))

    assert named <= CATALOGUE.keys()


def test_gates() -> None:
    history = generated(DOCS / "gates.md", "gate history")
    overview = rows(generated(DOCS / "gates.md", "gates"))

    assert re.findall(r"^### (\w+)$", history, re.MULTILINE) == list(Gate)
    assert [row[0] for row in overview] == [f"[{gate}](#{gate.lower()})" for gate in Gate]


def test_endpoints() -> None:
    assert column("Endpoints", 2) == {*HOOK_PATHS, *HEALTH_PATHS}


def test_statuses_of_refusals() -> None:
    named = set(re.findall(r"^\| ([45]\d\d(?:, \d+)*) \|", REFERENCE, re.MULTILINE))

    assert {int(status) for cell in named for status in cell.split(", ")} == {
        400, 500, 503, 504, *REJECTION_REASONS,
    }  # fmt: skip


def test_reasons_of_skipped_defaults() -> None:
    named = names_in(generated(DOCS / "configuration.md", "skips"))

    assert named == set(SkipReason) - {SkipReason.NONE}


def test_reasons_of_what_was_turned_away() -> None:
    table = f"| reason | meaning |{REFERENCE.partition('| reason | meaning |')[2]}"
    section = table.partition(NEXT)[0]
    reasons = {
        word for name in ("_turn_away", "refused", "OverloadError") for word in said_to(name)
    }

    assert names_in(section) == {*reasons, *REJECTION_REASONS.values(), "malformed", "not-synced"}


ENABLED = "evenspread.io/enabled"
"""Of a namespace; it is the chart that knows it, as a namespaceSelector of the webhooks."""


def test_results_of_bindings() -> None:
    table = REFERENCE.partition("| result | meaning |")[2].partition(NEXT)[0]

    assert names_in(f"| result | meaning |{table}") == {*BindingResult}


def test_annotations_and_labels() -> None:
    assert column("Annotations and labels") == {
        DEFAULTS_ANNOTATION, exemptions.EXEMPT_ANNOTATION, SKIP_LABEL, probe.LABEL, ENABLED,
        SCALE_DOWN_LABEL, RANK_ANNOTATION,
    }  # fmt: skip
    assert ENABLED in (ROOT / "deploy" / "chart" / "templates" / "_names.tpl").read_text()
    assert MIRROR_ANNOTATION in REFERENCE


def test_names_of_our_domain_that_pages_name_exist() -> None:
    # kubectl names objects as spreadpolicy.evenspread.io/NAME
    named = set(re.findall(r"(?<![\w.])evenspread\.io/[\w-]+", EVERYTHING))

    ours = {DEFAULTS_ANNOTATION, exemptions.EXEMPT_ANNOTATION, SKIP_LABEL, probe.LABEL}
    ours |= {RotationRequest.REVOKE, SCALE_DOWN_LABEL, RANK_ANNOTATION}
    assert named == {*ours, ENABLED, "evenspread.io/v1alpha1", "evenspread.io/results-left-out"}


def test_audit_annotations() -> None:
    tree = ast.parse((ROOT / "webhook" / "admission" / "encode.py").read_text())
    keys = {
        node.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "annotations"
        and isinstance(node.slice, ast.Constant)
    }

    assert column("Audit annotations") == keys


def test_log_events() -> None:
    """Some lines are put together without a call of a log; their events are words all the same."""
    written = {word for node in list_nodes() for word in words(node)}

    assert {*logged(), *said_to("warn")} <= column("Log events") <= written


def test_events() -> None:
    reasons = {*said_to("record"), *said_to("warn", 1), *said_to("PolicyNotice")}
    of_webhooks = {f"WebhookConfiguration{word}" for word in said_to("_report")}

    assert column("Events") == reasons | of_webhooks


def said_to(function: str, position: int = 0) -> Iterator[str]:
    """The words that stand as arguments in one position of calls of a function or a method."""
    for node in list_nodes():
        match node:
            case ast.Call(ast.Name(id=name) | ast.Attribute(attr=name), arguments) if (
                name == function and len(arguments) > position
            ):
                yield from words(arguments[position])
            case _:
                pass


def logged() -> Iterator[str]:
    """The first arguments of calls of a log."""
    for node in list_nodes():
        match node:
            case ast.Call(func, [first, *_]) if is_of_log(func):
                yield from words(first)
            case _:
                pass


def is_of_log(func: ast.expr) -> bool:
    match func:
        case ast.IfExp(body=body):
            return is_of_log(body)
        case ast.Attribute(ast.Name("log") | ast.Attribute(attr="log" | "_log"), level):
            return level in LEVELS
        case _:
            return False


def words(argument: ast.AST) -> Iterator[str]:
    match argument:
        case ast.Constant(value=str() as word):
            yield word
        case ast.IfExp(body=body, orelse=orelse):
            yield from words(body)
            yield from words(orelse)
        case _:
            pass
