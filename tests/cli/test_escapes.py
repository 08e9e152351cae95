"""
Hostile texts in every text field of every output.

Control characters, C1 controls, bidirectional overrides and line breaks never appear raw in an
output. Outputs for programs keep their values.
"""

import json
from collections.abc import Callable, Mapping
from enum import Enum
from io import StringIO
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from xml.etree.ElementTree import fromstring

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli import files
from tests.cli.conftest import Run
from webhook.audit.renderers import AUDIT_FORMATS, render_report
from webhook.audit.renderers.jsonreport import format_json
from webhook.audit.report import AuditReport
from webhook.cli import doctor, fix
from webhook.cli.terminal import Terminal
from webhook.cli.views import explanation, findings
from webhook.cli.views.explanationpage import render_page
from webhook.cli.views.validationreport import ValidationReport
from webhook.doctor.findings import CheckResult
from webhook.explain.explanation import Explanation
from webhook.explain.rollout import Rollout
from webhook.fix.report import FixReport
from webhook.spreadtest.results import TEST_FORMATS, SuiteReport

MARK = "\n!"
"""A line break of a hostile text, in contrast to those of an output."""

HOSTILE = f"\x1b]0;a\x07\x9b31m\u202eb\u2066\x7f\u2028\x85\r{MARK}"
"""Each class of characters that a terminal or a reader may act on."""

EXAMPLES = 10  # each with dozens of texts, in every format
texts = st.sampled_from([HOSTILE, *(f"a{part}!" for part in HOSTILE)])

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "rule": st.just("TSC110"),
    "read_on": st.just("evenspread validate --explain TSC110"),
    "instead": texts.map(lambda text: text.replace("\n", " ")),  # has line breaks of its own
    "edits": st.just(()),
    "defaults": st.none(),
}
"""Fields that are not arbitrary texts."""

_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    Any: texts,
    int: st.integers(1, 3),
    bool: st.booleans(),
    NoneType: st.none(),
}


def instances(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type, with hostile texts in every field at any depth."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if origin in (Union, UnionType):
        return st.one_of(*map(instances, parts))
    if origin is tuple:
        return st.lists(instances(parts[0]), min_size=1, max_size=1).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(texts, instances(parts[1]), min_size=1, max_size=1)
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    hints = get_type_hints(kind).items()
    return st.builds(
        kind, **{name: FIELDS[name] if name in FIELDS else instances(hint) for name, hint in hints}
    )


def assert_escaped(output: str) -> None:
    assert MARK not in output
    raw = {character for character in output if not (character.isprintable() or character == "\n")}
    assert raw == set()


def screen(show: Callable[..., None], *shown: Any) -> str:
    written = StringIO()
    show(*shown, Terminal(written))
    return written.getvalue()


@pytest.mark.parametrize("output", AUDIT_FORMATS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(report=instances(AuditReport))
def test_audits_escape_every_text(output: str, report: AuditReport) -> None:
    assert_escaped(render_report(report, output))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_documents_of_audits_keep_their_values(data: st.DataObject) -> None:
    report = data.draw(instances(AuditReport))

    read = json.loads(render_report(report, "json"))
    objects = list(yaml.safe_load_all(render_report(report, "policyreport")))

    assert read == json.loads(msgspec.json.encode(report))
    assert objects[0]["metadata"]["namespace"] == report.workloads[0].namespace


@settings(max_examples=EXAMPLES, deadline=None)
@given(instances(Explanation), instances(Rollout))
def test_explanations_escape_every_text(explained: Explanation, rollout: Rollout) -> None:
    assert_escaped(screen(explanation.show, explained, rollout))
    assert_escaped(render_page([(explained, rollout)]))


@settings(max_examples=EXAMPLES, deadline=None)
@given(instances(ValidationReport))
def test_validations_escape_every_text(report: ValidationReport) -> None:
    assert_escaped(screen(findings.show, report))


@settings(max_examples=EXAMPLES, deadline=None)
@given(instances(FixReport))
def test_fixes_escape_every_text(report: FixReport) -> None:
    assert_escaped(screen(fix.show, report))


@settings(max_examples=EXAMPLES, deadline=None)
@given(instances(SuiteReport))
def test_suites_escape_every_text(report: SuiteReport) -> None:
    for render in TEST_FORMATS.values():
        assert_escaped(render(report))
    assert fromstring(TEST_FORMATS["junit"](report)).tag == "testsuites"
    assert json.loads(format_json(report)) == json.loads(msgspec.json.encode(report))


@settings(max_examples=EXAMPLES, deadline=None)
@given(instances(tuple[CheckResult, ...]), texts)
def test_checks_escape_every_text(results: tuple[CheckResult, ...], text: str) -> None:
    installation: Any = SimpleNamespace(namespace=text, name=text, kubernetes=text)

    assert_escaped(screen(doctor.show, installation, results))


NAME = json.dumps(HOSTILE)

POD = files.POD.replace("web-1", NAME).replace("{app: web}", f"{{{NAME}: {NAME}}}") + (
    files.VALID.replace("topology.kubernetes.io/zone", NAME)
)
NODE = files.NODE.replace("name: n1", f"name: {NAME}").replace("us-1a", NAME)
SUITE = files.SUITE.replace("a pod behind", json.dumps(f"{HOSTILE} behind")[:-1]).replace(
    "gets the defaults", 'gets none"'
)

COMMANDS = {
    "validate": ("validate", "-f", "."),
    "validate, several versions": ("validate", "-f", ".", "--kube-version", "1.24..1.36"),
    "validate as json": ("validate", "-f", ".", "-o", "json"),
    "validate as yaml": ("validate", "-f", ".", "-o", "yaml"),
    "review": ("review", "-f", "."),
    "review as json": ("review", "-f", ".", "-o", "json"),
    "review as yaml": ("review", "-f", ".", "-o", "yaml"),
    "fix": ("fix", "-f", "."),
    "fix as json": ("fix", "-f", ".", "-o", "json"),
    "explain": ("explain", "-f", "."),
    "explain as json": ("explain", "-f", ".", "-o", "json"),
    "explain as html": ("explain", "-f", ".", "-o", "html"),
    "test": ("test", "suites"),
    "test as json": ("test", "suites", "-o", "json"),
    "test as junit": ("test", "suites", "-o", "junit"),
    "config": ("config", "--config", f"{HOSTILE}\udcff.yaml"),
    "an argument": ("validate", HOSTILE),
    "an option": ("validate", f"--{HOSTILE}"),
    "a command": (HOSTILE,),
    "a file that does not exist": ("validate", "-f", f"no{HOSTILE}"),
    "an object that does not exist": ("explain", f"pod/{HOSTILE}", "-f", "."),
    "a version": ("validate", "-f", ".", "--kube-version", HOSTILE),
    "a feature gate": ("validate", "-f", ".", "--feature-gates", f"{HOSTILE}=true"),
    "an edit": ("explain", "-f", ".", "--cordon", HOSTILE),
    "a snapshot": ("audit", "--snapshot", HOSTILE),
    "a kubeconfig": ("explain", "pod/a", "--kubeconfig", HOSTILE),
    "a folder of certificates": ("certs", "show", "--dir", HOSTILE),
    "a suite": ("test", HOSTILE),
    "a format": ("audit", "-f", ".", "-o", HOSTILE),
    "a file of a format": ("audit", "-f", ".", "-o", f"table={HOSTILE}/{HOSTILE}"),
    **{f"audit as {name}": ("audit", "-f", ".", "-o", name) for name in AUDIT_FORMATS},
}


@pytest.fixture
def hostile_folder(folder: Path) -> Path:
    """Manifests and suites with hostile names, in files with hostile names."""
    (folder / f"{HOSTILE}\udcff.yaml").write_text(f"{POD}---\n{NODE}")
    (folder / f"{HOSTILE}b.yaml").write_text(f"apiVersion: v1\nkind: {NAME}\n\x9b: [")
    (folder / "suites").mkdir()
    (folder / f"suites/{HOSTILE}\udcff.yaml").write_text(SUITE)
    return folder


@pytest.mark.usefixtures("hostile_folder")
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_commands_escape_every_text(command: tuple[str, ...], run: Run) -> None:
    ran = run(*command)

    assert "this is a bug" not in ran.err
    for output in (ran.out, ran.err):
        assert_escaped(output)


def test_an_audit_in_a_file_is_escaped(hostile_folder: Path, run: Run) -> None:
    for output in AUDIT_FORMATS:
        run("audit", "-f", ".", "-o", f"{output}=out")
        assert_escaped((hostile_folder / "out").read_text())
