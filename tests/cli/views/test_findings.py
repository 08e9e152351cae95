from pathlib import Path
from typing import Any

import pytest

from tests.build import gates
from tests.cli import files
from tests.cli.conftest import Run
from webhook.cli.terminal import Terminal
from webhook.cli.views.findings import describe_support, name_of, show
from webhook.cli.views.validationreport import Cause, ValidationNotice, ValidationReport
from webhook.policy.api.versions import Version

FIELD = "spec.topologySpreadConstraints[0].maxSkew"


def report(**answer: Any) -> ValidationReport:
    return ValidationReport(
        source="pod.yaml",
        line=1,
        api_version="v1",
        kind="Pod",
        namespace="shop",
        name="web",
        **answer,
    )


NOTICE = ValidationNotice("minDomains: dropped", "minDomains", "TSC111", 13, "leave it out")

FINDINGS: dict[str, tuple[ValidationReport, list[str]]] = {
    "no finding": (report(), []),
    "a violated rule": (
        report(causes=(Cause("Invalid", "Invalid value: 0", FIELD, "TSC001", 11, "write 1"),)),
        [
            f"pod.yaml:11: Pod shop/web: denied: {FIELD}: Invalid value: 0 [TSC001]",
            "    instead: write 1",
        ],
    ),
    "a type error": (
        report(causes=(Cause("Type", "expected an integer", FIELD, "", 11, "write 1"),)),
        [
            f"pod.yaml:11: Pod shop/web: denied: {FIELD}: expected an integer",
            "    instead: write 1",
        ],
    ),
    "a warning": (
        report(warnings=(NOTICE,)),
        [
            "pod.yaml:13: Pod shop/web: warning: minDomains: dropped [TSC111]",
            "    instead: leave it out",
        ],
    ),
    "a dropped field": (
        report(dropped=(NOTICE,)),
        [
            "pod.yaml:13: Pod shop/web: dropped: minDomains: dropped [TSC111]",
            "    instead: leave it out",
        ],
    ),
}


# report -> lines of the wide output
WIDE: dict[str, tuple[ValidationReport, list[str]]] = {
    "an accepted object": (report(judged=True), ["pod.yaml:1: Pod shop/web: accepted"]),
    "an object without a pod template": (report(), []),
    "a warning": (report(judged=True, warnings=(NOTICE,)), FINDINGS["a warning"][1]),
}


@pytest.mark.parametrize(("found", "lines"), WIDE.values(), ids=WIDE.keys())
def test_wide_has_a_line_about_accepted_objects(
    found: ValidationReport, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    show(found, Terminal(), is_wide=True)

    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize(("found", "lines"), FINDINGS.values(), ids=FINDINGS.keys())
def test_a_finding_has_its_place_and_its_fix(
    found: ValidationReport, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    show(found, Terminal())

    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize(
    ("namespace", "name", "text"),
    [("shop", "web", "Pod shop/web"), ("", "web", "Pod web"), ("", "", "Pod")],
)
def test_a_missing_namespace_or_name_is_left_out(namespace: str, name: str, text: str) -> None:
    assert name_of("Pod", namespace, name) == text


SUPPORT = {
    "1.16": "drops topologySpreadConstraints, since EvenPodsSpread is off",
    "1.18": "does not know minDomains, nodeAffinityPolicy, nodeTaintsPolicy, matchLabelKeys",
    "1.24": (
        "does not know nodeAffinityPolicy, nodeTaintsPolicy, matchLabelKeys; "
        "drops minDomains, since the feature gate is off"
    ),
    "1.26": "drops minDomains, matchLabelKeys, since the feature gate is off",
    "1.33": "knows every field; refuses a key in both matchLabelKeys and labelSelector",
    "1.34": "knows every field; merges matchLabelKeys into the selector of a new pod",
}


@pytest.mark.parametrize(("version", "support"), SUPPORT.items())
def test_a_sentence_describes_the_fields_of_a_version(version: str, support: str) -> None:
    servers = gates(Version(1, int(version.partition(".")[2])))

    assert describe_support(servers) == f"Kubernetes {version} {support}"


LIST = "spec.topologySpreadConstraints"

EVERY_FIELD = """\
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    minDomains: 2
    nodeTaintsPolicy: Honor
    matchLabelKeys: [tier]
    labelSelector: {matchLabels: {app: web}}
"""

APART = EVERY_FIELD.replace("[tier]", "[app]")


SIDE_BY_SIDE = """\
1.16-17  1.18-24  1.25  1.26  1.27  1.28-33  1.34-37  finding
old.yaml:1: Pod shop/web-1
drop     -        -     -     -     -        -        TSC111 topologySpreadConstraints (line 10)
-        -        -     -     -     warn     warn     TSC021 [0].labelSelector (line 11)
-        -        warn  warn  warn  warn     warn     TSC020 [0].topologyKey (line 12)
-        drop     drop  drop  -     -        -        TSC111 [0].minDomains (line 14)
web.yaml:1: Pod shop/web-1
drop     -        -     -     -     -        -        TSC111 topologySpreadConstraints (line 10)
-        -        -     -     -     -        deny     TSC008 [0][0] (line 11)
-        drop     drop  drop  -     -        -        TSC111 [0].minDomains (line 14)
-        drop     drop  -     -     -        -        TSC111 [0].nodeTaintsPolicy (line 15)
-        -        -     -     deny  deny     -        TSC008 [0].matchLabelKeys[0] (line 16)
-        drop     drop  drop  -     -        -        TSC111 [0].matchLabelKeys (line 16)

0        0        0     0     1     1        1        objects denied
2        2        2     2     1     1        1        objects with warnings only
2 objects with a pod template, by the rules of Kubernetes 1.16..1.37: \
1 denied, 1 with warnings only; 1 other object has none
"""


def test_versions_side_by_side(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(f"{files.POD}{APART}---\n{files.SERVICE}")
    (folder / "old.yaml").write_text(files.POD + files.DOUBTFUL)

    ran = run("validate", "-f", "old.yaml", "-f", "web.yaml", "--kube-version", "1.16..1.37")

    assert ran == (1, SIDE_BY_SIDE, "")


def test_versions_for_programs(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + EVERY_FIELD)

    (document,) = run(
        "validate", "-f", "pod.yaml", "--kube-version", "1.23..1.27", "-o", "json"
    ).documents

    fields = {
        version: ({drop["field"] for drop in answer["dropped"]}, [*answer["stored"][0]])
        for version, answer in document["versions"].items()
    }
    always = ["maxSkew", "topologyKey", "whenUnsatisfiable"]
    policy, keys, least = (
        f"{LIST}[0].{field}" for field in ("nodeTaintsPolicy", "matchLabelKeys", "minDomains")
    )
    assert (document["source"], document["name"], document["judged"]) == ("pod.yaml", "web-1", True)
    assert fields == {
        "1.23": ({policy, keys, least}, [*always, "labelSelector"]),
        "1.24": ({policy, keys, least}, [*always, "labelSelector"]),
        "1.25": ({policy, keys, least}, [*always, "labelSelector"]),
        "1.26": ({keys, least}, [*always, "nodeTaintsPolicy", "labelSelector"]),
        "1.27": (
            set(),
            [*always, "minDomains", "nodeTaintsPolicy", "matchLabelKeys", "labelSelector"],
        ),
    }


# constraints, arguments, exit code
CODES = {
    "valid at every version": (files.VALID, ("1.18..1.37",), 0),
    "denied at one version": (APART, ("1.27..1.34",), 1),
    "denied at no version": (EVERY_FIELD, ("1.16..1.37",), 0),
    "dropped at one version, which counts": (
        EVERY_FIELD, ("1.26..1.37", "--fail-on", "warn"), 1
    ),
    "dropped at no version": (EVERY_FIELD, ("1.27..1.37", "--fail-on", "warn"), 0),
    "a type error": (files.TYPE_ERROR, ("1.27..1.37",), 1),
    "a file is missing": (files.VALID, ("1.27..1.37", "-f", "missing.yaml"), 3),
    "the last before the first": (files.VALID, ("1.37..1.27",), 2),
    "no last version": (files.VALID, ("1.37..",), 2),
    "a gate that is locked at one version": (
        files.VALID, ("1.27..1.30", "--feature-gates", "MinDomainsInPodTopologySpread=false"), 2
    ),
}  # fmt: skip


@pytest.mark.parametrize(("constraints", "args", "code"), CODES.values(), ids=CODES.keys())
def test_exit_code(
    constraints: str, args: tuple[str, ...], code: int, folder: Path, run: Run
) -> None:
    (folder / "pod.yaml").write_text(files.POD + constraints)

    assert run("validate", "-f", "pod.yaml", "--kube-version", *args).code == code


def test_nothing_found_at_any_version(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.VALID)

    assert run("validate", "-f", "pod.yaml", "--kube-version", "1.36..1.99") == (
        0,
        (
            "1 object with a pod template, by the rules of Kubernetes 1.36..1.37: "
            "0 denied, 0 with warnings only\n"
        ),
        "Kubernetes 1.99 is newer than the supported versions: the rules of 1.37 apply\n",
    )


def test_a_wrong_type_is_refused_by_every_version(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.TYPE_ERROR)

    out = run("validate", "-f", "pod.yaml", "--kube-version", "1.24..1.36").out

    assert out.splitlines()[:3] == [
        "1.24-36  finding",
        "pod.yaml:1: Pod shop/web-1",
        "deny     type [0].maxSkew (line 12)",
    ]


def test_a_single_version_is_not_nested(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.VALID)

    (document,) = run(
        "validate", "-f", "pod.yaml", "--kube-version", "1.37", "-o", "json"
    ).documents

    assert (document["code"], "versions" in document) == (201, False)
