"""``evenspread export``: objects that work without a webhook."""

from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, Json
from tests.cli import files
from tests.cli.conftest import Run
from webhook.export.drift import complete_specification

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


POLICY: Json = {
    "apiVersion": "evenspread.io/v1alpha1",
    "kind": "SpreadPolicy",
    "metadata": {"name": "zones"},
    "spec": {
        "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        ]
    },
}


def names_of(text: str) -> list[str]:
    found = (one for one in yaml.safe_load_all(text) if one["kind"].endswith("Policy"))
    return [one["metadata"]["name"] for one in found]


@pytest.mark.usefixtures("configured")
def test_spread_policies_of_facts_are_exported_behind_the_profiles(run: Run, folder: Path) -> None:
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))

    for arguments, expected in (
        (CONFIG, ["evenspread-cluster"]),
        ((*CONFIG, "--facts", "policy.yaml"), ["evenspread-cluster"]),
        (("--facts", "policy.yaml"), ["evenspread-zones"]),
    ):
        ran = run("export", "map", *arguments)
        assert (ran.code, names_of(ran.out)) == (0, expected)
    assert "profile 'zones'" in run("export", "map", *CONFIG, "--facts", "policy.yaml").out


def test_spread_policies_of_a_live_cluster_are_exported_and_compared(
    run: Run, api: ApiServer
) -> None:
    api.add(POLICY)

    ran = run("export", "map", "--kubeconfig", "kubeconfig")
    assert (ran.code, names_of(ran.out)) == (0, ["evenspread-zones"])
    for made in yaml.safe_load_all(ran.out):
        api.add({**made, "spec": complete_specification(made["spec"])})
    ran = run("export", "map", "--kubeconfig", "kubeconfig", "--check")
    assert ran.out == "no drift: the cluster has the 2 exported objects\n"
    assert ran.code == 0


def test_invalid_spread_policies_are_wrong_usage(run: Run, folder: Path) -> None:
    (folder / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "spec": {"order": 1}}))

    ran = run("export", "map", "--facts", "policy.yaml")

    assert (ran.code, ran.out) == (2, "")
    assert "policy.yaml" in ran.err


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
    assert "'policies' is not one of 'map', 'vap', 'static', 'scheduler'" in ran.err


@pytest.mark.usefixtures("configured")
def test_files_for_the_api_server_are_written(run: Run, folder: Path) -> None:
    ran = run("export", "static", *CONFIG, "--output-dir", "out/policies")

    paths = sorted(str(path.relative_to(folder)) for path in (folder / "out").rglob("*.yaml"))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "out/policies/mutating/evenspread.yaml",
        "out/policies/validating/evenspread.yaml",
        "out/policies/admission-configuration.yaml",
    ]
    assert paths == sorted(ran.out.splitlines())
    text = (folder / "out/policies/mutating/evenspread.yaml").read_text()
    assert text.startswith("# Written by evenspread export.")
    assert [one["kind"] for one in yaml.safe_load_all(text)] == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ]


def test_no_files_are_written_without_policies(run: Run, folder: Path) -> None:
    (folder / "config.yaml").write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\nprofiles: []\n"
        "featureGates: {EvenPodsSpread: false}\n"
    )

    ran = run(
        *("export", "static", *CONFIG, "--output-dir", "out"),
        "--allow-locked-gates",
    )

    assert (ran.code, ran.err) == (0, "nothing to export\n")
    assert not (folder / "out").exists()


def test_a_folder_that_cannot_be_created_is_an_error(run: Run, configured: Path) -> None:
    (configured / "out").write_text("a file")

    ran = run("export", "static", *CONFIG, "--output-dir", "out")

    assert ran.code == 3
    assert ran.err.startswith("error: out/mutating: cannot be created")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("static",), "--output-dir: is missing: static writes several files, name their folder"),
        (
            ("map", "--output-dir", "out"),
            "--output-dir: is for static: redirect the output of map to a file",
        ),
        (
            ("static", "--output-dir", "out", "--kube-version", "1.35"),
            "--kube-version: Kubernetes 1.35 has no policies in files: write 1.36 or newer",
        ),
    ],
)
def test_options_fit_the_form(run: Run, arguments: tuple[str, ...], words: str) -> None:
    ran = run("export", *arguments)

    assert (ran.code, ran.err) == (2, f"error: {words}\n")


@pytest.mark.parametrize("form", ["static", "scheduler"])
def test_files_are_not_compared(run: Run, form: str) -> None:
    ran = run("export", form, "--check")

    assert ran.code == 2
    assert ran.err == (f"error: --check: compares objects of the API: {form} writes files\n")


def test_system_defaults_are_compared_by_the_nodes_of_the_cluster(
    run: Run, api: ApiServer, folder: Path
) -> None:
    (folder / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}}
    api.add(node)

    ran = run(
        *("export", "map", "--scheduler-config", "scheduler.yaml"),
        *("--kubeconfig", "kubeconfig", "--check"),
    )

    assert ran.code == 1
    assert "kubernetes.io/hostname" in ran.out
    assert "topology.kubernetes.io/zone" not in ran.out
