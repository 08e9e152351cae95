"""``evenspread export``: objects that work without a webhook."""

from pathlib import Path

import pytest
import yaml

from tests.cli import files
from tests.cli.conftest import Run

CONFIG = ("--config", "config.yaml")
SYSTEM = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}
"""


@pytest.fixture
def configured(folder: Path) -> Path:
    (folder / "config.yaml").write_text(files.CONFIG)
    return folder


@pytest.mark.usefixtures("configured")
def test_yaml_begins_with_what_the_objects_do_not_do(run: Run) -> None:
    ran = run("export", "map", *CONFIG)

    head, _, rest = ran.out.partition("---\n")
    assert (ran.code, ran.err) == (0, "")
    assert head.startswith("# Written by evenspread export. Differences from evenspread:\n# - ")
    assert all(line.startswith("# ") and len(line) <= 100 for line in head.splitlines())
    assert [document["kind"] for document in yaml.safe_load_all(rest)] == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ]
    assert "expression: |-\n" in rest


@pytest.mark.usefixtures("configured")
def test_json_has_a_line_for_each_object(run: Run) -> None:
    ran = run("export", "map", *CONFIG, "-o", "json")

    assert ran.code == 0
    assert ran.documents == [*yaml.safe_load_all(run("export", "map", *CONFIG).out)]
    assert all(line.startswith("note: ") for line in ran.err.splitlines())


def test_an_export_may_be_empty(run: Run) -> None:
    ran = run("export", "map")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "nothing to export\n"


def test_the_nodes_of_facts_decide_about_system_defaults(folder: Path, run: Run) -> None:
    (folder / "scheduler.yaml").write_text(SYSTEM)
    (folder / "node.yaml").write_text(NODE)
    arguments = ("export", "map", "--scheduler-config", "scheduler.yaml")

    assert "name the cluster with --facts" in " ".join(run(*arguments).out.split())
    assert '"topology.kubernetes.io/zone"' in run(*arguments, "--facts", "node.yaml").out


@pytest.mark.usefixtures("configured")
def test_facts_that_cannot_be_read_are_reported(run: Run) -> None:
    ran = run("export", "map", *CONFIG, "--facts", "absent.yaml")

    assert ran.code == 3
    assert "absent.yaml" in ran.err


@pytest.mark.parametrize(
    ("form", "version", "words"),
    [
        ("map", "1.33", "Kubernetes 1.33 has no MutatingAdmissionPolicy: write 1.34 or newer"),
        (
            "vap",
            "1.29",
            "Kubernetes 1.29 has no ValidatingAdmissionPolicy: write 1.30 or newer",
        ),
        (
            "scheduler",
            "1.24",
            "Kubernetes 1.24 has no kubescheduler.config.k8s.io/v1: write 1.25 or newer",
        ),
    ],
)
def test_an_old_version_has_no_such_objects(run: Run, form: str, version: str, words: str) -> None:
    ran = run("export", form, "--kube-version", version)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: --kube-version: {words}\n"


@pytest.mark.usefixtures("configured")
def test_the_rules_for_custom_kinds_are_written(run: Run) -> None:
    ran = run("export", "vap", *CONFIG)

    names = {one["metadata"]["name"] for one in yaml.safe_load_all(ran.out)}
    assert ran.code == 0
    assert names >= {"evenspread-fleet-example-io", "evenspread-rollout-argoproj-io"}


@pytest.mark.usefixtures("configured")
def test_the_defaults_of_a_scheduler_are_written(run: Run) -> None:
    ran = run("export", "scheduler", *CONFIG)

    assert ran.code == 0
    assert yaml.safe_load(ran.out)["kind"] == "KubeSchedulerConfiguration"


def test_a_form_is_required(run: Run) -> None:
    ran = run("export", "policies")

    assert ran.code == 2
    assert "'policies' is not one of 'map', 'vap', 'scheduler'" in ran.err
