from typing import Any

import pytest

from tests.build import gates
from tests.cli import files
from webhook.cli.views.validation import ValidationReport, causes, reports_on
from webhook.manifests import Document, parse
from webhook.policy.api import rules
from webhook.policy.api.predict import APART
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import Constraint

LIST = "spec.topologySpreadConstraints"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"


def read(text: str) -> Document:
    (document,) = parse(text, "pod.yaml")
    assert isinstance(document, Document)
    return document


def report(text: str, version: Version = NEWEST_VERSION, **requested: bool) -> ValidationReport:
    (found,) = reports_on(read(text), BUILT_IN_TEMPLATES, [gates(version, **requested)])
    return found


ACCEPTED: dict[str, tuple[str, bool]] = {
    "a kind without a pod template": (files.SERVICE, False),
    "a pod without constraints": (files.POD, True),
    "a pod with valid constraints": (files.POD + files.VALID, True),
    "a workload without a template": (f"{DEPLOYMENT}spec:\n", True),
}


@pytest.mark.parametrize(("text", "judged"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted_objects(text: str, judged: bool) -> None:
    found = report(text)

    assert (found.judged, found.code, found.denied, found.has_warnings) == (
        judged,
        201,
        False,
        False,
    )
    assert (found.message, found.causes) == ("", ())


def test_an_accepted_object_is_stored_as_it_is() -> None:
    (stored,) = report(files.POD + files.VALID).stored

    assert (stored["maxSkew"], stored["labelSelector"]) == (1, {"matchLabels": {"app": "web"}})


def test_a_violation_is_a_cause_with_its_line_and_fix() -> None:
    found = report(files.POD + files.BROKEN)

    assert (found.code, found.denied, found.stored) == (422, True, ())
    assert found.message.startswith(f'Pod "web-1" is invalid: [{LIST}[0].maxSkew: Invalid value')
    assert [(cause.rule, cause.field, cause.line) for cause in found.causes] == [
        ("TSC001", f"{LIST}[0].maxSkew", 11),
        ("TSC003", f"{LIST}[0].whenUnsatisfiable", 13),
    ]
    assert found.causes[0].fix == CATALOGUE["TSC001"].fix


def test_a_missing_field_has_the_line_of_its_parent() -> None:
    text = files.POD + files.VALID.replace("    topologyKey: topology.kubernetes.io/zone\n", "")

    (cause,) = report(text).causes

    assert (cause.field, cause.line) == (f"{LIST}[0].topologyKey", 11)


def test_causes_of_any_findings_have_lines() -> None:
    constraint = Constraint(max_skew=0, topology_key="zone", when_unsatisfiable="Never")
    found = rules.check((constraint,), LIST, APART)

    lines = [cause.line for cause in causes(read(files.POD + files.BROKEN), (), found)]

    assert lines == [11, 13]


# value, field, problem, what to write
TYPES: dict[str, tuple[str, str, str, str]] = {
    "a text for a number": (
        files.POD + files.TYPE_ERROR,
        f"{LIST}[0].maxSkew",
        "expected an integer, got a string",
        "write the number without quotes",
    ),
    "a list for an object": (
        f"{DEPLOYMENT}spec: []",
        "spec",
        "expected an object, got a list",
        "leave out the dash: there is only one",
    ),
    "a text below the template": (
        f"{DEPLOYMENT}spec: {{template: {{spec: x}}}}",
        "spec.template.spec",
        "expected an object, got a string",
        "write a value of the expected type",
    ),
}


@pytest.mark.parametrize(("text", "field", "problem", "fix"), TYPES.values(), ids=TYPES.keys())
def test_a_type_error_is_a_bad_request(text: str, field: str, problem: str, fix: str) -> None:
    found = report(text)

    assert (found.code, found.judged) == (400, True)
    assert found.message.endswith(f" cannot be handled as a {found.kind}: {field}: {problem}")
    (cause,) = found.causes
    assert (cause.field, cause.message, cause.rule, cause.fix) == (field, problem, "", fix)


def test_warnings_have_lines() -> None:
    found = report(files.POD + files.DOUBTFUL)

    assert found.has_warnings
    assert [(notice.rule, notice.line) for notice in found.warnings] == [
        ("TSC020", 12),
        ("TSC021", 11),
    ]


# version, gates, field, line, reason
DROPS: dict[str, tuple[Version, dict[str, bool], str, int, str]] = {
    "the whole list": (Version(1, 17), {}, LIST, 10, "EvenPodsSpread is off (default of 1.17)"),
    "a field behind a gate": (
        NEWEST_VERSION,
        {"MinDomainsInPodTopologySpread": False},
        f"{LIST}[0].minDomains",
        14,
        "feature gate MinDomainsInPodTopologySpread is off",
    ),
    "an unknown field": (
        Version(1, 23),
        {},
        f"{LIST}[0].minDomains",
        14,
        "Kubernetes 1.23 does not know it",
    ),
}


@pytest.mark.parametrize(
    ("version", "requested", "field", "line", "reason"), DROPS.values(), ids=DROPS.keys()
)
def test_dropped_fields_have_a_reason(
    version: Version, requested: dict[str, Any], field: str, line: int, reason: str
) -> None:
    (drop,) = report(files.POD + files.DOUBTFUL, version, **requested).dropped

    assert (drop.rule, drop.field, drop.line) == ("TSC111", field, line)
    assert drop.message.startswith(f"{field}: dropped, since ")
    assert reason in drop.message


def test_several_servers_give_a_report_each() -> None:
    servers = [gates(Version(1, 17)), gates()]

    old, new = reports_on(read(files.POD + files.BROKEN), BUILT_IN_TEMPLATES, servers)

    assert (old.denied, new.denied) == (False, True)
