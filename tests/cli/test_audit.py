import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.audit import world
from tests.cli.conftest import Run
from webhook.audit.renderers import AUDIT_FORMATS


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


def test_an_audit_and_a_saved_report_are_compared_with_an_earlier_one(
    manifests: Path, run: Run
) -> None:
    run("audit", "-f", "all.yaml", "-o", "json=old.json", "--fail-on", "never")

    audited = run("audit", "-f", "all.yaml", "--since", "old.json", "--fail-on", "audit")
    saved = run("audit", "--since", "old.json", "--report", "old.json", "--fail-on", "audit")

    assert (audited.code, saved.code) == (0, 0)
    assert audited.out == saved.out
    assert audited.out.startswith("0 new findings")


def test_a_snapshot_gives_the_same_bytes_as_the_files_in_every_format(
    manifests: Path, run: Run
) -> None:
    def outputs(folder: str) -> list[str]:
        (manifests / folder).mkdir()
        return [word for name in AUDIT_FORMATS for word in ("-o", f"{name}={folder}/{name}")]

    def written(folder: str) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (manifests / folder).iterdir()}

    def without_fixes(data: bytes) -> Any:
        (log,) = json.loads(data)["runs"]
        return [{**result, "fixes": None} for result in log["results"]]

    run("audit", "-f", "all.yaml", "--save-snapshot", "all.gz", *outputs("files"))
    run("audit", "-f", "all.yaml", "--save-snapshot", "again.gz", *outputs("again"))
    run("audit", "--snapshot", "all.gz", *outputs("snapshot"))

    assert written("files").keys() == set(AUDIT_FORMATS)
    named = {name: data for name, data in written("files").items() if name != "name"}
    assert all(b"shop" in data for data in named.values())
    assert written("again") == written("files")
    snapshot, files_ = written("snapshot"), written("files")
    sarifs = snapshot.pop("sarif"), files_.pop("sarif")
    assert snapshot == files_
    assert without_fixes(sarifs[0]) == without_fixes(sarifs[1])  # a snapshot has no texts to edit
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
    ran = run("audit", "-f", "all.yaml", "--rules", "tsc001, TSC11*", "-n", "shop")

    assert (ran.code, "TSC110" in ran.out, "TSC001" in ran.out) == (0, True, False)


def test_objects_of_the_cluster_are_context_only(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(world.DEPLOYMENT)
    (folder / "cluster.yaml").write_text(
        world.NODES + world.REPLICA_SET + world.RUNNING + world.BARE
    )

    ran = run("audit", "-f", "web.yaml", "--facts", "cluster.yaml")

    assert "TSC114" in ran.out
    assert "StatefulSet" not in ran.out


@pytest.mark.parametrize("option", ["--snapshot", "--facts"])
def test_a_snapshot_is_the_cluster_around_manifests(option: str, folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(world.DEPLOYMENT)
    (folder / "cluster.yaml").write_text(
        world.NODES + world.REPLICA_SET + world.RUNNING + world.BARE
    )
    run("audit", "-f", "cluster.yaml", "--save-snapshot", "cluster.gz")

    ran = run("audit", "-f", "web.yaml", option, "cluster.gz")

    assert "TSC114" in ran.out
    assert "StatefulSet" not in ran.out


def test_without_manifests_the_objects_of_all_facts_are_audited(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(world.LIVE)
    (folder / "other.yaml").write_text(world.BARE.replace("name: db", "name: cache"))

    ran = run("audit", "--facts", "web.yaml", "--facts", "other.yaml")

    assert [name in ran.out for name in ("Deployment shop/web", "shop/db", "shop/cache")] == [
        True,
        True,
        True,
    ]


def test_a_live_cluster_beside_manifests_counts_pods(
    folder: Path, run: Run, api: ApiServer
) -> None:
    (folder / "web.yaml").write_text(world.DEPLOYMENT)
    api.add(*filter(None, yaml.safe_load_all(world.LIVE)))

    ran = run("audit", "-f", "web.yaml", "--kubeconfig", "kubeconfig")

    assert (ran.code, ran.err) == (0, "")
    assert "TSC114" in ran.out
    assert "StatefulSet" not in ran.out


def test_manifests_are_read_from_the_standard_input(run: Run) -> None:
    assert run("audit", "-f", "-", stdin=world.REFUSED.encode()).code == 1


INVALID = {
    "two outputs to stdout": (["-f", ".", "-o", "json", "-o", "html"], "only one format fits"),
    "no name of a file": (["-f", ".", "-o", "html="], "'html=' names no file: write html=FILE"),
    "no such format": (
        ["-f", ".", "-o", "pdf"],
        "'pdf' is not an output format: use one of table, wide",
    ),
    "no such rule": (["-f", ".", "--rules", "TSC999"], "'TSC999' is not a rule: use some of"),
    "one namespace and all": (["-f", ".", "-n", "a", "-A"], "use -n or -A, not both"),
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


# options, stdin, the place that the warning names
EMPTY: dict[str, tuple[list[str], str]] = {
    "standard input": (["-f", "-"], "stdin"),
    "a folder": (["-f", "empty"], "empty"),
    "other objects": (["-f", "node.yaml"], "node.yaml"),
    "a namespace of files": (["-f", "all.yaml", "-n", "net"], "namespace net of all.yaml"),
    "facts": (["--facts", "node.yaml"], "node.yaml"),
    "a live cluster": (["--kubeconfig", "kubeconfig"], "the cluster"),
    "a live namespace": (
        ["--kubeconfig", "kubeconfig", "-n", "net"],
        "namespace net of the cluster",
    ),
}


@pytest.fixture
def empty(manifests: Path, api: ApiServer) -> None:
    """A namespace net without workloads, in files and in the cluster."""
    net = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "net"}}
    api.add(net)
    (manifests / "empty").mkdir()
    (manifests / "node.yaml").write_text(world.NODES)
    (manifests / "all.yaml").write_text(f"{world.EVERYTHING}---\n{net}\n")


@pytest.mark.parametrize(("args", "place"), EMPTY.values(), ids=EMPTY.keys())
@pytest.mark.usefixtures("empty")
def test_nothing_to_audit_is_a_warning_and_with_strict_an_error(
    args: list[str], place: str, run: Run
) -> None:
    warned, failed = run("audit", *args), run("audit", *args, "--strict")

    assert (warned.code, failed.code) == (0, 3)
    assert f"warning: {place}: contains no object with a pod template\n" in warned.err
    assert failed.err.startswith("error: ")


@pytest.mark.parametrize("args", [["-f", "all.yaml"], ["--kubeconfig", "kubeconfig"]])
@pytest.mark.usefixtures("empty")
def test_an_absent_namespace_is_an_error(args: list[str], run: Run) -> None:
    ran = run("audit", *args, "-n", "nett")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: -n: there is no namespace 'nett': did you mean net?\n"


def test_a_namespace_that_may_not_be_listed_may_exist(run: Run, api: ApiServer) -> None:
    api.answers["GET /api/v1/namespaces"] = refuse("namespaces is forbidden")

    ran = run("audit", "--kubeconfig", "kubeconfig", "-n", "shop")

    assert ran.code == 3
    assert "namespaces is forbidden" in ran.err
    assert "there is no namespace" not in ran.err


WRONG_TYPE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, namespace: shop, labels: {tier: data, size: 5}}
spec: {template: {spec: {topologySpreadConstraints: [{maxSkew: "1"}]}}}
"""
LABELLED = world.BARE.replace("name: db", "name: cache\n  labels: {tier: data}", 1)


def test_labels_narrow_the_audit_and_other_objects_still_count(manifests: Path, run: Run) -> None:
    (manifests / "cache.yaml").write_text(LABELLED)

    ran = run("audit", "-f", ".", "-l", "tier in (data, web),!canary")
    none = run("audit", "-f", ".", "-l", "tier=web")

    assert "StatefulSet shop/cache" in ran.out
    assert "1 workload, 0 pods, 3 nodes" in ran.out
    assert none.err.startswith("warning: .: contains no object with a pod template")


def test_labels_narrow_the_audit_of_objects_that_no_rule_can_judge(
    manifests: Path, run: Run
) -> None:
    (manifests / "cache.yaml").write_text(WRONG_TYPE)
    run("audit", "-f", "cache.yaml", "--save-snapshot", "all.gz")

    for source in ("-f", "cache.yaml"), ("--snapshot", "all.gz"):
        ran = run("audit", *source, "-l", "tier=data")
        others = run("audit", *source, "-l", "tier=web")

        assert (ran.code, others.code) == (1, 0)
        assert "FieldValueTypeInvalid" in ran.out
        assert others.out == "0 workloads, 0 pods, 0 nodes: 0 deny, 0 warn, 0 audit\n"


def test_a_snapshot_is_audited_instead_of_the_project(manifests: Path, run: Run) -> None:
    run("audit", "-f", "all.yaml", "--save-snapshot", "all.gz", "--fail-on", "never")
    (manifests / "all.yaml").write_text(world.BARE)
    (manifests / ".evenspread.yaml").write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadProject\npaths: [all.yaml]\n"
    )

    own, saved = run("audit"), run("audit", "--snapshot", "all.gz", "--fail-on", "never")

    assert "Pod ops/lone" not in own.out
    assert "Pod ops/lone" in saved.out


def test_a_named_rule_that_is_off_is_a_warning(manifests: Path, run: Run) -> None:
    (manifests / "off.yaml").write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
        "rules: {TSC112: 'off', TSC113: 'off'}\n"
    )
    audit = ("audit", "-f", "all.yaml", "--config", "off.yaml", "--fail-on", "never")
    warning = "warning: --rules: TSC112 is off in the configuration or project file\n"

    assert run(*audit, "--rules", "tsc112").err == warning
    assert run(*audit, "--rules", "TSC11*").err == ""
    assert run(*audit, "--rules", "TSC112", "--exclude-rules", "TSC112").err == ""


@pytest.mark.parametrize("is_live", [False, True])
def test_an_unknown_pod_template_is_noted(
    folder: Path, run: Run, api: ApiServer, *, is_live: bool
) -> None:
    (folder / "rollout.yaml").write_text(world.REFERRING)
    api.add(*filter(None, yaml.safe_load_all(world.REFERRING)))
    source = ("--kubeconfig", "kubeconfig") if is_live else ("-f", "rollout.yaml")

    ran, other = run("audit", *source), run("audit", *source, "-n", "default")

    place = "" if is_live else "rollout.yaml:2: "
    note = f"note: {place}Rollout shop/web: its pod template is in Deployment/template"
    assert note in ran.err
    assert "its pod template" not in other.err


EXCEPTION = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: %s, namespace: shop}
spec: {rules: [TSC110, TSC114], reason: one zone, expires: '%d-01-01T00:00:00Z'}
"""


@pytest.mark.parametrize(("year", "code", "term"), [(2020, 1, "expired"), (9000, 0, "until")])
def test_an_exception_in_a_file_exempts_until_it_expires(
    manifests: Path, run: Run, year: int, code: int, term: str
) -> None:
    (manifests / "exception.yaml").write_text(EXCEPTION % ("legacy", year))
    audit = ("audit", "-f", ".", "-n", "shop", "--fail-on", "audit", "--rules", "TSC110,TSC114")

    ran = run(*audit)

    assert ran.code == code
    assert f"SpreadPolicyException shop/legacy  {term} {year}-01-01T00:00:00Z" in ran.out
