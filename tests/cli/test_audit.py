import gc
from pathlib import Path

import msgspec
import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.audit import world
from tests.cli.conftest import Run
from webhook.audit.renderers import AUDIT_FORMATS
from webhook.audit.snapshot import Snapshot, write_snapshot
from webhook.cli.audit import (
    list_cluster,
    pause_garbage_collection,
    progress_bar,
    read_snapshot,
)
from webhook.cli.inputs.manifests import Inputs
from webhook.config import Configuration
from webhook.errors import ConfigError


@pytest.fixture
def manifests(folder: Path) -> Path:
    (folder / "all.yaml").write_text(world.EVERYTHING)
    return folder


FAIL_ON = {
    "deny": ("deny", world.LIVE, 0),
    "deny, and something is": ("deny", world.EVERYTHING, 1),
    "warn": ("warn", world.LIVE, 0),
    "audit": ("audit", world.LIVE, 1),
    "never": ("never", world.EVERYTHING, 0),
}


@pytest.mark.parametrize(("fail_on", "text", "code"), FAIL_ON.values(), ids=FAIL_ON.keys())
def test_findings_make_the_exit_code(
    fail_on: str, text: str, code: int, folder: Path, run: Run
) -> None:
    (folder / "all.yaml").write_text(text)

    assert run("audit", "-f", "all.yaml", "--fail-on", fail_on).code == code


def test_an_unreadable_file_is_reported_and_takes_precedence_over_findings(
    manifests: Path, run: Run
) -> None:
    (manifests / "broken.yaml").write_text("{")

    ran = run("audit", "-f", ".")

    assert ran.code == 3
    assert ran.err.startswith("error: broken.yaml:1: ")
    assert "Deployment shop/web" in ran.out


def test_one_run_writes_several_outputs(manifests: Path, run: Run) -> None:
    ran = run("audit", "-f", "all.yaml", "-o", "table", "-o", "sarif=a.sarif", "-o", "html=a.html")

    assert ran.out.startswith("Pod ops/lone")
    assert msgspec.json.decode((manifests / "a.sarif").read_bytes())["version"] == "2.1.0"
    assert (manifests / "a.html").read_text().startswith("<!doctype html>")


def test_a_snapshot_gives_the_same_bytes_as_the_files_in_every_format(
    manifests: Path, run: Run
) -> None:
    def outputs(folder: str) -> list[str]:
        (manifests / folder).mkdir()
        return [word for name in AUDIT_FORMATS for word in ("-o", f"{name}={folder}/{name}")]

    def written(folder: str) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (manifests / folder).iterdir()}

    run("audit", "-f", "all.yaml", "--save-snapshot", "all.gz", *outputs("files"))
    run("audit", "-f", "all.yaml", "--save-snapshot", "again.gz", *outputs("again"))
    run("audit", "--snapshot", "all.gz", *outputs("snapshot"))

    assert written("files").keys() == set(AUDIT_FORMATS)
    assert all(b"shop" in data for data in written("files").values())
    assert written("again") == written("files")
    assert written("snapshot") == written("files")
    assert (manifests / "all.gz").read_bytes() == (manifests / "again.gz").read_bytes()


def test_findings_of_the_baseline_are_left_out(manifests: Path, run: Run) -> None:
    run("audit", "-f", "all.yaml", "-o", "json=old.json")
    (manifests / "new.yaml").write_text(world.BARE.replace("name: db", "name: cache"))

    ran = run("audit", "-f", ".", "--since-baseline", "old.json", "--fail-on", "audit")

    assert ran.code == 1
    assert "StatefulSet shop/cache" in ran.out
    assert "StatefulSet shop/db" not in ran.out
    assert "1 audit, 3 known from the baseline" in ran.out


def test_rules_and_namespace_narrow_the_audit(manifests: Path, run: Run) -> None:
    ran = run("audit", "-f", "all.yaml", "--rules", "tsc001, TSC110".upper(), "-n", "shop")

    assert (ran.code, "TSC110" in ran.out, "TSC001" in ran.out) == (0, True, False)


def test_objects_of_the_cluster_are_context_only(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(world.DEPLOYMENT)
    (folder / "cluster.yaml").write_text(
        world.NODES + world.REPLICA_SET + world.RUNNING + world.BARE
    )

    ran = run("audit", "-f", "web.yaml", "--cluster", "cluster.yaml")

    assert "TSC114" in ran.out
    assert "StatefulSet" not in ran.out


def test_manifests_are_read_from_the_standard_input(run: Run) -> None:
    assert run("audit", "-f", "-", stdin=world.REFUSED.encode()).code == 1


INVALID = {
    "two outputs to stdout": (["-f", ".", "-o", "json", "-o", "html"], "only one format fits"),
    "no name of a file": (["-f", ".", "-o", "html="], "'html=' names no file: write html=FILE"),
    "no such format": (
        ["-f", ".", "-o", "pdf"],
        "'pdf' is not an output format: use one of table, json",
    ),
    "no such rule": (["-f", ".", "--rules", "TSC999"], "'TSC999' is not a rule: use some of"),
    "snapshot and files": (
        ["-f", ".", "--snapshot", "x"],
        "--snapshot: already contains manifests and cluster",
    ),
    "one namespace and all": (["-f", ".", "-n", "a", "-A"], "use -n or -A, not both"),
    "a cluster of files, and nothing to audit": (["--cluster", "."], "--cluster: requires -f"),
}


@pytest.mark.parametrize(("args", "message"), INVALID.values(), ids=INVALID.keys())
def test_usage_errors(args: list[str], message: str, manifests: Path, run: Run) -> None:
    ran = run("audit", *args)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


MISSING = {
    "a snapshot": ["--snapshot", "none"],
    "a baseline": ["-f", ".", "--since-baseline", "none"],
    "a folder to write to": ["-f", ".", "-o", "html=none/a.html"],
    "a kubeconfig": ["--kubeconfig", "none"],
}


@pytest.mark.parametrize("args", MISSING.values(), ids=MISSING.keys())
def test_a_missing_file_leaves_the_work_unfinished(
    args: list[str], manifests: Path, run: Run
) -> None:
    ran = run("audit", *args)

    assert ran.code == 3
    assert ran.err.startswith("error: ")


def test_garbage_collection_is_off_during_an_audit_and_on_afterwards() -> None:
    with pause_garbage_collection():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_garbage_collection_is_on_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="wrong"), pause_garbage_collection():
        raise ValueError("wrong")

    assert gc.isenabled()


def test_garbage_collection_stays_off_if_it_was_off() -> None:
    with pause_garbage_collection():
        with pause_garbage_collection():
            pass
        assert not gc.isenabled()


def collect(inputs: Inputs, cluster: str = "", snapshot: str = "") -> Snapshot:
    return read_snapshot(inputs, cluster, snapshot, Configuration())


@pytest.fixture
def live(folder: Path) -> str:
    (folder / "all.yaml").write_text(world.LIVE)
    return "all.yaml"


def test_manifests_are_collected(live: str) -> None:
    snapshot = collect(Inputs([live]))

    assert (len(snapshot.nodes), len(snapshot.pods)) == (3, 4)


def test_a_cluster_of_files_adds_facts_and_its_problems(live: str, folder: Path) -> None:
    (folder / "cluster.yaml").write_text(f"{world.NODES}---\n{{\n")
    (folder / "web.yaml").write_text(world.DEPLOYMENT)
    inputs = Inputs(["web.yaml"])

    snapshot = collect(inputs, "cluster.yaml")

    assert len(snapshot.nodes) == 3
    assert [problem.source for problem in inputs.problems] == ["cluster.yaml"]


def test_a_saved_snapshot_is_loaded(live: str) -> None:
    write_snapshot(collect(Inputs([live])), "all.gz")

    snapshot = collect(Inputs([]), snapshot="all.gz")

    assert (len(snapshot.nodes), len(snapshot.pods)) == (3, 4)


@pytest.mark.parametrize("namespace", ["", "shop", "ops"])
def test_a_cluster_is_listed(namespace: str, api: ApiServer, folder: Path) -> None:
    api.add(*filter(None, yaml.safe_load_all(world.LIVE)))
    api.page_size = 1
    inputs = Inputs([])

    snapshot = list_cluster(inputs, Configuration(), "kubeconfig", "", namespace)

    assert len(snapshot.nodes) == 3
    assert bool(snapshot.pods) is (namespace != "ops")
    assert inputs.problems == []


def test_kinds_that_cannot_be_listed_are_problems(api: ApiServer) -> None:
    api.answers["GET /api/v1/nodes"] = refuse("nodes is forbidden")
    inputs = Inputs([])

    list_cluster(inputs, Configuration(), "kubeconfig", "", "")

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
