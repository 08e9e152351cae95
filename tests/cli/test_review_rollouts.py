"""Reviews of Rollouts that have the template of a Deployment."""

from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli import files
from tests.cli.conftest import Run
from tests.cli.test_review import REFERRED, added


@pytest.fixture
def web(folder: Path) -> Path:
    """A folder with a pod, its Service, and a configuration with one profile."""
    (folder / "pod.yaml").write_text(files.POD)
    (folder / "cluster").mkdir()
    (folder / "cluster/service.yaml").write_text(files.SERVICE)
    (folder / "config.yaml").write_text(files.CONFIG)
    return folder


def review_rollout(web: Path, run: Run, *arguments: str) -> list[str]:
    """Review a Rollout; return what its pod gets."""
    (web / "rollout.yaml").write_text(files.REFERRING_ROLLOUT)

    ran = run("review", "-f", "rollout.yaml", "--config", "config.yaml", *arguments)

    assert (ran.code, ran.err) == (0, "")
    assert "rollout.yaml:4: pod of Rollout shop/front: patched by profile cluster" in ran.out
    return added(ran.out.splitlines())


SELECTED = [
    "+        app: web",
    "+        rollouts-pod-template-hash: hash",
]  # the selector of the Deployment, and the hash of the Rollout


def test_the_pod_of_a_rollout_has_the_template_of_its_deployment(web: Path, run: Run) -> None:
    (web / "deployment.yaml").write_text(REFERRED)

    assert SELECTED[-1] in review_rollout(web, run, "-f", "deployment.yaml")
    assert review_rollout(web, run, "--facts", "deployment.yaml")[-2:] == SELECTED


def test_the_template_of_a_rollout_is_read_from_the_live_cluster(
    web: Path, run: Run, api: ApiServer
) -> None:
    api.add(yaml.safe_load(REFERRED))

    found = review_rollout(web, run, "--live", "--kubeconfig", "kubeconfig")

    assert found[-2:] == SELECTED
    assert "/apis/apps/v1/namespaces/shop/deployments/web" in api.paths


def test_a_template_that_may_not_be_read_is_an_error(web: Path, run: Run, api: ApiServer) -> None:
    (web / "rollout.yaml").write_text(files.REFERRING_ROLLOUT)
    api.answers["GET /apis/apps/v1/namespaces/shop/deployments/web"] = refuse("forbidden")

    ran = run("review", "-f", "rollout.yaml", "--live", "--kubeconfig", "kubeconfig")

    assert ran.code == 3
    assert "forbidden" in ran.err
    assert ran.out.endswith("1 answer: 0 patched, 1 allowed as they are, 0 denied\n")


@pytest.mark.parametrize("command", ["review", "validate", "audit", "fix"])
def test_a_template_that_is_unknown_is_noted(folder: Path, run: Run, command: str) -> None:
    (folder / "rollout.yaml").write_text(files.REFERRING_ROLLOUT)

    ran = run(command, "-f", "rollout.yaml", *(("--diff",) if command == "fix" else ()))

    assert ran.code == 0
    assert (
        "note: rollout.yaml:1: Rollout shop/front: its pod template is in Deployment/web, "
        "which is unknown"
    ) in ran.err


@pytest.mark.parametrize("command", ["audit", "fix"])
def test_a_template_among_the_facts_is_known(folder: Path, run: Run, command: str) -> None:
    (folder / "rollout.yaml").write_text(files.REFERRING_ROLLOUT)
    (folder / "deployment.yaml").write_text(REFERRED)
    arguments = ("-f", "rollout.yaml", "--facts", "deployment.yaml")

    ran = run(command, *arguments, *(("--diff",) if command == "fix" else ()))

    assert "which is unknown" not in ran.err


def test_a_template_that_no_cluster_has_is_noted(folder: Path, run: Run, api: ApiServer) -> None:
    api.add(yaml.safe_load(files.REFERRING_ROLLOUT))

    ran = run("audit", "--kubeconfig", "kubeconfig")

    assert "note: Rollout shop/front: its pod template is in Deployment/web" in ran.err
