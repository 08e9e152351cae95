from pathlib import Path

import pytest
import yaml

from tests.cli import files
from tests.cli.conftest import Run
from webhook.policy.api.rules import API_RULES
from webhook.policy.catalogue import API_WARNINGS, CATALOGUE

LIST = "spec.topologySpreadConstraints"


def test_findings_are_text(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)

    assert run("validate", "-f", "pod.yaml") == (
        1,
        (
            f"pod.yaml:11: Pod shop/web-1: denied: {LIST}[0].maxSkew: "
            "Invalid value: 0: must be greater than zero [TSC001]\n"
            "    instead: write at least 1: how many more pods a domain may have than the emptiest "
            "domain, for example `maxSkew: 1`\n"
            f"pod.yaml:13: Pod shop/web-1: denied: {LIST}[0].whenUnsatisfiable: "
            'Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway" '
            "[TSC003]\n"
            "    instead: write `DoNotSchedule` to hold the pod back, `ScheduleAnyway` to prefer "
            "emptier domains\n"
            "1 object with a pod template, by the rules of Kubernetes 1.37: "
            "1 denied, 0 with warnings only\n"
        ),
        "",
    )


def test_findings_are_json(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)

    ran = run("validate", "-f", "pod.yaml", "-o", "json")

    (report,) = ran.documents
    assert ran.code == 1
    assert report["message"].startswith(f'Pod "web-1" is invalid: [{LIST}[0].maxSkew: Invalid')
    assert report["causes"][0] == {
        "reason": "FieldValueInvalid",
        "message": "Invalid value: 0: must be greater than zero",
        "field": f"{LIST}[0].maxSkew",
        "rule": "TSC001",
        "line": 11,
        "fix": CATALOGUE["TSC001"].fix,
    }
    assert {name: report[name] for name in ("source", "line", "apiVersion", "kind")} == {
        "source": "pod.yaml",
        "line": 1,
        "apiVersion": "v1",
        "kind": "Pod",
    }
    assert (report["namespace"], report["name"], report["code"]) == ("shop", "web-1", 422)


def test_yaml_equals_json(folder: Path, run: Run) -> None:
    (folder / "pods.yaml").write_text(f"{files.POD}{files.BROKEN}---\n{files.SERVICE}")

    as_json = run("validate", "-f", "pods.yaml", "-o", "json").documents
    as_yaml = list(yaml.safe_load_all(run("validate", "-f", "pods.yaml", "-o", "yaml").out))

    assert as_yaml == as_json
    assert [report["judged"] for report in as_json] == [True, False]


def test_a_type_error_is_a_bad_request(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.TYPE_ERROR)

    ran = run("validate", "-f", "pod.yaml", "-o", "json")

    (report,) = ran.documents
    assert (ran.code, report["code"]) == (1, 400)
    assert report["message"] == (
        'Pod in version "v1" cannot be handled as a Pod: '
        f"{LIST}[0].maxSkew: expected an integer, got a string"
    )
    assert [(c["field"], c["line"], c["fix"]) for c in report["causes"]] == [
        (f"{LIST}[0].maxSkew", 12, "write an integer without quotes, such as 1")
    ]


# object, field of the wrong type
TYPE_ERRORS = {
    "a list for the spec": ("spec: []", "spec"),
    "a number for the template": ("spec: {template: 1}", "spec.template"),
    "a text below the template": ("spec: {template: {spec: x}}", "spec.template.spec"),
    "a label that is a number": (
        "spec: {template: {metadata: {labels: {app.kubernetes.io/version: 1}}}}",
        "spec.template.metadata.labels[app.kubernetes.io/version]",
    ),
}


@pytest.mark.parametrize(("text", "field"), TYPE_ERRORS.values(), ids=TYPE_ERRORS.keys())
def test_type_errors_above_the_constraints_have_their_field(
    text: str, field: str, run: Run
) -> None:
    deployment = f"apiVersion: apps/v1\nkind: Deployment\n{text}"

    ran = run("validate", "-f", "-", "-o", "json", stdin=deployment.encode())

    assert (ran.code, ran.documents[0]["causes"][0]["field"]) == (1, field)


# constraints, arguments, exit code
CODES = {
    "valid": (files.VALID, (), 0),
    "none": ("", (), 0),
    "broken": (files.BROKEN, (), 1),
    "a type error": (files.TYPE_ERROR, (), 1),
    "doubtful": (files.DOUBTFUL, (), 0),
    "doubtful, and warnings count": (files.DOUBTFUL, ("--fail-on", "warn"), 1),
    "valid, and warnings count": (files.VALID, ("--fail-on", "warn"), 0),
    "valid, and a file is missing": (files.VALID, ("-f", "missing.yaml"), 3),
    "broken, and a file is missing": (files.BROKEN, ("-f", "missing.yaml"), 3),
    "an unknown format": (files.VALID, ("-o", "xml"), 2),
    "an unknown gate": (files.VALID, ("--feature-gates", "Magic=true"), 2),
    "no version": (files.VALID, ("--kube-version", "new"), 2),
    "a locked gate": (files.VALID, ("--feature-gates", "MinDomainsInPodTopologySpread=false"), 2),
    "a configuration that is missing": (files.VALID, ("--config", "missing.yaml"), 2),
    "an unknown option": (files.VALID, ("--magic",), 2),
}


@pytest.mark.parametrize(("constraints", "args", "code"), CODES.values(), ids=CODES.keys())
def test_exit_code(
    constraints: str, args: tuple[str, ...], code: int, folder: Path, run: Run
) -> None:
    (folder / "pod.yaml").write_text(files.POD + constraints)

    assert run("validate", "-f", "pod.yaml", *args).code == code


def test_warnings_and_dropped_fields(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.DOUBTFUL)
    gates = "MinDomainsInPodTopologySpread=false"

    ran = run("validate", "-f", "pod.yaml", "--feature-gates", gates, "--allow-locked-gates")

    heads = [line for line in ran.out.splitlines() if not line.startswith("    instead: ")]
    assert heads == [
        (
            f"pod.yaml:12: Pod shop/web-1: warning: {LIST}[0].topologyKey: "
            "failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; "
            'use "topology.kubernetes.io/zone" instead [TSC020]'
        ),
        (
            f"pod.yaml:11: Pod shop/web-1: warning: {LIST}[0].labelSelector: "
            "a null labelSelector results in matching no pod [TSC021]"
        ),
        (
            f"pod.yaml:14: Pod shop/web-1: dropped: {LIST}[0].minDomains: dropped, "
            "since feature gate MinDomainsInPodTopologySpread is off (--feature-gates) [TSC111]"
        ),
        (
            "1 object with a pod template, by the rules of Kubernetes 1.37: "
            "0 denied, 1 with warnings only"
        ),
    ]


def test_the_version_decides_which_fields_are_dropped(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.DOUBTFUL)

    old, new = (
        run("validate", "-f", "pod.yaml", "--kube-version", version, "-o", "json").documents[0]
        for version in ("1.26", "1.27")
    )

    assert len(old["dropped"]) == 1
    assert new["dropped"] == []


def test_a_newer_version_is_judged_as_the_newest_supported_one(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.VALID)

    ran = run("validate", "-f", "pod.yaml", "--kube-version", "1.99")

    assert (ran.code, ran.err) == (
        0,
        "Kubernetes 1.99 is newer than the supported versions: the rules of 1.37 apply\n",
    )


def test_several_versions_are_compared_in_a_table(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.DOUBTFUL)

    ran = run("validate", "-f", "pod.yaml", "--kube-version", "1.26..1.27")

    assert ran.code == 0
    assert ran.out.startswith("1.26  1.27  finding\npod.yaml:1: Pod shop/web-1\n")


def test_the_whole_list_may_be_behind_a_gate(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)

    ran = run("validate", "-f", "pod.yaml", "--kube-version", "1.17", "-o", "json")

    (report,) = ran.documents
    assert (ran.code, report["dropped"][0]["field"], report["dropped"][0]["line"]) == (0, LIST, 10)


def test_the_configuration_adds_kinds(folder: Path, run: Run) -> None:
    (folder / "config.yaml").write_text(files.CONFIG)
    fleet = files.DEPLOYMENT.replace("apps/v1", "example.io/v1").replace("Deployment", "Fleet")
    (folder / "fleet.yaml").write_text(fleet.replace("template:", "pod:"))

    assert run("validate", "-f", "fleet.yaml").code == 0
    assert run("validate", "-f", "fleet.yaml", "--config", "config.yaml").code == 1


def test_shipped_custom_kinds_are_validated(run: Run) -> None:
    rollout = files.DEPLOYMENT.replace("apps/v1", "argoproj.io/v1").replace("Deployment", "Rollout")

    ran = run("validate", "-f", "-", stdin=rollout.encode())

    assert ran.out.startswith(f"stdin:9: Rollout web: denied: spec.template.{LIST}[0].maxSkew: ")


def test_one_line_for_each_object_of_a_list(run: Run) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(files.POD)] * 3}

    ran = run("validate", "-f", "-", "-o", "json", stdin=yaml.dump(listed).encode())

    assert [report["kind"] for report in ran.documents] == ["Pod", "Pod", "Pod"]


def test_a_broken_file_among_hundreds_is_reported(folder: Path, run: Run) -> None:
    for number in range(300):
        (folder / f"pod-{number:03}.yaml").write_text(files.POD + files.VALID)
    (folder / "pod-150.yaml").write_text(files.POD + "  tolerations: [\n")
    (folder / "values.yaml").write_text("replicas: 3\n")
    (folder / "more-values.yaml").write_text("image: nginx\n")

    ran = run("validate", "-f", ".", "-o", "json")

    assert (ran.code, len(ran.documents)) == (3, 299)
    assert ran.err.splitlines() == [
        (
            "error: pod-150.yaml:11: invalid YAML: while parsing a flow node, "
            "did not find expected node content"
        ),
        (
            "skipped 2 files without manifests, or of charts' templates: "
            "more-values.yaml, values.yaml "
            "(--strict makes them errors)"
        ),
    ]


def test_strict_makes_an_error_of_what_is_skipped(folder: Path, run: Run) -> None:
    (folder / "values.yaml").write_text("replicas: 3\n")

    assert run("validate", "-f", ".").code == 0
    assert run("validate", "-f", ".", "--strict").code == 3


def test_an_empty_input_is_skipped(run: Run) -> None:
    ran = run("validate", "-f", "-")

    assert (ran.code, ran.out, ran.err) == (
        0,
        (
            "0 objects with a pod template, by the rules of Kubernetes 1.37: "
            "0 denied, 0 with warnings only\n"
        ),
        (
            "warning: stdin: contains no object with a pod template\n"
            "skipped stdin: it contains no object with apiVersion and kind\n"
        ),
    )


def test_names_may_be_of_any_script(folder: Path, run: Run) -> None:
    (folder / "прод.yaml").write_text((files.POD + files.BROKEN).replace("web-1", "wëb-日本"))

    ran = run("validate", "-f", ".")
    report = run("validate", "-f", ".", "-o", "json").documents[0]

    assert ran.out.startswith("прод.yaml:11: Pod shop/wëb-日本: denied: ")
    assert (report["source"], report["name"]) == ("прод.yaml", "wëb-日本")


def test_control_characters_of_a_manifest_are_escaped(folder: Path, run: Run) -> None:
    red = '"\\x1b[31mweb"'
    (folder / "pod.yaml").write_text((files.POD + files.BROKEN).replace("web-1", red))

    out = run("validate", "-f", "pod.yaml").out

    assert "\x1b" not in out
    assert r"shop/\x1b[31mweb" in out


def test_files_are_required(run: Run) -> None:
    ran = run("validate")

    assert (ran.code, ran.out) == (2, "")
    assert "Missing option '-f' / '--filename'" in ran.err


def test_variables_stand_for_flags(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.DOUBTFUL)
    monkeypatch.setenv("EVENSPREAD_KUBE_VERSION", "1.26")
    monkeypatch.setenv("EVENSPREAD_FAIL_ON", "warn")

    assert run("validate", "-f", "pod.yaml").code == 1
    assert run("validate", "-f", "pod.yaml", "--fail-on", "deny").code == 0


@pytest.mark.parametrize("rule", [*API_RULES, *API_WARNINGS])
def test_every_rule_is_explained(rule: str, run: Run) -> None:
    ran = run("validate", "--explain", rule)

    assert ran.code == 0
    assert ran.out.startswith(f"{rule}: {CATALOGUE[rule].title}\n")
    assert CATALOGUE[rule].fix in ran.out


def test_several_rules_are_explained_in_one_run(run: Run) -> None:
    ran = run("validate", "--explain", "TSC001,TSC111")

    assert [line[:6] for line in ran.out.splitlines() if line.startswith("TSC")] == [
        "TSC001",
        "TSC111",
    ]


def test_an_unknown_rule_is_an_error(run: Run) -> None:
    ran = run("validate", "--explain", "TSC999")

    assert ran.code == 2
    assert ran.err.startswith("error: --explain: 'TSC999' is not a rule: use some of ")


@pytest.mark.parametrize("command", ["validate", "review", "fix"])
def test_nothing_to_check_is_a_warning_and_with_strict_an_error(
    command: str, run: Run, folder: Path
) -> None:
    (folder / "service.yaml").write_text(files.SERVICE)

    warned = run(command, "-f", "service.yaml")
    failed = run(command, "-f", "service.yaml", "--strict")

    assert (warned.code, failed.code) == (0, 3)
    assert "warning: service.yaml: contains no object with a pod template\n" in warned.err
    assert "error: service.yaml: contains no object with a pod template\n" in failed.err


def test_all_values_of_wrong_types_are_causes(folder: Path, run: Run) -> None:
    broken = files.VALID.replace("maxSkew: 1", "maxSkew: x").replace("DoNotSchedule", "1")
    (folder / "pod.yaml").write_text(files.POD + broken)

    (report,) = run("validate", "-f", "pod.yaml", "-o", "json").documents

    assert [cause["field"].rpartition(".")[2] for cause in report["causes"]] == [
        "maxSkew",
        "whenUnsatisfiable",
    ]
