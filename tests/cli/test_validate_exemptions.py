"""Exemptions of a project in ``validate``."""

from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run
from webhook.config.project import PROJECT_FILE


@pytest.fixture
def repository(folder: Path) -> Path:
    """A repository with an empty project file."""
    (folder / ".git").mkdir()
    (folder / PROJECT_FILE).write_text("apiVersion: evenspread.io/v1alpha1\nkind: SpreadProject\n")
    return folder


def add(repository: Path, text: str) -> None:
    with (repository / PROJECT_FILE).open("a") as file:
        file.write(text)


VENDOR = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: vendor, namespace: tools}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: []
      topologySpreadConstraints:
      - maxSkew: 1
        minDomain: 2
        topologyKey: failure-domain.beta.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
"""

EXEMPT_VENDOR = "exemptions:\n- {rules: [%s], names: [vendor], reason: of a vendor}\n"

# rules that the vendor's chart is exempt from, --strict -> exit code, end of the summary
EXEMPTED = {
    "none": ("TSC110", (), 1, "0 denied, 1 with warnings only"),
    "some": ("TSC011", (), 1, "0 denied, 1 with warnings only; 1 finding exempted"),
    "all": ("TSC011, TSC020", (), 0, "0 denied, 0 with warnings only; 2 findings exempted"),
    "all, strictly": (
        "TSC0*", ("--strict",), 0, "0 denied, 0 with warnings only; 2 findings exempted"
    ),
    "none, strictly": ("TSC110", ("--strict",), 1, "1 denied, 0 with warnings only"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "strict", "code", "summary"), EXEMPTED.values(), ids=EXEMPTED.keys()
)
def test_exemptions_apply_to_validate(
    repository: Path, run: Run, rules: str, strict: tuple[str, ...], *, code: int, summary: str
) -> None:
    (repository / "vendor.yaml").write_text(VENDOR)
    add(repository, EXEMPT_VENDOR % rules)

    ran = run("validate", "--fail-on", "warn", *strict)

    assert ran.code == code
    assert ran.out.splitlines()[-1].endswith(summary)


def test_other_objects_are_not_exempt(repository: Path, run: Run) -> None:
    (repository / "own.yaml").write_text(VENDOR.replace("vendor", "own"))
    (repository / "vendor.yaml").write_text(VENDOR.replace("minDomain", "minDomains"))
    add(repository, EXEMPT_VENDOR % "TSC011, TSC020")

    ran = run("validate", "-o", "name")

    assert ran.out == "deployment.apps/own\n"


def test_dropped_fields_may_be_exempted(repository: Path, run: Run) -> None:
    (repository / "vendor.yaml").write_text(VENDOR.replace("minDomain", "minDomains"))
    add(repository, EXEMPT_VENDOR % "TSC111, TSC020")

    ran = run("validate", "--kube-version", "1.25", "-o", "json")

    by_name = {document["name"]: document for document in ran.documents}
    assert (by_name["vendor"]["dropped"], by_name["vendor"]["exempted"]) == ([], 2)


def test_validate_refuses_an_exemption_that_the_configuration_forbids(
    repository: Path, run: Run
) -> None:
    config = files.CONFIG + "rules: {TSC110: {exemptible: false}}\n"
    (repository / "config.yaml").write_text(config)
    add(repository, "config: config.yaml\n" + EXEMPT_VENDOR % "TSC110")

    ran = run("validate")

    assert ran.code == 2
    assert "TSC110 cannot be exempted from: the configuration forbids it" in ran.err


def test_actions_of_rules_do_not_change_what_validate_shows(repository: Path, run: Run) -> None:
    (repository / "vendor.yaml").write_text(VENDOR.replace("minDomain", "minDomains"))
    plain = run("validate", "--kube-version", "1.20")
    add(repository, "rules: {TSC111: off}\n")

    assert run("validate", "--kube-version", "1.20") == plain
    assert "[TSC111]" in plain.out
