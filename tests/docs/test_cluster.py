"""
Commands that need a cluster are run on a real control plane, and print what the page shows.

Its Nodes run the pods of evenspread as processes (tests/e2e/nodes.py); other pods stay what a
scheduler makes of them. What a page marks as needing kind, minikube or a registry is not run.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.api import ApiError
from tests.controlplane.assets import Assets
from tests.deploy.manifests import Helm
from tests.deploy.tools import HELM, locate
from tests.docs.markdown import CONTROL_PLANE, GUIDES, blocks, name
from tests.docs.transcript import Command, Shell, commands, differs
from tests.e2e.containers import REPOSITORY, require_containers
from tests.e2e.installation import IMAGE, Cluster

PAGES = [page for page in GUIDES if any(block.needs == CONTROL_PLANE for block in blocks(page))]


@pytest.fixture
def cluster(control_plane_assets: Assets, tmp_path: Path, helm: Helm) -> Iterator[Cluster]:
    require_containers()
    with Cluster(control_plane_assets, tmp_path / "nodes", {IMAGE: REPOSITORY}) as started:
        yield started


@pytest.fixture
def shell(cluster: Cluster, control_plane_assets: Assets, tmp_path: Path) -> Shell:
    """One with kubectl and Helm on PATH, and the kubeconfig of an admin."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "helm").symlink_to(locate(HELM))
    (programs / "kubectl").symlink_to(control_plane_assets.program("kubectl"))
    folder = tmp_path / "shell"
    folder.mkdir()
    return Shell(
        folder,
        path=str(programs),
        variables={"KUBECONFIG": str(cluster.plane.apiserver.kubeconfig)},
    )


class Terminal:
    """Runs one command after the other; forwards the Service as soon as there is one."""

    def __init__(self, cluster: Cluster, shell: Shell) -> None:
        self._cluster, self._shell = cluster, shell
        self._forwarded = False

    def run(self, command: Command) -> str:
        if not self._forwarded:
            self._forwarded = self._forward()
        return self._shell.run(command)

    def _forward(self) -> bool:
        try:
            self._cluster.proxy()
        except ApiError:
            return False
        return True


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_print_what_the_page_shows(page: Path, cluster: Cluster, shell: Shell) -> None:
    terminal = Terminal(cluster, shell)
    for block in blocks(page):
        if block.language == "console" and block.needs == CONTROL_PLANE:
            for command in commands(block.text):
                output = terminal.run(command)
                assert not differs(command, output), (
                    f"{name(page)}:{block.line}: $ {command.text}\nprints\n{output}\n"
                    f"not\n{command.expected}"
                )
