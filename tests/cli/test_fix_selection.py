"""Which files, objects and findings ``fix`` changes."""

import re
import textwrap
from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run
from tests.cli.test_fix import POD


@pytest.fixture
def web(folder: Path) -> Path:
    path = folder / "web.yaml"
    path.write_text(POD)
    return path


FAIL_ON = {"deny": 0, "warn": 0, "audit": 1, "never": 0}


@pytest.mark.parametrize(("fail_on", "code"), FAIL_ON.items())
def test_the_lowest_severity_that_makes_the_exit_code(
    fail_on: str, code: int, web: Path, run: Run
) -> None:
    skew = files.DEPLOYMENT.replace("maxSkew: -1", "maxSkew: 9").replace(
        "spec:\n  template", "spec:\n  replicas: 3\n  template"
    )
    web.write_text(skew)

    assert run("fix", "-f", "web.yaml", "--fail-on", fail_on).code == code


def test_only_the_selected_rules_are_fixed(web: Path, run: Run) -> None:
    web.write_text(files.DEPLOYMENT)

    run("fix", "-f", "web.yaml", "--rules", "TSC001")

    assert web.read_text() == files.DEPLOYMENT.replace("maxSkew: -1", "maxSkew: 1")


def test_excluded_rules_are_left_out(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(files.DEPLOYMENT)

    ran = run("fix", "-f", "web.yaml", "--exclude-rules", "tsc00*", "--diff")

    assert "TSC001" not in ran.out + ran.err


def test_a_cluster_provides_the_labels_of_nodes(web: Path, run: Run) -> None:
    web.write_text(files.DEPLOYMENT)
    (web.parent / "nodes.yaml").write_text(files.NODE)

    run("fix", "-f", "web.yaml", "--facts", "nodes.yaml")

    assert "topologyKey: topology.kubernetes.io/zone" in web.read_text()
    assert (web.parent / "nodes.yaml").read_text() == files.NODE


LEVELS: dict[str, tuple[list[str], list[str], str]] = {
    "neither a level nor rules": ([], ["TSC001"], "; 1 of level audit not considered"),
    "a lower level": (["--level", "audit"], ["TSC001", "TSC107"], ""),
    "a higher level": (
        ["--level", "deny"],
        ["TSC001"],
        "; 1 of level audit not considered",
    ),
    "rules by their names": (["--rules", "TSC001,TSC107"], ["TSC001", "TSC107"], ""),
}


@pytest.mark.parametrize(("args", "fixed", "below"), LEVELS.values(), ids=LEVELS.keys())
def test_only_findings_of_the_level_are_fixed(
    args: list[str], fixed: list[str], below: str, web: Path, run: Run
) -> None:
    constraint = files.VALID.replace("maxSkew: 1", "maxSkew: 0")
    text = files.DEPLOYMENT.partition("      topologySpreadConstraints")[0]
    web.write_text(text + textwrap.indent(constraint, "    "))

    ran = run("fix", "-f", "web.yaml", "--fail-on", "never", *args)

    assert re.findall("(TSC[0-9]+) Deployment.*: (?:wrote|added)", ran.out) == fixed
    assert below in ran.out
    assert ("not considered" in ran.out) is bool(below)


@pytest.mark.parametrize(("rules", "is_fixed"), [("tsc112", True), ("TSC11*", False)])
def test_only_a_rule_that_is_named_by_its_id_weakens_or_tightens(
    rules: str, is_fixed: bool, web: Path, run: Run
) -> None:
    constraint = files.VALID.replace("maxSkew: 1", "maxSkew: 9")
    text = files.DEPLOYMENT.partition("      topologySpreadConstraints")[0]
    text = text.replace("spec:\n  template", "spec:\n  replicas: 3\n  template")
    web.write_text(text + textwrap.indent(constraint, "    "))

    ran = run("fix", "-f", "web.yaml", "--rules", rules)

    assert ("wrote maxSkew: 1, not 9" in ran.out) is is_fixed
    assert ("--rules TSC112 applies it all the same" in ran.out) is not is_fixed


def test_labels_select_the_objects_to_fix(folder: Path, run: Run) -> None:
    other = files.DEPLOYMENT.replace("name: web", "name: db, labels: {tier: data}")
    (folder / "two.yaml").write_text(f"{files.DEPLOYMENT}---\n{other}")

    ran = run("fix", "two.yaml", "-l", "tier=data", "--rules", "TSC001", "--diff", "-o", "json")

    (report,) = ran.documents
    assert {found["object"] for found in report["fixed"]} == {"Deployment default/db"}


def test_labels_select_objects_that_no_rule_can_judge(folder: Path, run: Run) -> None:
    (folder / "wrong.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {tier: web}}\n"
        'spec: {template: {spec: {topologySpreadConstraints: [{maxSkew: "one"}]}}}\n'
    )

    own, others = (run("fix", "wrong.yaml", "-l", f"tier={tier}") for tier in ("web", "data"))

    assert (own.code, others.code) == (1, 0)
    assert own.out.endswith("0 findings fixed in 0 files, 1 left\n")
    assert others.out == "0 findings fixed in 0 files, 0 left\n"


def test_every_template_of_an_object_is_fixed_where_it_is(folder: Path, run: Run) -> None:
    constraint = "{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, %s}"
    listed = constraint % "labelSelector: {matchLabels: {app: a}}"
    template = (
        f"{{metadata: {{labels: {{app: a}}}}, spec: {{topologySpreadConstraints: [{listed}]}}}}"
    )
    text = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train}\nspec:\n"
        "  replicatedJobs:\n"
        + "".join(f"  - template: {{spec: {{template: {template}}}}}\n" for _ in range(2))
    )
    (folder / "job.yaml").write_text(text)

    ran = run("fix", "-f", "job.yaml")

    assert ran.code == 0
    assert (folder / "job.yaml").read_text() == text.replace("maxSkew: 0", "maxSkew: 1")


def test_only_objects_of_the_namespace_are_fixed(folder: Path, run: Run) -> None:
    """The first object names no namespace, so it is in that of -n."""
    other = files.DEPLOYMENT.replace("name: web", "name: db, namespace: ops")
    (folder / "two.yaml").write_text(f"{files.DEPLOYMENT}---\n{other}")
    options = ("--rules", "TSC001", "--diff", "-o", "json")

    ops, own = (run("fix", "two.yaml", "-n", name, *options) for name in ("ops", "shop"))

    reports = [report for ran in (ops, own) for report in ran.documents]
    assert [[found["object"] for found in report["fixed"]] for report in reports] == [
        ["Deployment ops/web", "Deployment ops/db"],
        ["Deployment shop/web"],
    ]


@pytest.mark.usefixtures("web", "api")
def test_a_live_cluster_may_have_a_namespace_that_no_file_names(run: Run) -> None:
    options = ("--diff", "-f", "web.yaml", "-n", "ops")

    ran = run("fix", *options, "--live", "--kubeconfig", "kubeconfig")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "0 findings would be fixed in 0 files, 0 left\n"
    assert run("fix", *options).code == 2
