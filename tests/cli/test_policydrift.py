"""``evenspread export --check``: drift of a cluster from an export."""

from pathlib import Path

import pytest

from tests.apiserver import ApiServer, Json, refuse
from tests.cli import files
from tests.cli.conftest import Run
from webhook.export.drift import complete_specification

CONFIG = ("--config", "config.yaml", "--kubeconfig", "kubeconfig")


@pytest.fixture
def configured(folder: Path) -> Path:
    (folder / "config.yaml").write_text(files.CONFIG)
    return folder


@pytest.fixture
def stored(configured: Path, api: ApiServer, run: Run) -> list[Json]:
    """The objects of an export, as an API server stores them."""
    made = run("export", "map", "--config", "config.yaml", "-o", "json").documents
    for manifest in made:
        manifest["spec"] = complete_specification(manifest["spec"])
    api.add(*made)
    return made


@pytest.mark.usefixtures("stored")
def test_a_cluster_with_all_objects_has_no_drift(run: Run) -> None:
    ran = run("export", "map", *CONFIG, "--check")

    assert (ran.code, ran.out) == (0, "no drift: the cluster has the 2 exported objects\n")


def test_a_change_is_shown_as_a_diff(run: Run, api: ApiServer, stored: list[Json]) -> None:
    api.add({**stored[0], "spec": {**stored[0]["spec"], "failurePolicy": "Fail"}})

    ran = run("export", "map", *CONFIG, "--check")

    assert ran.code == 1
    assert ran.out.splitlines()[:5] == [
        "--- MutatingAdmissionPolicy/evenspread-cluster in the cluster",
        "+++ MutatingAdmissionPolicy/evenspread-cluster as exported",
        "@@ -1,4 +1,4 @@",
        "-failurePolicy: Fail",
        "+failurePolicy: Ignore",
    ]


@pytest.mark.usefixtures("configured", "api")
def test_a_missing_object_is_shown(run: Run) -> None:
    ran = run("export", "vap", *CONFIG, "--check")

    assert ran.code == 1
    assert "+++ ValidatingAdmissionPolicyBinding/evenspread-fleet-example-io as exported" in ran.out


@pytest.mark.usefixtures("stored")
def test_an_object_of_an_earlier_export_is_shown(run: Run, configured: Path) -> None:
    (configured / "config.yaml").write_text(files.CONFIG.replace("cluster", "other"))

    ran = run("export", "map", *CONFIG, "--check")

    assert ran.code == 1
    assert "-policyName: evenspread-cluster" in ran.out.splitlines()


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("kube_version", "version", "more"),
    [
        ("1.36", "v1", ""),
        ("1.35", "v1beta1", "; kube-apiserver serves v1beta1 only with --runtime-config"),
    ],
)
def test_an_api_version_that_is_not_served_is_an_error(
    run: Run, api: ApiServer, kube_version: str, version: str, more: str
) -> None:
    group_version = f"admissionregistration.k8s.io/{version}"
    api.script(f"/apis/{group_version}/mutatingadmissionpolicies", refuse("not found", 404))

    ran = run("export", "map", *CONFIG, "--check", "--kube-version", kube_version)

    assert ran.code == 3
    assert ran.err.endswith(
        f"does not serve mutatingadmissionpolicies of {group_version}: name the Kubernetes version "
        f"of the cluster with --kube-version{more}\n"
    )


@pytest.mark.usefixtures("configured")
def test_a_list_that_is_refused_is_an_error(run: Run, api: ApiServer) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
    api.script(path, refuse("not for you", 403))

    ran = run("export", "map", *CONFIG, "--check")

    assert ran.code == 3
    assert "answered 403: not for you" in ran.err
