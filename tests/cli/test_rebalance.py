"""``evenspread rebalance``: plans from files and from a live cluster."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.conftest import Run
from tests.cli.evictions import EvictingServer
from tests.cluster.scheduling.unevenshop import NODES, Json, budget, uneven_pods, web_pod

CLUSTER = ("--kubeconfig", "kubeconfig")


@pytest.fixture
def uneven(folder: Path) -> Path:
    """A folder with cluster.yaml, in which the Deployments web and api are uneven."""
    write(folder, *NODES, *uneven_pods(), *uneven_pods("api", "other"))
    return folder


def write(folder: Path, *objects: Any) -> None:
    (folder / "cluster.yaml").write_text(yaml.safe_dump_all(objects))


def evictions(run: Run, *arguments: str) -> list[str]:
    (document,) = run("rebalance", *arguments, "-o", "json").documents
    return [f"{step['namespace']}/{step['pod']}" for step in document["evictions"]]


@pytest.mark.usefixtures("uneven")
def test_the_scope_of_a_plan(run: Run) -> None:
    both = ["other/api-0", "shop/web-0"]

    for source in ("-f", "--facts"):
        assert sorted(evictions(run, source, "cluster.yaml")) == both
    assert sorted(evictions(run, "-f", "cluster.yaml", "-A")) == both
    assert evictions(run, "-f", "cluster.yaml", "-n", "shop") == ["shop/web-0"]
    assert evictions(run, "deploy/api", "-f", "cluster.yaml", "-n", "other") == ["other/api-0"]


@pytest.mark.usefixtures("uneven")
def test_the_formats(run: Run) -> None:
    table = run("rebalance", "-f", "cluster.yaml", "-n", "shop")
    script = run("rebalance", "-f", "cluster.yaml", "-n", "shop", "-o", "script")
    document = run("rebalance", "-f", "cluster.yaml", "-n", "shop", "-o", "yaml")

    assert (table.code, table.err) == (0, "")
    assert table.out.endswith("1 eviction; no plan needs fewer\n")
    assert "\nevict shop web-0 uid-web-0\n" in script.out
    assert yaml.safe_load(document.out)["least"] == 1


def test_a_constraint_that_cannot_be_restored_is_a_finding(folder: Path, run: Run) -> None:
    write(folder, *NODES, *uneven_pods(), budget(maxUnavailable=0))

    ran = run("rebalance", "-f", "cluster.yaml")

    assert ran.code == 1
    assert "not evicted, a PodDisruptionBudget allows no disruption (web): 5 pods" in ran.out


SELECTING = {
    "topologyKey": "topology.kubernetes.io/zone",
    "labelSelector": {"matchLabels": {"app": "db"}},
}

# the selector of namespaces of all pods, whose pod db runs in zone c; exit code, last line
SELECTORS: dict[str, tuple[dict[str, str], int, str]] = {
    "by the name": ({"kubernetes.io/metadata.name": "ops"}, 1, ""),
    "by another label": ({"team": "x"}, 3, "error: Namespaces ops: their labels decide"),
}


@pytest.mark.parametrize(("labels", "code", "problem"), SELECTORS.values(), ids=SELECTORS.keys())
def test_namespaces_without_an_object_have_their_name(
    labels: dict[str, str], code: int, problem: str, folder: Path, run: Run
) -> None:
    term = {**SELECTING, "namespaceSelector": {"matchLabels": labels}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods = uneven_pods()
    for pod in pods:
        pod["spec"]["affinity"] = affinity
    database = [web_pod(f"db-{node}", node, namespace="ops", app="db") for node in ("b1", "c1")]
    write(folder, *NODES, *pods, *database)

    ran = run("rebalance", "deploy/web", "-n", "shop", "-f", "cluster.yaml")

    assert (ran.code, problem in ran.err) == (code, True)


@pytest.mark.usefixtures("uneven")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("deploy/web", "-A"), "within one namespace"),
        (("-n", "shop", "-A"), "use -n or -A"),
        (("-n", "sop"), "there is no namespace 'sop'"),
        (("--live",), "plans for one cluster"),
        (("web-0",), "names no kind"),
        (("--yes",), "--yes: requires --apply"),
        (("--wave", "2"), "--wave: requires --apply"),
        (("--timeout", "2m"), "--timeout: requires --apply"),
    ],
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...], problem: str) -> None:
    ran = run("rebalance", "-f", "cluster.yaml", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err


@pytest.mark.usefixtures("uneven")
def test_a_workload_without_pods_is_an_error(run: Run) -> None:
    ran = run("rebalance", "deploy/db", "-n", "shop", "-f", "cluster.yaml")

    problem = "has no pods: workloads with pods are Deployment/web"
    assert (ran.code, ran.err) == (3, f"error: Deployment/db in namespace shop: {problem}\n")


@pytest.mark.usefixtures("uneven")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "more.yaml: cannot be read: No such file or directory"),
        ("a: b: c", "more.yaml:1: invalid YAML: mapping values are not allowed in this context"),
        (
            yaml.safe_dump(budget(minAvailable=[1])),
            "more.yaml:7: PodDisruptionBudget/web: spec.minAvailable: ",
        ),
    ],
    ids=["missing", "YAML", "PodDisruptionBudget"],
)
def test_nothing_is_proven_without_all_files(
    run: Run, folder: Path, text: str | None, problem: str
) -> None:
    if text is not None:
        (folder / "more.yaml").write_text(text)
    arguments = ("rebalance", "-n", "shop", "-f", "cluster.yaml", "-f", "more.yaml")

    table, script, document = (run(*arguments, "-o", one) for one in ("table", "script", "json"))

    assert (table.code, script.code, document.code) == (3, 3, 3)
    assert problem in table.err
    assert table.out.endswith(
        "1 eviction; not all objects were read, so this may be too few or too many\n"
    )
    assert script.out == ""
    assert [document.documents[0][key] for key in ("certain", "least")] == [False, 0]
    assert problem in document.documents[0]["unknown"][0]


@pytest.mark.usefixtures("uneven")
@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minAvailable": "foo%"}, "minAvailable is 'foo%'"),
        ({"minAvailable": "50"}, "minAvailable is '50'"),
        ({"maxUnavailable": -1}, "maxUnavailable is -1"),
        ({"maxUnavailable": "33.3%"}, "maxUnavailable is '33.3%'"),
    ],
)
def test_a_bad_number_of_a_budget_is_an_error(
    run: Run, folder: Path, spec: Json, problem: str
) -> None:
    (folder / "more.yaml").write_text(yaml.safe_dump(budget(**spec)))

    ran = run("rebalance", "-n", "shop", "-f", "cluster.yaml", "-f", "more.yaml")

    advice = 'write a number of pods, such as 1, or a percentage, such as "50%"'
    where = "more.yaml:6: PodDisruptionBudget/web: spec"
    assert (ran.code, ran.err) == (3, f"error: {where}: {problem}: {advice}\n")


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        (NODES[:0], "there are no Nodes: add them with --facts"),
        (NODES[:1], "pods run on b1, c1: not among the Nodes: add them with --facts"),
        (NODES[:2], "pods run on c1: not among the Nodes: add them with --facts"),
    ],
    ids=["none", "one", "two"],
)
def test_missing_nodes_are_an_error(
    folder: Path, run: Run, nodes: list[Json], problem: str
) -> None:
    done = web_pod("done", "z9") | {"status": {"phase": "Succeeded"}}
    write(folder, *nodes, *uneven_pods(), web_pod("pending", ""), done)

    ran = run("rebalance", "-f", "cluster.yaml")

    assert (ran.code, ran.err) == (3, f"error: {problem}\n")
    assert ran.out.endswith("not all objects were read, so this may be too few or too many\n")


@pytest.mark.usefixtures("uneven")
def test_a_snapshot_lacks_what_only_a_plan_reads(run: Run) -> None:
    run("audit", "-f", "cluster.yaml", "--save-snapshot", "cluster.gz", "--fail-on", "never")

    ran = run("rebalance", "--facts", "cluster.gz", "-n", "shop", "-o", "json")

    assert [step["pod"] for step in ran.documents[0]["evictions"]] == ["web-0"]
    assert ran.err.startswith("warning: cluster.gz: is a snapshot without resources")


def test_the_live_cluster_is_read(api: ApiServer, run: Run) -> None:
    api.add(*NODES, *uneven_pods(), *uneven_pods("api", "other"))
    budgets = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets"
    api.answers[f"GET {budgets}"] = refuse("no")

    ran = run("rebalance", *CLUSTER, "-n", "shop", "-o", "json")

    (document,) = ran.documents
    unknown = "PodDisruptionBudgets in namespace shop: answered 403: no"
    assert ran.code == 0
    assert [step["pod"] for step in document["evictions"]] == ["web-0"]
    assert (document["unknown"], document["certain"]) == ([unknown], False)
    assert ran.err == f"warning: not considered: {unknown}\n"
    assert api.writes == []


def test_a_namespace_of_the_live_cluster_must_exist(api: ApiServer, run: Run) -> None:
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    api.add(*NODES, *uneven_pods(), shop)

    ran = run("rebalance", *CLUSTER, "-n", "sop")

    assert (ran.code, ran.out) == (2, "")
    assert "there is no namespace 'sop'" in ran.err


def test_a_cluster_that_cannot_be_read_is_an_error(api: ApiServer, run: Run) -> None:
    api.answers["GET /api/v1/nodes"] = refuse("no")

    assert run("rebalance", *CLUSTER).code == 3


def test_a_plan_is_carried_out(api: ApiServer, run: Run) -> None:
    api.add(*NODES, *uneven_pods())
    evicting = EvictingServer(api, "b1")

    ran = run("rebalance", *CLUSTER, "deploy/web", "-n", "shop", "--apply", "--yes")

    assert (ran.code, evicting.evicted) == (0, ["web-0"])


def test_nothing_is_asked_without_evictions(api: ApiServer, run: Run) -> None:
    api.add(*NODES, *uneven_pods(), budget(maxUnavailable=0))

    apply = ("rebalance", *CLUSTER, "-n", "shop", "--apply")
    table, document = run(*apply), run(*apply, "-o", "json")

    assert (table.code, document.code) == (1, 1)
    assert document.documents[0]["evicted"] == []
    assert api.writes == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("-n", "shop", "-f", "x.yaml"), "changes the live cluster"),
        (("--live",), "requires KIND/NAME, -n NAME, or -A"),
        (("--live", "-A", "-o", "script"), "leave out -o script"),
        (("-A", "--timeout", "x", "--live"), "--timeout: 'x' is not a duration"),
    ],
)
def test_apply_changes_a_part_of_the_live_cluster(
    run: Run, arguments: tuple[str, ...], problem: str
) -> None:
    ran = run("rebalance", "--apply", *arguments)

    assert ran.code == 2
    assert problem in ran.err


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "uid": "web", "generation": 2},
    "spec": {"replicas": 5},
}
ROLLOUT = (
    "error: stopped, since a rollout is running: Deployment/web in shop: wait for it: "
    "kubectl rollout status deployment/web -n shop\n"
)


def add_deployment(api: ApiServer, updated: int) -> None:
    status = {"observedGeneration": 2, "replicas": 5, "updatedReplicas": updated}
    api.add(*NODES, *uneven_pods(), {**DEPLOYMENT, "status": status})


@pytest.mark.usefixtures("folder")
def test_a_rollout_is_not_disturbed(api: ApiServer, run: Run) -> None:
    """The user is not asked, and only ``--apply`` refuses."""
    add_deployment(api, 4)
    evicting = EvictingServer(api, "b1")
    arguments = ("rebalance", *CLUSTER, "-n", "shop")

    ran, plan = run(*arguments, "--apply"), run(*arguments)
    (document,) = run(*arguments, "--apply", "--yes", "-o", "json").documents

    assert (ran.code, ran.err, evicting.evicted) == (3, ROLLOUT, [])
    assert "1 eviction; no plan needs fewer\n" in ran.out
    assert (plan.code, plan.err) == (0, "")
    assert document["stopped"] == "a rollout is running"


@pytest.mark.usefixtures("folder")
def test_pods_are_evicted_after_a_rollout(api: ApiServer, run: Run) -> None:
    add_deployment(api, 5)
    evicting = EvictingServer(api, "b1")

    assert run("rebalance", *CLUSTER, "-n", "shop", "--apply", "--yes").code == 0
    assert evicting.evicted == ["web-0"]
