"""What explain prints is neither placed against the API's rules nor surer than it can be."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODES, PODS, WEB

FACTS = ("-n", "shop", "--facts", "shop.yaml")
REFUSED = (
    "is refused by kube-apiserver: spec.template.spec.topologySpreadConstraints[0].maxSkew: "
    "Invalid value: 0: must be greater than zero (TSC001)"
)

ALSO = (
    "spec.template.spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "
    '"Never": supported values: "DoNotSchedule", "ScheduleAnyway"'
)


@pytest.fixture
def refused(shop: Path) -> Path:
    """The shop with a Deployment that breaks two rules."""
    text = WEB.replace("maxSkew: 1", "maxSkew: 0").replace("DoNotSchedule", "Never")
    (shop / "shop.yaml").write_text(f"{NODES}{text}")
    return shop


@pytest.mark.parametrize("options", [(), ("--what-if",), ("--scale", "2")], ids=str)
def test_what_kube_apiserver_refuses_is_not_placed(
    refused: Path, run: Run, options: tuple[str, ...]
) -> None:
    ran = run("explain", "deploy/web", *FACTS, *options)

    assert (refused.exists(), ran.code) == (True, 1)
    assert ran.out.splitlines() == [
        f"the next pod of Deployment shop/web {REFUSED}",
        f"  also {ALSO} (TSC003)",
        "nothing is placed: first correct what kube-apiserver refuses",
    ]


def test_a_page_shows_what_kube_apiserver_refuses(refused: Path, run: Run) -> None:
    ran = run("explain", "deploy/web", *FACTS, "-o", "html")

    assert (refused.exists(), ran.code) == (True, 1)
    assert "Nothing is placed: kube-apiserver refuses" in ran.out
    assert "<h2>Nodes</h2>" not in ran.out


def test_a_what_if_shows_the_pods_that_no_constraint_counts(shop: Path, run: Run) -> None:
    text = WEB.replace("labelSelector: {matchLabels: {app: web}}", "labelSelector: {}")
    (shop / "shop.yaml").write_text(f"{NODES}{text}{PODS}")

    table = run("explain", "deploy/web", *FACTS, "--what-if")
    page = run("explain", "deploy/web", *FACTS, "--what-if", "-o", "html")

    first, *lines = table.out.splitlines()
    assert first.endswith("; skew of its own pods by zone 1 -> 3, of the counted pods 0 -> 0")
    assert lines[3] == (
        "  zone     its own pods: us-1a 3 (counted 0), us-1b 1 (counted 0), us-1c 0 (counted 0)"
    )
    assert lines[4].startswith("  note     the choice among equal nodes is arbitrary")
    assert '<tr><td>us-1a</td><td class="number">3</td>\n<td class="number">0</td></tr>' in page.out


def test_nodes_without_the_key_have_a_name(shop: Path, run: Run) -> None:
    plain = NODES.replace(", topology.kubernetes.io/zone: us-1a", "")
    text = WEB.partition("      topologySpread")[0] + "      containers: []\n"
    (shop / "shop.yaml").write_text(f"{plain}{text}{PODS}")

    ran = run("explain", "deploy/web", *FACTS)

    assert any(line.startswith("  (none)  1      1 ") for line in ran.out.splitlines())


def test_labels_select_in_all_namespaces(shop: Path, run: Run) -> None:
    labelled = WEB.replace("name: web,", "name: web, labels: {tier: front},", 1)
    other = labelled.replace("namespace: shop", "namespace: ops")
    (shop / "shop.yaml").write_text(f"{NODES}{labelled}---\n{other}")

    ran = run("explain", "deploy", "-l", "tier=front", "-A", "--facts", "shop.yaml", "-o", "json")
    none = run("explain", "deploy", "-l", "tier=back", "-A", "--facts", "shop.yaml")

    subjects = [found["explanation"]["subject"] for found in ran.documents]
    assert subjects == [f"the next pod of Deployment {name}/web" for name in ("shop", "ops")]
    assert "the cluster: contains no Deployment whose labels match -l" in none.err


# arguments besides -A, message
WRONG = {
    "with a namespace": (("-l", "a=b", "-n", "shop"), "-A: use -n or -A, not both"),
    "with a name": (("deploy/web",), "-A: select with -l"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_all_namespaces_need_labels(
    shop: Path, run: Run, arguments: tuple[str, ...], message: str
) -> None:
    ran = run("explain", *arguments, "-A", "--facts", str(shop / "shop.yaml"))

    assert ran.code == 2
    assert message in ran.err


def test_pods_of_a_daemon_set_that_cannot_all_be_placed(shop: Path, run: Run) -> None:
    more = NODES.replace("n1", "n4") + NODES
    daemons = WEB.replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 4\n", "")
    text = daemons.replace(
        "      topologySpread",
        "      nodeSelector: {topology.kubernetes.io/zone: us-1a}\n      topologySpread",
    ).replace("maxSkew: 1", "maxSkew: 1\n        nodeAffinityPolicy: Ignore")
    (shop / "shop.yaml").write_text(f"{more}{text}")

    ran = run("explain", "ds/web", *FACTS)
    audit = run("audit", "-f", "shop.yaml")

    assert ran.code == 1
    assert "2 pods missing, 1 of which can be placed" in ran.out.splitlines()[0]
    assert "TSC116" in audit.out


def test_pods_may_be_refused_although_their_template_is_accepted(shop: Path, run: Run) -> None:
    text = WEB.replace("maxSkew: 1", "matchLabelKeys: [app]\n        maxSkew: 1", 1)
    (shop / "shop.yaml").write_text(f"{NODES}{text}")

    ran = run("explain", "deploy/web", *FACTS)

    sentence, hint = ran.out.splitlines()
    assert sentence.startswith("the next pod of Deployment shop/web is refused by kube-apiserver: ")
    assert "kube-apiserver accepts this object, and refuses all its pods (TSC008)" in sentence
    assert hint == "nothing is placed: first correct what kube-apiserver refuses"


def test_names_are_those_of_objects_whose_pods_find_no_node(shop: Path, run: Run) -> None:
    other = WEB.replace("name: web,", "name: free,", 1).partition("      topologySpread")[0]
    (shop / "shop.yaml").write_text(f"{NODES}{WEB}---\n{other}      containers: []\n")
    (shop / "pods.yaml").write_text(PODS)

    ran = run("explain", "-f", "shop.yaml", "--facts", "pods.yaml", "-o", "name")

    assert (ran.code, ran.out) == (1, "deployment.apps/web\n")


def test_wide_is_not_shortened(shop: Path, run: Run) -> None:
    nodes = "".join(NODES.replace("name: n", f"name: n{i}") for i in range(30))
    plain = WEB.partition("      topologySpread")[0] + "      containers: []\n"
    (shop / "shop.yaml").write_text(f"{nodes}{plain}")

    short, wide = (run("explain", "deploy/web", *FACTS, "-o", form) for form in ("table", "wide"))

    assert "... and" in short.out
    assert "... and" not in wide.out


# options, start of the answer
UNKNOWN_NODE: dict[str, tuple[tuple[str, ...], str]] = {
    "as it is": (("--what-if",), "as it is: both replicas would run; skew of zone 1 -> 1"),
    "fewer": (("--scale", "1"), "if you scale to 1 replica: 1 pod would be removed, 1 would run"),
    "a rollout": (("--what-if", "rollout"), "a rollout of 2 replicas"),
}


@pytest.mark.parametrize(("options", "start"), UNKNOWN_NODE.values(), ids=UNKNOWN_NODE.keys())
def test_pods_run_on_nodes_that_the_files_lack(
    shop: Path, run: Run, options: tuple[str, ...], start: str
) -> None:
    first, _, others = NODES.partition("---\n")
    del first
    web = WEB.replace("replicas: 4", "replicas: 2")
    (shop / "shop.yaml").write_text(f"{others}{web}{PODS}")

    ran = run("explain", "deploy/web", *FACTS, *options)

    assert ran.out.startswith(start)
    assert "domains of pods on nodes that are not known: web-" in ran.out.splitlines()[-1]


@pytest.mark.parametrize("options", [(), ("--what-if", "rollout")], ids=str)
def test_replicas_in_quotes_are_refused(shop: Path, run: Run, options: tuple[str, ...]) -> None:
    text = WEB.replace("replicas: 4", 'replicas: "4"')
    (shop / "shop.yaml").write_text(f"{NODES}{text}")

    ran = run("explain", "deploy/web", *FACTS, *options)

    assert ran.code == 1
    assert ran.out.splitlines()[0].endswith(
        'spec.replicas: the string "4" is no int32: write 4, without quotes'
    )
