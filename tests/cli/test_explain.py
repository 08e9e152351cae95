import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE, NODES, POD, PODS, REVISION, WEB
from webhook.cli.explain import parse_edits, whatif_options
from webhook.errors import ConfigError
from webhook.policy.explain.nodeedits import AddNodes, Cordon, RemoveNodes

BLOCKED = """\
the next pod of Deployment shop/web cannot be placed: zone (maxSkew 1) allows only us-1c, where no \
node takes it: 1 node(s) were unschedulable

constraint 0: zone, maxSkew 1, DoNotSchedule, pods app=web
  global minimum 0: no pod in us-1c
  domain  nodes  pods                        skew
  us-1a   1      1     ████████████████████  2     over 1
  us-1b   1      1     ████████████████████  2     over 1
  us-1c   1      0                           1     fits

0 of 3 nodes can take it
  cannot: 2 zone: skew 2 > maxSkew 1: n1, n2
  cannot: 1 node(s) were unschedulable: n3

any one of these changes makes it schedulable, as simulated:
  - raise maxSkew of constraint 0 (zone) from 1 to 2 (then n1, n2)
  - uncordon node n3 (then n3)
  - add 1 node with zone=us-1c (then new-1)
  - make constraint 0 (zone) ScheduleAnyway (then n1, n2)
not considered: resources, ports, volumes, pod affinity
"""


@pytest.fixture
def shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cluster of three zones, the emptiest of which is cordoned."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "shop.yaml").write_text(f"{NODES}{WEB}{PODS}")
    return folder


def explain(run: Run, *options: str) -> Any:
    ran = run("explain", *options, "-n", "shop", "--cluster", "shop.yaml", "-o", "json")
    assert ran.err == ""
    return json.loads(ran.out)


def test_a_pod_that_cannot_be_placed(shop: Path, run: Run) -> None:
    assert run("explain", "deploy/web", "-n", "shop", "--cluster", "shop.yaml") == (1, BLOCKED, "")


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

    ran = run("explain", "-f", "api.yaml", "--cluster", "shop.yaml")

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
    assert max(map(len, lines[2:])) <= 80


def test_a_pod_without_constraints(shop: Path, run: Run) -> None:
    (shop / "plain.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: shop}, spec: {}}"
    )

    ran = run("explain", "-f", "plain.yaml", "--cluster", "shop.yaml")

    assert ran.out.splitlines()[1:] == [
        "  no constraints: spreading allows every node and prefers none",
        "",
        "2 of 3 nodes can take it",
        "  node  score  raw",
        "  n1    -      -    best",
        "  n2    -      -    best",
        "  cannot: 1 node(s) were unschedulable: n3",
        "not considered: resources, ports, volumes, pod affinity",
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

    ran = run("explain", "-f", "wrong.yaml", "--cluster", "shop.yaml")

    assert (ran.code, ran.out) == (3, "")
    assert f"error: Deployment shop/web: {message}" in ran.err


def test_a_simulated_rollout_comes_first(shop: Path, run: Run) -> None:
    ran = run(
        "explain", "deploy/web", "-n", "shop", "--cluster", "shop.yaml", "--without", "zone=us-1c"
    )

    assert ran.code == 0
    assert ran.out.splitlines()[:7] == [
        "if you lose zone us-1c: all 4 replicas would run; skew of zone 1 -> 0",
        "  running  2 stay where they are",
        "  placed   n1 (1), n2 (1)",
        "  pending  0",
        "",
        "after that, the next pod of Deployment shop/web can be placed on 2 of 2 nodes",
        "",
    ]


# options, pending replicas, exit code
CHANGES = {
    "no change": (["--what-if"], 2, 1),
    "another zone": (["--add-nodes", "zone=us-1d:3"], 1, 1),
    "a node in the cordoned zone": (["--add-nodes", "zone=us-1c"], 0, 0),
    "the cordoned zone is gone": (["--without", "zone=us-1c", "--scale", "9"], 0, 0),
    "all are cordoned": (["--cordon", "n1", "--cordon", "n2"], 2, 1),
    "fewer than run": (["--scale", "1"], 0, 0),
}


@pytest.mark.parametrize(("options", "pending", "code"), CHANGES.values(), ids=CHANGES.keys())
def test_hypothetical_changes_decide_how_many_replicas_wait(
    shop: Path, run: Run, options: list[str], pending: int, code: int
) -> None:
    ran = run(
        "explain", "deploy/web", "-n", "shop", "--cluster", "shop.yaml", "-o", "json", *options
    )

    assert (json.loads(ran.out)["whatIf"]["pending"], ran.code) == (pending, code)


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
    text = f"{NODES}{WEB}{REVISION}{PODS}".replace(selector, selector + keys)
    (shop / "shop.yaml").write_text(text)

    constraint = explain(run, "deploy/web")["explanation"]["constraints"][0]

    assert constraint["selector"] == "app=web,pod-template-hash=1"
    assert constraint["pods"] == 0


def test_the_defaults_of_kube_scheduler_apply(shop: Path, run: Run) -> None:
    (shop / "plain.yaml").write_text(
        re.sub(r"      topologySpread[^~]*", "      containers: []\n", WEB)
    )

    explanation = explain(run, "-f", "plain.yaml")["explanation"]

    assert explanation["defaulted"]
    assert [part["maxSkew"] for part in explanation["constraints"]] == [3, 5]
    assert {part["selector"] for part in explanation["constraints"]} == {"app=web"}


def test_a_configuration_of_kube_scheduler_replaces_its_defaults(shop: Path, run: Run) -> None:
    (shop / "plain.yaml").write_text(
        re.sub(r"      topologySpread[^~]*", "      containers: []\n", WEB)
    )
    (shop / "scheduler.yaml").write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: PodTopologySpreadArgs, "
        "defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: "
        "topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}"
    )

    explanation = explain(run, "-f", "plain.yaml", "--scheduler-config", "scheduler.yaml")

    assert not explanation["explanation"]["placeable"]
    assert explanation["explanation"]["defaulted"]


def test_the_defaults_of_the_server_are_injected_first(shop: Path, run: Run) -> None:
    (shop / "plain.yaml").write_text(
        re.sub(r"      topologySpread[^~]*", "      containers: []\n", WEB)
    )
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
    "an unknown kind": (["node/n1", "--cluster", "shop.yaml"], "is not a kind with", 2),
    "no name": (["pod/", "--cluster", "shop.yaml"], "the name is missing", 2),
    "no such pod": (["pod/x", "--cluster", "shop.yaml"], "Pod default/x: not found", 3),
    "a pod of another namespace": (
        ["web-1", "--cluster", "shop.yaml"], "not found here, but in namespace shop: add -n shop", 3
    ),
    "a file that is not there": (["-f", "none.yaml"], "none.yaml: cannot be read: No such file", 3),
    "a file that is not there, of a pod that a cluster may have": (
        ["pod/web-1", "-f", "none.yaml"], "none.yaml: cannot be read: No such file", 3
    ),
    "a file without objects": (["-f", "empty.yaml"], "skipped empty.yaml: it contains no", 3),
    "no pod template in the files": (["job/x", "-f", "shop.yaml"], "contains no job/x with", 3),
    "a label without a value": (
        ["web-1", "--cluster", "shop.yaml", "--without", "zone"], "--without", 2
    ),
    "no number of nodes": (
        ["web-1", "--cluster", "shop.yaml", "--add-nodes", "zone=a:x"], "zone=us-1d:3", 2
    ),
    "a node that is not there": (
        ["web-1", "-n", "shop", "--cluster", "shop.yaml", "--cordon", "n9"],
        "node 'n9' does not exist",
        2,
    ),
    "no kubeconfig": (["web-1", "--kubeconfig", "none"], "credentials cannot be used", 3),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message", "code"), ERRORS.values(), ids=ERRORS.keys())
def test_errors(shop: Path, run: Run, arguments: list[str], message: str, code: int) -> None:
    (shop / "empty.yaml").touch()

    ran = run("explain", *arguments)

    assert message in ran.err
    assert (ran.code, ran.out) == (code, "")


def test_without_nodes_the_options_that_provide_them_are_named(shop: Path, run: Run) -> None:
    (shop / "web.yaml").write_text(WEB)

    ran = run("explain", "-f", "web.yaml")

    assert ran.code == 1
    assert ran.out.startswith(
        "the next pod of Deployment shop/web cannot be placed: there is no node"
    )
    assert ran.err == (
        "these files contain no Node: name manifests of the cluster with --cluster, or a live "
        "cluster with --context\n"
    )


def test_a_pod_with_a_type_error_is_reported_and_the_others_count(shop: Path, run: Run) -> None:
    with (shop / "shop.yaml").open("a") as file:
        file.write((POD % (3, "n3")).replace("labels: {app: web}", "labels: [app]"))

    ran = run("explain", "deploy/web", "-n", "shop", "--cluster", "shop.yaml")

    assert ran.code == 3
    assert ran.out == BLOCKED
    assert "Pod/web-3: metadata.labels: expected an object, got a list" in ran.err


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
    ran = run("explain", "deploy/web", "-n", "shop", "--cluster", "shop.yaml", "-o", "html")
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


ZONE = "topology.kubernetes.io/zone"

EDITS = {
    "no edits": ((), (), (), ()),
    "a zone is lost": (("zone=us-1c",), (), (), (RemoveNodes(ZONE, "us-1c"),)),
    "a node is cordoned": ((), ("n1",), (), (Cordon("n1"),)),
    "a node is added": ((), (), ("zone=us-1d",), (AddNodes({ZONE: "us-1d"}, 1),)),
    "nodes with two labels are added": (
        (),
        (),
        ("zone=us-1d,disk=ssd:3",),
        (AddNodes({ZONE: "us-1d", "disk": "ssd"}, 3),),
    ),
}


@pytest.mark.parametrize(("without", "cordon", "add", "edits"), EDITS.values(), ids=EDITS.keys())
def test_options_become_edits(
    without: tuple[str, ...], cordon: tuple[str, ...], add: tuple[str, ...], edits: tuple[object]
) -> None:
    assert parse_edits(without, cordon, add) == edits


INVALID_EDITS = {
    "a label without a value": (("zone",), (), "'zone' is not a label"),
    "a label with an invalid key": (("-=a",), (), "is not a label"),
    "no labels": ((), (":3",), "is not an addition"),
    "no nodes": ((), ("zone=a:0",), "a number up to 1000"),
    "too many nodes": ((), ("zone=a:1001",), "a number up to 1000"),
}


@pytest.mark.parametrize(
    ("without", "add", "message"), INVALID_EDITS.values(), ids=INVALID_EDITS.keys()
)
def test_invalid_values_are_errors(
    without: tuple[str, ...], add: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_edits(without, (), add)


def test_every_option_has_a_help_text() -> None:
    assert all(option.help for option in whatif_options())
