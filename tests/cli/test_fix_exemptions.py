"""Exemptions without effect, for every rule of the catalogue: no command edits the annotation."""

from itertools import product
from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import Run
from webhook.audit.renderers import AUDIT_FORMATS
from webhook.cli.output import OUTPUT_FORMATS
from webhook.fix.remedies import FIX_REMEDIES
from webhook.policy.catalogue import CATALOGUE, REFUSED_EXEMPTION

OBJECT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
  annotations: {{sync: "2", evenspread.io/exempt: "{text}", reload: "true"}} # OPS-12
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web-{number}}}}}
  template:
    metadata: {{labels: {{app: web-{number}}}}}
    spec:
      containers: [{{name: web, image: nginx}}]
"""
CONSTRAINED = """\
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: we}}
"""
BARE = ("{rule}",)
TEXTS = ("{rule}=", "{rule}= , TSC107=by contract", "{rule}=a, {rule}=b")
MANIFEST = "".join(
    OBJECT.format(number=number, text=text.format(rule=rule)) + CONSTRAINED * (text not in BARE)
    for number, (rule, text) in enumerate(product(CATALOGUE, (*BARE, *TEXTS)))
)


def list_annotations(text: str) -> list[str]:
    return [line for line in text.splitlines() if "annotations:" in line]


@pytest.fixture
def manifest(folder: Path) -> Path:
    path = folder / "web.yaml"
    path.write_text(MANIFEST)
    return path


@pytest.mark.parametrize("option", ["--level", "--rules"])
def test_fix_leaves_the_annotation_to_a_person(manifest: Path, run: Run, option: str) -> None:
    value = {"--level": "audit", "--rules": ",".join(FIX_REMEDIES)}[option]

    ran = run("fix", "-f", "web.yaml", option, value, "-o", "json", "--fail-on", "never")

    (report,) = ran.documents
    left = [one for one in report["left"] if "annotations" in one["field"]]
    assert (ran.code, ran.err) == (0, "")
    assert list_annotations(manifest.read_text()) == list_annotations(MANIFEST)
    assert {(one["rule"], one["reason"]) for one in left} == {
        (REFUSED_EXEMPTION, "only the author knows what is exempted, and why")
    }
    assert report["fixed"]
    assert not any("annotations" in one["field"] for one in report["fixed"])


@pytest.mark.parametrize("output", AUDIT_FORMATS)
def test_an_audit_reports_the_annotation(manifest: Path, run: Run, output: str) -> None:
    ran = run("audit", "-f", "web.yaml", "-o", output, "--fail-on", "never")

    assert (ran.code, ran.err) == (0, "")
    assert manifest.read_text() == MANIFEST


def test_code_scanning_suggests_no_edit_of_the_annotation(manifest: Path, run: Run) -> None:
    ran = run("audit", "-f", "web.yaml", "-o", "sarif", "--fail-on", "never")

    (run_of_audit,) = msgspec.json.decode(ran.out)["runs"]
    fixed = [one for one in run_of_audit["results"] if "fixes" in one]
    assert fixed
    assert not any("exempt" in msgspec.json.encode(one["fixes"]).decode() for one in fixed)
    assert REFUSED_EXEMPTION not in {one["ruleId"] for one in fixed}


@pytest.mark.parametrize("output", [str(one) for one in OUTPUT_FORMATS["validate"]])
def test_the_annotation_does_not_disturb_validation(manifest: Path, run: Run, output: str) -> None:
    ran = run("validate", "-f", "web.yaml", "-o", output)

    assert (ran.code, ran.err) == (0, "")
    assert manifest.read_text() == MANIFEST
