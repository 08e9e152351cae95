"""Unknown and duplicate fields: warnings, and with --strict denials."""

from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run
from webhook.policy.catalogue import STRICT_RULES

LIST = "spec.topologySpreadConstraints"
MISSPELT = files.VALID + "    minDomain: 3\n    maxSkew: 2\n"


def test_unknown_and_duplicate_fields_are_warnings(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + MISSPELT)

    ran = run("validate", "-f", "pod.yaml")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f'pod.yaml:15: Pod shop/web-1: warning: unknown field "{LIST}[0].minDomain"; '
        'did you mean "minDomains"? [TSC011]\n'
        "    instead: write minDomains\n"
        f'pod.yaml:16: Pod shop/web-1: warning: duplicate field "{LIST}[0].maxSkew"; '
        "it is in lines 11 and 16, and the last one counts [TSC012]\n"
        "    instead: remove all but one\n"
        "1 object with a pod template, by the rules of Kubernetes 1.37: "
        "0 denied, 1 with warnings only\n"
    )
    assert run("validate", "-f", "pod.yaml", "--fail-on", "warn").code == 1


def test_strict_denies_unknown_fields_as_kubectl_does(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + MISSPELT)

    ran = run("validate", "-f", "pod.yaml", "--strict", "-o", "json")

    (report,) = ran.documents
    assert (ran.code, report["code"], report["warnings"]) == (1, 400, [])
    assert [(cause["rule"], cause["line"]) for cause in report["causes"]] == [
        ("TSC011", 15),
        ("TSC012", 16),
    ]
    assert report["message"] == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        f'unknown field "{LIST}[0].minDomain", duplicate field "{LIST}[0].maxSkew"'
    )


def test_strict_keeps_the_other_causes_of_a_denial(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + MISSPELT.replace("maxSkew: 2", "maxSkew: x"))

    (report,) = run("validate", "-f", "pod.yaml", "--strict", "-o", "json").documents

    assert [cause["rule"] for cause in report["causes"]] == ["TSC011", "TSC012", ""]
    assert report["message"].endswith("maxSkew: expected an integer, got a string")


def test_a_field_that_only_a_newer_version_knows_is_no_unknown_field(
    folder: Path, run: Run
) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.VALID + "    minDomains: 2\n")

    ran = run("validate", "-f", "pod.yaml", "--kube-version", "1.20")

    assert "TSC111" in ran.out
    assert "TSC011" not in ran.out


@pytest.mark.parametrize("rule", STRICT_RULES)
def test_a_rule_of_strict_decoding_is_explained(rule: str, run: Run) -> None:
    assert run("validate", "--explain", rule).out.startswith(f"{rule}: ")


def test_an_exempted_object_has_no_unknown_fields(folder: Path, run: Run) -> None:
    annotation = "annotations: {evenspread.io/exempt: 'TSC011=newer, TSC012=generated'}"
    pod = files.POD.replace("  labels:", f"  {annotation}\n  labels:")
    (folder / "pod.yaml").write_text(pod + MISSPELT)

    assert run("validate", "-f", "pod.yaml", "--strict").code == 0


@pytest.mark.parametrize("command", ["validate", "review", "audit"])
def test_an_exemption_that_the_configuration_forbids_has_no_effect(
    command: str, folder: Path, run: Run
) -> None:
    exempt = "  annotations: {evenspread.io/exempt: TSC011=newer}\n  labels:"
    pod = files.POD + files.VALID + "    minDomain: 3\n"
    (folder / "pod.yaml").write_text(pod.replace("  labels:", exempt, 1))
    (folder / "c.yaml").write_text(files.CONFIG + "rules: {TSC011: {exemptible: false}}\n")

    allowed = run(command, "-f", "pod.yaml", "--strict")
    forbidden = run(command, "-f", "pod.yaml", "--strict", "--config", "c.yaml")

    assert (allowed.code, forbidden.code) == (0, 1)


MISSPELLED_PLACE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {Template: {spec: {topologySpreadConstraints: [{maxSkew: 0}]}}}
"""


@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--strict",), 3)])
def test_constraints_at_no_known_place_are_an_error_only_with_strict(
    flags: tuple[str, ...], code: int, folder: Path, run: Run
) -> None:
    (folder / "web.yaml").write_text(MISSPELLED_PLACE)

    ran = run("validate", "-f", "web.yaml", *flags)

    assert ran.code == code
    assert ran.err == (
        f"{'error' if flags else 'note'}: web.yaml:4: spec.Template.{LIST} of Deployment.apps is "
        f"not judged: did you mean spec.template.{LIST}?\n"
    )
