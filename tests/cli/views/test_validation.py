from typing import Any

import pytest

from tests.audit import world
from tests.build import gates
from tests.cli import files
from webhook.cli.views.validation import causes, report_strict_errors, reports_on
from webhook.cli.views.validationreport import ValidationReport
from webhook.manifests import Document, parse
from webhook.policy.api import rules
from webhook.policy.api.predict import APART
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.model import Constraint, GroupKind

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

    lines = [cause.line for cause in causes(read(files.POD + files.BROKEN), (), found, None)]

    assert lines == [11, 13]


# value, field, problem, what to write
TYPES: dict[str, tuple[str, str, str, str]] = {
    "a text for a number": (
        files.POD + files.TYPE_ERROR,
        f"{LIST}[0].maxSkew",
        "expected an integer, got a string",
        "write an integer without quotes, such as 1",
    ),
    "a fraction": (
        files.POD + files.TYPE_ERROR.replace('"1"', "1.5"),
        f"{LIST}[0].maxSkew",
        "expected an integer, got a number",
        "write an integer, such as 1",
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
        "write a line with a key and a value for each member",
    ),
}


@pytest.mark.parametrize(("text", "field", "problem", "fix"), TYPES.values(), ids=TYPES.keys())
def test_a_type_error_is_a_bad_request(text: str, field: str, problem: str, fix: str) -> None:
    found = report(text)

    assert (found.code, found.judged) == (400, True)
    assert found.message.endswith(f" cannot be handled as a {found.kind}: {field}: {problem}")
    (cause,) = found.causes
    assert (cause.field, cause.message, cause.rule, cause.fix) == (field, problem, "", fix)


def test_a_version_is_named_without_its_group_as_by_kube_apiserver() -> None:
    found = report(f"{DEPLOYMENT}spec: []")

    assert found.message.startswith(
        'Deployment in version "v1" cannot be handled as a Deployment: spec: '
    )


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


OWNERS = "[{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, controller: true}]"
REDACTED = world.STORED_POD.replace(
    'uid: 9f0c2f3e, resourceVersion: "4711"', f"ownerReferences: {OWNERS}"
)
REDACTED += "status: {phase: Running}\n"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (world.STORED_POD, []),
        (world.STORED_POD.replace("uid: 9f0c2f3e, ", ""), ["TSC008"]),
        (REDACTED, []),
        (world.STORED_POD.replace("values: [web]", "values: [shop]"), ["TSC008"]),
    ],
    ids=["from a cluster", "from a manifest", "without its identity", "with another value"],
)
def test_the_keys_of_a_pod_that_was_stored_are_in_its_selector(text: str, rules: list[str]) -> None:
    assert [cause.rule for cause in report(text).causes] == rules


MERGED_TWICE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys:
        - pod-template-hash
        - app
"""


@pytest.mark.parametrize(
    ("minor", "strict", "code", "causes", "warnings"),
    [
        (33, False, 422, [15], []),
        (34, False, 201, [], [15]),
        (34, True, 422, [15], []),
    ],
)
def test_a_template_whose_pods_are_refused_has_warnings_and_with_strict_causes(
    minor: int, strict: bool, code: int, causes: list[int], warnings: list[int]
) -> None:
    servers = [gates(Version(1, minor))]
    (found,) = reports_on(read(MERGED_TWICE), BUILT_IN_TEMPLATES, servers, strict=strict)

    assert (found.code, bool(found.stored)) == (code, code == 201)
    assert [cause.line for cause in found.causes] == causes
    assert [notice.line for notice in found.warnings] == warnings
    written = [(cause.rule, cause.fix) for cause in found.causes]
    written += ((notice.rule, notice.fix) for notice in found.warnings)
    assert written == [("TSC008", "remove matchLabelKeys[1], or app from labelSelector")]


@pytest.mark.parametrize(
    ("strict", "causes", "warnings"),
    [(False, ["TSC001"], ["TSC008"]), (True, ["TSC001", "TSC008"], [])],
)
def test_a_denial_does_not_hide_that_pods_are_refused(
    strict: bool, causes: list[str], warnings: list[str]
) -> None:
    text = MERGED_TWICE.replace("maxSkew: 1", "maxSkew: 0")
    servers = [gates(Version(1, 34))]
    (found,) = reports_on(read(text), BUILT_IN_TEMPLATES, servers, strict=strict)

    assert found.code == 422
    assert [cause.rule for cause in found.causes] == causes
    assert [notice.rule for notice in found.warnings] == warnings


JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - template: {spec: {template: {spec: {topologySpreadConstraints: [{topologyKey: a}]}}}}
  - template:
      spec:
        template:
          spec:
            topologySpreadConstraints:
            - maxSkew: 0
              topologyKey: zone
              whenUnsatisfiable: DoNotSchedule
"""
AT_JOB = "spec.replicatedJobs[{}].template.spec.template.spec.topologySpreadConstraints[0].{}"


def report_shipped(text: str) -> ValidationReport:
    (found,) = reports_on(read(text), SHIPPED_TEMPLATES, [gates(NEWEST_VERSION)])
    return found


def test_the_templates_of_an_object_are_reported_together() -> None:
    found = report_shipped(JOB_SET)

    assert found.code == 422
    assert [(cause.field, cause.line) for cause in found.causes] == [
        (AT_JOB.format(0, "maxSkew"), 6),
        (AT_JOB.format(0, "whenUnsatisfiable"), 6),
        (AT_JOB.format(1, "maxSkew"), 12),
    ]


def test_the_stored_constraints_of_all_templates_are_reported() -> None:
    text = JOB_SET.replace("maxSkew: 0", "maxSkew: 2").replace(
        "{topologyKey: a}", "{topologyKey: a, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}"
    )

    found = report_shipped(text)

    assert [stored["maxSkew"] for stored in found.stored] == [1, 2]
    assert [notice.field for notice in found.warnings] == [
        AT_JOB.format(0, "labelSelector"),
        AT_JOB.format(1, "labelSelector"),
    ]


def test_a_type_error_in_a_list_of_templates_has_its_line() -> None:
    found = report_shipped(JOB_SET.replace("maxSkew: 0", "maxSkew: x"))

    (cause,) = found.causes
    assert (found.code, cause.field, cause.line) == (400, AT_JOB.format(1, "maxSkew"), 12)


def test_a_null_selector_in_a_bare_list_is_no_warning() -> None:
    kind = GroupKind("postgresql.cnpg.io", "Cluster")
    listed = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}"
    text = (
        "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db}\n"
        f"spec: {{topologySpreadConstraints: [{listed}]}}\n"
    )
    places = {kind: ("spec", "topologySpreadConstraints")}

    (found,) = reports_on(read(text), places, [gates(NEWEST_VERSION)])

    assert (found.judged, found.denied, found.warnings, len(found.stored)) == (True, False, (), 1)


MISSPELT = files.POD + files.VALID + "    minDomain: 3\n"


@pytest.mark.parametrize(("strict", "code"), [(False, 201), (True, 400)], ids=["lax", "strict"])
def test_an_unknown_field_is_a_warning_or_a_cause(strict: bool, code: int) -> None:
    document = read(MISSPELT)

    found = report_strict_errors(document, BUILT_IN_TEMPLATES[document.group_kind], strict=strict)
    (whole,) = reports_on(document, BUILT_IN_TEMPLATES, [gates()], strict=strict)

    assert found is not None
    for one in (found, whole):
        (notice,) = one.causes if strict else one.warnings
        assert (one.code, notice.rule, notice.line) == (code, "TSC011", 15)
        assert notice.fix == "write minDomains"


def test_an_exemption_that_the_configuration_forbids_has_no_effect() -> None:
    exempt = "  annotations: {evenspread.io/exempt: TSC011=newer}\n  labels:"
    document = read(MISSPELT.replace("  labels:", exempt, 1))
    forbidden = frozenset({"TSC011"})
    places = BUILT_IN_TEMPLATES[document.group_kind]

    found = report_strict_errors(document, places, strict=False, not_exemptible=forbidden)
    (whole,) = reports_on(document, BUILT_IN_TEMPLATES, [gates()], not_exemptible=forbidden)

    assert found is not None
    assert found.warnings == whole.warnings != ()
    assert report_strict_errors(document, places, strict=False) is None


def test_an_object_without_strict_errors_has_no_report_of_them() -> None:
    document = read(files.POD + files.VALID)
    places = BUILT_IN_TEMPLATES[document.group_kind]

    assert report_strict_errors(document, places, strict=True) is None


def test_findings_of_exempt_rules_are_left_out_and_counted() -> None:
    text = files.POD + files.DOUBTFUL + "    minDomain: 3\n"
    servers = [gates(Version(1, 29), MinDomainsInPodTopologySpread=False)]

    (whole,) = reports_on(read(text), BUILT_IN_TEMPLATES, servers)
    (rest,) = reports_on(
        read(text), BUILT_IN_TEMPLATES, servers, exempt=frozenset({"TSC011", "TSC020", "TSC111"})
    )
    (strict,) = reports_on(
        read(text), BUILT_IN_TEMPLATES, servers, strict=True, exempt=frozenset({"TSC011"})
    )

    assert [notice.rule for notice in whole.warnings] == ["TSC011", "TSC020", "TSC021"]
    assert [notice.rule for notice in whole.dropped] == ["TSC111"]
    assert [notice.rule for notice in (*rest.warnings, *rest.dropped)] == ["TSC021"]
    assert (whole.exempted, rest.exempted, strict.exempted) == (0, 3, 1)
    assert not strict.denied
