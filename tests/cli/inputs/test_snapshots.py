from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.audit import world
from webhook.audit.snapshot import Snapshot, write_snapshot
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import FactsSources
from webhook.cli.inputs.manifests import InputFiles, Inputs
from webhook.cli.inputs.snapshots import MOST_NAMESPACES, list_cluster, read_context, read_snapshot
from webhook.config.configuration import Configuration

SERVER = ServerOptions(kubeconfig="kubeconfig")
LIVE = FactsSources(live=SERVER)

EXCEPTION = {
    "apiVersion": "evenspread.io/v1alpha1",
    "kind": "SpreadPolicyException",
    "metadata": {"name": "legacy", "namespace": "shop"},
    "spec": {"rules": ["TSC110"], "reason": "one zone"},
}


def collect(inputs: Inputs, *facts: str, saved: str = "") -> Snapshot:
    return read_snapshot(inputs, FactsSources(paths=facts), Configuration(), saved=saved)


def audited(snapshot: Snapshot) -> list[str]:
    return [str(item.subject) for item in snapshot.workloads if item.requested]


@pytest.fixture
def manifests(folder: Path) -> Path:
    (folder / "all.yaml").write_text(world.LIVE)
    (folder / "web.yaml").write_text(world.DEPLOYMENT)
    return folder


@pytest.mark.usefixtures("manifests")
def test_manifests_are_collected() -> None:
    snapshot = collect(Inputs(["all.yaml"]))

    assert (len(snapshot.nodes), len(snapshot.pods)) == (3, 4)


def test_files_of_facts_add_facts_and_their_problems(manifests: Path) -> None:
    (manifests / "cluster.yaml").write_text(f"{world.NODES}---\n{{\n")
    inputs = Inputs(["web.yaml"])

    snapshot = collect(inputs, "cluster.yaml")

    assert len(snapshot.nodes) == 3
    assert [problem.source for problem in inputs.problems] == ["cluster.yaml"]


@pytest.mark.usefixtures("manifests")
def test_a_saved_snapshot_is_loaded() -> None:
    write_snapshot(collect(Inputs(["all.yaml"])), "all.gz")

    saved, facts = collect(Inputs([]), saved="all.gz"), collect(Inputs([]), "all.gz")

    assert (len(saved.nodes), len(saved.pods)) == (3, 4)
    assert audited(saved) == audited(facts)
    assert saved.pods == facts.pods


@pytest.mark.usefixtures("manifests")
def test_only_objects_of_files_are_audited_if_there_are_files() -> None:
    beside, alone = collect(Inputs(["web.yaml"]), "all.yaml"), collect(Inputs([]), "all.yaml")

    assert audited(beside) == ["Deployment/web"]
    assert len(beside.neighbours) == 4
    assert audited(alone) == ["Deployment/web", "ReplicaSet/web-1", "StatefulSet/db"]


@pytest.mark.parametrize("namespace", ["", "shop", "ops"])
def test_a_cluster_is_listed(namespace: str, api: ApiServer) -> None:
    api.add(*filter(None, yaml.safe_load_all(world.LIVE)))
    api.page_size = 1
    inputs = Inputs([])

    snapshot = read_snapshot(inputs, LIVE, Configuration(), namespace=namespace)

    assert len(snapshot.nodes) == 3
    assert bool(snapshot.pods) is (namespace != "ops")
    assert inputs.problems == []


# namespaces of the manifests, namespaces whose pods are listed
LISTED: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "one": (["shop"], ["/api/v1/namespaces/shop/pods"]),
    "too many": ([f"n{i}" for i in range(MOST_NAMESPACES + 1)], ["/api/v1/pods"]),
}


@pytest.mark.parametrize(("namespaces", "paths"), LISTED.values(), ids=LISTED.keys())
def test_namespaces_of_the_manifests_are_listed(
    namespaces: Sequence[str], paths: Sequence[str], api: ApiServer, folder: Path
) -> None:
    text = "".join(world.DEPLOYMENT.replace(": shop", f": {name}") for name in namespaces)
    (folder / "web.yaml").write_text(text)

    read_snapshot(Inputs(["web.yaml"]), LIVE, Configuration())

    assert [path for path in api.paths if path.endswith("/pods")] == paths


def test_kinds_that_cannot_be_listed_are_problems(api: ApiServer) -> None:
    api.answers["GET /api/v1/nodes"] = refuse("nodes is forbidden")
    inputs = Inputs([])

    list_cluster(inputs, Configuration(), SERVER)

    assert ["nodes is forbidden" in str(problem) for problem in inputs.problems] == [True]


def test_exceptions_that_may_not_be_listed_do_not_count(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "GET /apis/evenspread.io/v1alpha1/spreadpolicyexceptions"
    api.add(EXCEPTION)
    api.answers[path] = refuse("exceptions are forbidden")
    inputs = Inputs([])

    list_cluster(inputs, Configuration(), SERVER)

    assert inputs.problems == []
    assert "SpreadPolicyExceptions of the cluster do not count" in capsys.readouterr().err


def test_the_context_of_files_is_not_audited(manifests: Path) -> None:
    (manifests / "wrong.yaml").write_text(world.DEPLOYMENT.replace("maxSkew: 1", "maxSkew: x"))
    files = InputFiles(["web.yaml"], strict=False)
    sources = FactsSources(paths=("all.yaml", "wrong.yaml"))

    context = read_context(files, sources, Configuration(), "default")

    assert audited(context) == []
    assert len(context.neighbours) == 4
    assert [problem.source for problem in files.problems] == ["wrong.yaml"]
