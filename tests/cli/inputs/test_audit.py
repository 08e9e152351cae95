from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.audit import world
from webhook.audit.snapshot import Snapshot, write_snapshot
from webhook.cli.inputs.audit import ClusterScope, collect_snapshot, progress_bar
from webhook.cli.inputs.manifests import Inputs
from webhook.config import Configuration
from webhook.errors import ConfigError

ALL = ClusterScope("kubeconfig", "", "")


def collect(
    inputs: Inputs, cluster: str = "", snapshot: str = "", scope: ClusterScope = ALL
) -> Snapshot:
    return collect_snapshot(inputs, cluster, snapshot, Configuration(), scope)


@pytest.fixture
def manifests(folder: Path) -> str:
    (folder / "all.yaml").write_text(world.LIVE)
    return "all.yaml"


def test_manifests_are_collected(manifests: str) -> None:
    snapshot = collect(Inputs([manifests]))

    assert (len(snapshot.nodes), len(snapshot.pods)) == (3, 4)


def test_a_cluster_of_files_adds_facts_and_its_problems(manifests: str, folder: Path) -> None:
    (folder / "cluster.yaml").write_text(f"{world.NODES}---\n{{\n")
    (folder / "web.yaml").write_text(world.DEPLOYMENT)
    inputs = Inputs(["web.yaml"])

    snapshot = collect(inputs, "cluster.yaml")

    assert len(snapshot.nodes) == 3
    assert [problem.source for problem in inputs.problems] == ["cluster.yaml"]


def test_a_saved_snapshot_is_loaded(manifests: str) -> None:
    write_snapshot(collect(Inputs([manifests])), "all.gz")

    snapshot = collect(Inputs([]), snapshot="all.gz")

    assert (len(snapshot.nodes), len(snapshot.pods)) == (3, 4)


@pytest.mark.parametrize("namespace", ["", "shop", "ops"])
def test_a_cluster_is_listed(namespace: str, api: ApiServer, folder: Path) -> None:
    api.add(*filter(None, yaml.safe_load_all(world.LIVE)))
    api.page_size = 1
    inputs = Inputs([])

    snapshot = collect(inputs, scope=ClusterScope("kubeconfig", "", namespace))

    assert len(snapshot.nodes) == 3
    assert bool(snapshot.pods) is (namespace != "ops")
    assert inputs.problems == []


def test_kinds_that_cannot_be_listed_are_problems(api: ApiServer) -> None:
    api.answers["GET /api/v1/nodes"] = refuse("nodes is forbidden")
    inputs = Inputs([])

    collect(inputs)

    assert ["nodes is forbidden" in str(problem) for problem in inputs.problems] == [True]


CONFLICTS = {
    "a snapshot and manifests": ("all.yaml", "", "all.gz", "already contains manifests"),
    "a snapshot and a cluster": ("", "all.yaml", "all.gz", "already contains manifests"),
    "a cluster of files without manifests": ("", "all.yaml", "", "requires -f"),
}


@pytest.mark.parametrize(
    ("path", "cluster", "snapshot", "message"), CONFLICTS.values(), ids=CONFLICTS.keys()
)
def test_sources_that_exclude_each_other_are_errors(
    path: str, cluster: str, snapshot: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        collect(Inputs(filter(None, [path])), cluster, snapshot)


def test_without_a_terminal_there_is_no_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as bar:
        assert list(bar.track([1, 2])) == [1, 2]

    assert capsys.readouterr().err == ""
