import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run
from tests.cli.shop import BLOCKED, NODE, NODES, PODS, REVISION, WEB
from webhook.cli.inputs.schedulingscope import NODE_RESOURCES
from webhook.explain.caveats import ALWAYS_IGNORED


def explain(run: Run, *options: str) -> Any:
    ran = run("explain", *options, "-n", "shop", "--facts", "shop.yaml", "-o", "json")
    assert ran.err == ""
    return json.loads(ran.out)


def test_a_pod_that_cannot_be_placed(shop: Path, run: Run) -> None:
    assert run("explain", "deploy/web", "-n", "shop", "--facts", "shop.yaml") == (1, BLOCKED, "")


API_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: api, namespace: shop, labels: {app: api}}
spec:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    nodeAffinityPolicy: Ignore
    nodeTaintsPolicy: Honor
    labelSelector: {matchLabels: {app: web}}
"""


def test_a_long_table_is_cut_off(shop: Path, run: Run) -> None:
    more = "".join(NODE % (f"m{i:02}", f"m{i:02}", "us-1d", "false") for i in range(30))
    (shop / "shop.yaml").write_text(f"{NODES}{more}{WEB}{PODS}")
    (shop / "api.yaml").write_text(API_POD)

    ran = run("explain", "-f", "api.yaml", "--facts", "shop.yaml")

    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[2:8] == [
        "constraint 0: hostname, maxSkew 1, ScheduleAnyway, pods app=web",
        "  the pod itself is not among the pods that count",
        "  nodeAffinityPolicy Ignore",
        "  nodeTaintsPolicy Honor",
        "  domain  nodes  pods                        skew",
        "  m00     1      0",
    ]
    assert "  n1      1      1     ████████████████████" in lines
    assert "  ... and 13 more domains" in lines
    assert "  ... and 12 more nodes" in lines
    assert max(map(len, lines[2:-1])) <= 80


def test_a_pod_without_constraints(shop: Path, run: Run) -> None:
    (shop / "plain.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: shop}, spec: {}}"
    )

    ran = run("explain", "-f", "plain.yaml", "--facts", "shop.yaml")

    assert ran.out.splitlines()[1:] == [
        "  no constraints: spreading allows every node and prefers none",
        "",
        "2 of 3 nodes can take it",
        "  node  score  raw",
        "  n1    -      -    best",
        "  n2    -      -    best",
        "  cannot: 1 node(s) were unschedulable: n3",
        f"not considered: {', '.join((*ALWAYS_IGNORED, NODE_RESOURCES))}",
    ]


# spec of a Deployment, message
INVALID = {
    "no template": ("spec: {replicas: 1}", "has nothing at spec.template: write a pod template"),
    "a type": ("spec: {template: {spec: []}}", "spec.template.spec: expected an object, got a"),
}


@pytest.mark.parametrize(("spec", "message"), INVALID.values(), ids=INVALID.keys())
def test_invalid_workloads_are_errors(shop: Path, run: Run, spec: str, message: str) -> None:
    (shop / "wrong.yaml").write_text(
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\n{spec}\n"
    )

    ran = run("explain", "-f", "wrong.yaml", "--facts", "shop.yaml")

    assert (ran.code, ran.out) == (3, "")
    assert f"error: Deployment shop/web: {message}" in ran.err


SUBJECTS = {
    "a pod": ("pod/web-1", "Pod shop/web-1", "n1"),
    "a pod by its name alone": ("web-2", "Pod shop/web-2", "n2"),
    "a plural": ("deployments/web", "the next pod of Deployment shop/web", ""),
    "a kind with its group": ("deployment.apps/web", "the next pod of Deployment shop/web", ""),
}


@pytest.mark.parametrize(("subject", "named", "node"), SUBJECTS.values(), ids=SUBJECTS.keys())
def test_a_subject_is_found_by_its_name(
    shop: Path, run: Run, subject: str, named: str, node: str
) -> None:
    explanation = explain(run, subject)["explanation"]

    assert (explanation["subject"], explanation["runsOn"]) == (named, node)


def test_a_pod_does_not_count_itself(shop: Path, run: Run) -> None:
    explanation = explain(run, "pod/web-1")["explanation"]

    assert explanation["sentence"] == "runs on n1; it can be placed anew on 1 of 3 nodes"
    assert explanation["constraints"][0]["pods"] == 1


def test_the_next_pod_is_of_the_current_revision(shop: Path, run: Run) -> None:
    selector = "        labelSelector: {matchLabels: {app: web}}\n"
    keys = "        matchLabelKeys: [pod-template-hash]\n"
    older = PODS.replace('pod-template-hash: "1"', 'pod-template-hash: "0"')
    text = f"{NODES}{WEB}{REVISION}{older}".replace(selector, selector + keys)
    (shop / "shop.yaml").write_text(text)

    constraint = explain(run, "deploy/web")["explanation"]["constraints"][0]

    assert constraint["selector"] == "app=web,pod-template-hash=1"
    assert constraint["pods"] == 0


def write_plain(shop: Path) -> None:
    """Write the Deployment without constraints, as the cluster has it too."""
    plain = re.sub(r"      topologySpread[^~]*", "      containers: []\n", WEB)
    (shop / "plain.yaml").write_text(plain)
    (shop / "shop.yaml").write_text(f"{NODES}{plain}{PODS}")


def test_the_defaults_of_kube_scheduler_apply(shop: Path, run: Run) -> None:
    write_plain(shop)

    explanation = explain(run, "-f", "plain.yaml")["explanation"]

    assert explanation["defaulted"]
    assert [part["maxSkew"] for part in explanation["constraints"]] == [3, 5]
    assert {part["selector"] for part in explanation["constraints"]} == {
        "app=web,pod-template-hash=1"
    }


def test_a_configuration_of_kube_scheduler_replaces_its_defaults(shop: Path, run: Run) -> None:
    write_plain(shop)
    (shop / "scheduler.yaml").write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: PodTopologySpreadArgs, "
        "defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: "
        "topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}"
    )

    explanation = explain(run, "-f", "plain.yaml", "--scheduler-config", "scheduler.yaml")

    assert not explanation["explanation"]["placeable"]
    assert explanation["explanation"]["defaulted"]


def test_the_defaults_of_the_server_are_injected_first(shop: Path, run: Run) -> None:
    write_plain(shop)
    (shop / "config.yaml").write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\nprofiles:\n- name: all\n"
        "  defaultConstraints:\n  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, "
        "whenUnsatisfiable: DoNotSchedule}\n"
    )

    explanation = explain(run, "-f", "plain.yaml", "--config", "config.yaml")["explanation"]

    assert not explanation["placeable"]
    assert not explanation["defaulted"]


# arguments, message, exit code
ERRORS = {
    "nothing to explain": (["-n", "shop"], "nothing to explain", 2),
    "an unknown kind": (["node/n1", "--facts", "shop.yaml"], "is not a kind with", 2),
    "no name": (["pod/", "--facts", "shop.yaml"], "the name is missing", 2),
    "no such pod": (["pod/x", "--facts", "shop.yaml"], "Pod default/x: not found", 3),
    "a pod of another namespace": (
        ["web-1", "--facts", "shop.yaml"], "not found here, but in namespace shop: add -n shop", 3
    ),
    "a file that is not there": (["-f", "none.yaml"], "none.yaml: cannot be read: No such file", 3),
    "a file that is not there, of a pod that a cluster may have": (
        ["pod/web-1", "-f", "none.yaml"], "none.yaml: cannot be read: No such file", 3
    ),
    "a file without objects": (["-f", "empty.yaml"], "skipped empty.yaml: it contains no", 3),
    "no pod template in the files": (["job/x", "-f", "shop.yaml"], "contains no job/x with", 3),
    "a label without a value": (
        ["web-1", "--facts", "shop.yaml", "--without", "zone"], "--without", 2
    ),
    "a file without -f": (["shop.yaml"], "shop.yaml: is a file: write -f before it", 2),
    "a folder without -f": (["folder/"], "folder/: is a folder: write -f before it", 2),
    "no number of nodes": (
        ["web-1", "--facts", "shop.yaml", "--add-nodes", "zone=a:x"], "zone=us-1d:3", 2
    ),
    "a node that is not there": (
        ["web-1", "-n", "shop", "--facts", "shop.yaml", "--cordon", "n9"],
        "--cordon: node 'n9' does not exist: the nodes are n1, n2, n3",
        2,
    ),
    "a zone that is not there": (
        ["web-1", "-n", "shop", "--facts", "shop.yaml", "--without", "zone=nope"],
        "--without: no node has the label zone=nope: zone is us-1a, us-1b, us-1c",
        2,
    ),
    "a label that is on no node": (
        ["web-1", "-n", "shop", "--facts", "shop.yaml", "--add-nodes", "zoen=us-1d"],
        "--add-nodes: no node has a label zoen, and the pod does not use it: known are hostname, ",
        2,
    ),
    "a smaller scale of a pod": (
        ["web-1", "-n", "shop", "--facts", "shop.yaml", "--scale", "1"],
        "--scale: a pod alone cannot be scaled down: name its workload",
        2,
    ),
    "no kubeconfig": (["web-1", "--kubeconfig", "none"], "credentials cannot be used", 3),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message", "code"), ERRORS.values(), ids=ERRORS.keys())
def test_errors(shop: Path, run: Run, arguments: list[str], message: str, code: int) -> None:
    (shop / "empty.yaml").touch()
    (shop / "folder").mkdir()

    ran = run("explain", *arguments)

    assert message in ran.err
    assert (ran.code, ran.out) == (code, "")


class Page(HTMLParser):
    """The resources that a browser would load, and the elements."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "onload")]


def test_a_page_loads_no_other_resource(shop: Path, run: Run) -> None:
    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "shop.yaml", "-o", "html")
    page = Page()
    page.feed(ran.out)

    assert page.fetched == []
    assert "script" not in page.tags
    assert page.tags.count("svg") == 1
    assert page.tags.count("g") == 3
    assert "prefers-color-scheme: dark" in ran.out
    assert "@media print" in ran.out


def test_a_page_escapes_names(shop: Path, run: Run) -> None:
    text = (shop / "shop.yaml").read_text().replace("name: web,", 'name: "<script>",')
    (shop / "shop.yaml").write_text(text)

    ran = run("explain", "-f", "shop.yaml", "-n", "shop", "-o", "html")

    assert "<script" not in ran.out
    assert "&lt;script&gt;" in ran.out


def test_several_subjects_are_explained_as_kubectl_names_them(shop: Path, run: Run) -> None:
    options = ("-n", "shop", "--facts", "shop.yaml", "-o", "json")

    two = run("explain", "deploy", "web", "web", *options)
    mixed = run("explain", "deploy/web", "pod/web-1", *options)

    assert [ran.code for ran in (two, mixed)] == [1, 1]
    assert len(two.documents) == len(mixed.documents) == 2


def test_a_rollout_without_a_template_does_not_end_the_command(shop: Path, run: Run) -> None:
    rollout = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\n"
        "metadata: {name: %s, namespace: shop}\n"
        "spec: {replicas: 4, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: %s}}\n---\n"
    )
    (shop / "all.yaml").write_text(rollout % ("lost", "lost") + rollout % ("roll", "web") + WEB)

    ran = run("explain", "-f", "all.yaml", "--facts", "shop.yaml")

    assert ran.code == 3
    assert ran.err.startswith("error: Rollout shop/lost: its pod template is in Deployment/lost")
    assert "the next pod of Rollout shop/roll cannot be placed" in ran.out
    assert BLOCKED in ran.out


def test_only_objects_of_the_namespace_are_explained(shop: Path, run: Run) -> None:
    (shop / "web.yaml").write_text(f"{WEB}---\n{WEB.replace('namespace: shop', 'namespace: ops')}")

    ran = run("explain", "-f", "web.yaml", "-n", "shop", "--facts", "shop.yaml")

    assert (ran.code, ran.out) == (1, BLOCKED)


def test_labels_select_the_objects_of_files(shop: Path, run: Run) -> None:
    labelled = WEB.replace("name: web,", "name: web, labels: {tier: front},", 1)
    (shop / "two.yaml").write_text(f"{WEB.replace('name: web,', 'name: api,')}---\n{labelled}")

    ran = run("explain", "-f", "two.yaml", "--facts", "shop.yaml", "-l", "tier=front")

    assert ran.out == BLOCKED


def test_yaml_has_the_content_of_json(shop: Path, run: Run) -> None:
    options = ("-n", "shop", "--facts", "shop.yaml")

    ran = run("explain", "deploy/web", "deploy/web", *options, "-o", "yaml")

    expected = explain(run, "deploy/web")
    assert list(yaml.safe_load_all(ran.out)) == [expected, expected]
