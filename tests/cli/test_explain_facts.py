"""Facts for explanations, from files and from clusters."""

from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.conftest import Run
from tests.cli.shop import BLOCKED, NODES, POD, PODS, REVISION, WEB


def test_without_nodes_the_options_that_provide_them_are_named(shop: Path, run: Run) -> None:
    (shop / "web.yaml").write_text(WEB)

    ran = run("explain", "-f", "web.yaml")

    assert ran.code == 1
    assert ran.out.startswith(
        "the next pod of Deployment shop/web cannot be placed: there is no node"
    )
    assert ran.err == (
        "these files contain no Node: name manifests of the cluster with --facts, or a live "
        "cluster with --context\n"
    )


def test_a_pod_with_a_type_error_is_reported_and_the_others_count(shop: Path, run: Run) -> None:
    with (shop / "shop.yaml").open("a") as file:
        file.write((POD % (3, "n3")).replace("labels: {", "labels: [{").replace('"1"}', '"1"}]'))

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "shop.yaml")

    assert ran.code == 3
    assert ran.out == BLOCKED
    assert "Pod/web-3: metadata.labels: expected an object, got a list" in ran.err


def test_facts_are_the_union_of_all_files(shop: Path, run: Run) -> None:
    """The pods of -f count although --facts has the nodes."""
    (shop / "nodes.yaml").write_text(NODES)
    (shop / "others.yaml").write_text(f"{WEB}{PODS}")

    ran = run("explain", "deploy/web", "-f", "others.yaml", "--facts", "nodes.yaml")

    assert (ran.out, ran.err) == (BLOCKED, "")


def test_the_old_spelling_of_facts_counts_too(shop: Path, run: Run) -> None:
    ran = run("explain", "deploy/web", "-n", "shop", "--cluster", "shop.yaml")

    assert (ran.code, ran.out) == (1, BLOCKED)
    assert ran.err == "--cluster is deprecated: write --facts, which means the same\n"


def test_a_live_cluster_adds_to_manifests(shop: Path, run: Run, api: ApiServer) -> None:
    """--facts has the nodes, the live cluster the Deployment and its pods."""
    (shop / "nodes.yaml").write_text(NODES)
    api.add(*yaml.safe_load_all(f"{WEB}{PODS}"))
    options = ("--facts", "nodes.yaml", "--kubeconfig", "kubeconfig")

    assert run("explain", "deploy/web", "-n", "shop", *options) == (1, BLOCKED, "")


def test_a_snapshot_is_a_cluster(shop: Path, run: Run) -> None:
    run("audit", "-f", "shop.yaml", "--save-snapshot", "shop.gz")

    assert run("explain", "deploy/web", "-n", "shop", "--facts", "shop.gz") == (1, BLOCKED, "")


MERGED = """\
apiVersion: v1
kind: Pod
metadata: {name: web-9, namespace: shop, uid: u9, resourceVersion: "9", labels: {app: web, r: "1"}}
spec:
  nodeName: a1
  containers: []
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    matchLabelKeys: [r]
    labelSelector:
      matchLabels: {app: web}
      matchExpressions: [{key: r, operator: In, values: ["1"]}]
"""


def test_a_snapshot_keeps_that_an_api_server_merged_keys_of_a_pod(shop: Path, run: Run) -> None:
    (shop / "merged.yaml").write_text(f"{NODES}---\n{MERGED}")
    run("audit", "-f", "merged.yaml", "--save-snapshot", "merged.gz")

    answers = [
        run("explain", "pod/web-9", "-n", "shop", "--facts", f"merged.{end}")
        for end in ("yaml", "gz")
    ]

    assert [ran.code for ran in answers] == [0, 0]
    assert answers[0] == answers[1]


def test_the_namespace_is_that_of_the_context(shop: Path, run: Run, api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(f"{NODES}{WEB}{PODS}"))
    kubeconfig = yaml.safe_load((shop / "kubeconfig").read_text())
    kubeconfig["contexts"][0]["context"]["namespace"] = "shop"
    (shop / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))

    assert run("explain", "deploy/web", "--kubeconfig", "kubeconfig") == (1, BLOCKED, "")


def test_the_context_has_no_effect_where_no_live_cluster_is_read(
    shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch, api: ApiServer
) -> None:
    kubeconfig = yaml.safe_load((shop / "kubeconfig").read_text())
    kubeconfig["contexts"][0]["context"]["namespace"] = "shop"
    (shop / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    monkeypatch.setenv("KUBECONFIG", str(shop / "kubeconfig"))

    ran = run("explain", "deploy/web", "--facts", "shop.yaml")

    assert (ran.code, ran.out, api.paths) == (3, "", [])
    assert ran.err.startswith(
        "error: Deployment default/web: not found here, but in namespace shop: add -n shop"
    )


@pytest.mark.parametrize("options", [("deploy/web", "--facts", "shop.yaml"), ("-f", "shop.yaml")])
def test_an_absent_namespace_is_an_error(options: list[str], shop: Path, run: Run) -> None:
    ran = run("explain", *options, "-n", "shopp")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: -n: there is no namespace 'shopp': did you mean shop?\n"


LABELLED = WEB.replace("name: web,", "name: web, labels: {tier: front},", 1)
REVISED = REVISION.replace("name: web-1", "name: web-1\n  labels: {tier: front}", 1)
OTHER = WEB.replace("name: web,", "name: api,", 1)


@pytest.mark.parametrize("kinds", [(), ("deploy",), ("sts,deploy",), ("sts", "Deployments")])
def test_labels_select_the_objects_of_a_live_cluster(
    kinds: list[str], shop: Path, run: Run, api: ApiServer
) -> None:
    """The ReplicaSet of the Deployment has the same labels."""
    text = f"{NODES}{OTHER}---\n{LABELLED}{REVISED}{PODS}"
    api.add(*yaml.safe_load_all(text))
    options = ("-n", "shop", "--kubeconfig", "kubeconfig")

    assert run("explain", *kinds, "-l", "tier=front", *options) == (1, BLOCKED, "")


def test_labels_select_the_objects_of_facts(shop: Path, run: Run) -> None:
    (shop / "shop.yaml").write_text(f"{NODES}{OTHER}---\n{LABELLED}{PODS}")

    ran = run("explain", "-l", "tier=front", "-n", "shop", "--facts", "shop.yaml")

    assert ran == (1, BLOCKED, "")


def test_a_kind_and_labels_select_the_objects_of_files(shop: Path, run: Run) -> None:
    (shop / "web.yaml").write_text(f"{LABELLED}{REVISED}")

    ran = run("explain", "deploy", "-f", "web.yaml", "--facts", "shop.yaml", "-l", "tier=front")

    assert ran == (1, BLOCKED, "")


NOTHING_SELECTED = {
    "in a cluster": (("--facts", "shop.yaml"), 3, "namespace shop: contains no object with a pod"),
    "of a kind": (("--facts", "shop.yaml", "ds"), 3, "namespace shop: contains no DaemonSet"),
    "in a file": (("-f", "shop.yaml"), 3, "shop.yaml: contains no object with a pod template"),
    "a name": (("deploy/web", "--facts", "shop.yaml"), 2, "name objects, or select them with -l"),
    "no namespace": (("-n", "shopp", "--facts", "shop.yaml"), 2, "there is no namespace 'shopp'"),
}


@pytest.mark.parametrize(
    ("options", "code", "message"), NOTHING_SELECTED.values(), ids=NOTHING_SELECTED.keys()
)
def test_labels_that_select_nothing_are_an_error(
    options: tuple[str, ...], code: int, message: str, shop: Path, run: Run
) -> None:
    place = () if "-n" in options else ("-n", "shop")

    ran = run("explain", "-l", "tier=none", *options, *place)

    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


def test_a_kind_that_may_not_be_listed_is_a_problem(shop: Path, run: Run, api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(f"{NODES}{LABELLED}{PODS}"))
    api.answers["GET /apis/batch/v1/namespaces/shop/jobs"] = refuse("jobs is forbidden")

    ran = run("explain", "-l", "tier=front", "-n", "shop", "--kubeconfig", "kubeconfig")

    assert (ran.code, ran.out) == (3, BLOCKED)
    assert "jobs is forbidden" in ran.err
