"""Explanations of hypothetical changes, and of DaemonSets."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODES, POD, WEB
from webhook.policy.model import ZONE


def test_a_simulated_rollout_comes_first(shop: Path, run: Run) -> None:
    ran = run(
        "explain", "deploy/web", "-n", "shop", "--facts", "shop.yaml", "--without", "zone=us-1c"
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
    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "shop.yaml", "-o", "json", *options)

    assert (json.loads(ran.out)["whatIf"]["pending"], ran.code) == (pending, code)


SEVEN = "".join(POD % (number, node) for number, node in enumerate(["n1", "n1", "n1", "n1", "n2",
                                                                      "n2", "n3"]))  # fmt: skip


RANKS_LINE = (
    "  ranks    0 of 7 pods have a rank by zone, and scaleDown: KeepSpread gives new pods one; "
    "if all had one, skew of zone 3 -> 0 instead of 2"
)


def test_scaling_down_removes_pods_and_shows_the_skew(shop: Path, run: Run) -> None:
    (shop / "shop.yaml").write_text(f"{NODES}{WEB}{SEVEN}")

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "shop.yaml", "--scale", "3")

    assert ran.out.splitlines()[:21] == [
        "if you scale to 3 replicas: 4 pods would be removed, 3 would run; skew of zone 3 -> 2",
        "  running  3 stay where they are",
        "  placed   none",
        "  pending  0",
        "  removed  web-0, web-1, web-2, web-3",
        RANKS_LINE,
        "",
        "removed, as the pods are",
        "  pod    node  zone   rank",
        "  web-0  n1    us-1a  -",
        "  web-1  n1    us-1a  -",
        "  web-2  n1    us-1a  -",
        "  web-3  n1    us-1a  -",
        "",
        "removed, with ranks for all",
        "  pod    node  zone   rank",
        "  web-3  n1    us-1a  4",
        "  web-2  n1    us-1a  3",
        "  web-1  n1    us-1a  2",
        "  web-5  n2    us-1b  2",
        "",
    ]
    assert ran.out.splitlines()[21].startswith("after that, the next pod of Deployment shop/web ")


RANKS = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles: [{name: ranks, scaleDown: KeepSpread, defaultConstraints: []}]
"""


def test_the_result_with_ranks_is_in_the_json_document(shop: Path, run: Run) -> None:
    (shop / "shop.yaml").write_text(f"{NODES}{WEB}{SEVEN}")
    (shop / "ranks.yaml").write_text(RANKS)

    ran = run(
        *("explain", "deploy/web", "-n", "shop", "--facts", "shop.yaml", "--what-if"),
        *("--scale", "3", "-o", "json", "--config", "ranks.yaml"),
    )

    report = json.loads(ran.out)["whatIf"]["scaleDown"]
    assert report["configured"]
    assert (report["topologyKey"], report["pods"], report["ranked"]) == (ZONE, 7, 0)
    assert report["removed"][0] == {
        "name": "web-0", "node": "n1", "domain": "us-1a", "rank": None, "goesFirst": False,
    }  # fmt: skip
    assert [pod["rank"] for pod in report["withRanks"]["removed"]] == [4, 3, 2, 2]
    assert report["withRanks"]["skews"][0]["after"] == 0


def test_changes_are_those_for_all_replicas_that_stay_pending(shop: Path, run: Run) -> None:
    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "shop.yaml", "--scale", "7")

    assert [line for line in ran.out.splitlines() if line.startswith("  - ")] == [
        (
            "  - raise maxSkew of constraint 0 (zone) from 1 to 4 "
            "(then n1, n2; all 5 missing replicas)"
        ),
        "  - uncordon node n3 (then n3; all 5 missing replicas)",
        "  - add 1 node with zone=us-1c (then new-1; all 5 missing replicas)",
        "  - make constraint 0 (zone) ScheduleAnyway (then n1, n2; all 5 missing replicas)",
    ]


AGENT = """\
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: []
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: example.com/rack
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: agent}}
---
apiVersion: v1
kind: Pod
metadata: {name: agent-1, namespace: shop, labels: {app: agent}}
spec: {nodeName: n1}
"""


def test_a_missing_pod_of_a_daemon_set_has_its_reason(shop: Path, run: Run) -> None:
    (shop / "shop.yaml").write_text(
        (NODES + AGENT.removeprefix("---\n")).replace(
            "kubernetes.io/hostname: n3", "example.com/rack: r1"
        )
    )

    ran = run("explain", "ds/agent", "-n", "shop", "--facts", "shop.yaml")

    assert ran.code == 1
    assert ran.out.startswith("""\
DaemonSet shop/agent has its pod on 1 of 3 nodes that need one; 2 pods missing, 1 of which cannot \
be placed

missing pods, each of which is pinned to its node
  node  pod  state
  n2         not created  cannot be placed: node(s) lack a topology key example.com/rack
  n3         not created  can be placed

for the pod of node n2
FailedScheduling: 0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints \
(missing required label), 2 node(s) didn't satisfy plugin(s) [NodeAffinity].

constraint 0: example.com/rack, """)


def test_what_ifs_of_a_daemon_set_work_by_node(shop: Path, run: Run) -> None:
    agent = AGENT.replace("example.com/rack", "topology.kubernetes.io/zone")
    (shop / "shop.yaml").write_text(NODES + agent.removeprefix("---\n"))

    options = ("--without", "zone=us-1a", "--add-nodes", "zone=us-1d:2", "-o", "json")
    ran = run("explain", "ds/agent", "-n", "shop", "--facts", "shop.yaml", *options)

    found = json.loads(ran.out)
    assert (ran.code, found["explanation"]["daemon"]["missing"]) == (0, [])
    assert found["whatIf"]["placed"] == {"n2": 1, "n3": 1, "new-1": 1, "new-2": 1}
    assert found["whatIf"]["sentence"] == (
        "if you lose zone us-1a, add 2 nodes with zone=us-1d: 4 nodes would need a pod; "
        "all would run; skew of zone 1 -> 1"
    )


def test_a_job_cannot_be_scaled(shop: Path, run: Run) -> None:
    (shop / "job.yaml").write_text(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: once, namespace: shop},"
        " spec: {template: {metadata: {labels: {app: once}}, spec: {containers: []}}}}"
    )

    ran = run("explain", "-f", "job.yaml", "--facts", "shop.yaml", "--scale", "3")

    assert (ran.code, ran.out) == (2, "")
    assert "--scale: a Job cannot be scaled: change spec.parallelism in its manifest" in ran.err


def test_the_others_are_scaled(shop: Path, run: Run) -> None:
    once = "{metadata: {labels: {app: once}}, spec: {containers: [{name: c, image: c}]}}"
    (shop / "both.yaml").write_text(
        "{apiVersion: batch/v1, kind: CronJob, metadata: {name: once, namespace: shop},"
        f" spec: {{schedule: '0 0 * * *', jobTemplate: {{spec: {{template: {once}}}}}}}}}\n"
        f"---\n{WEB}"
    )

    ran = run("explain", "-f", "both.yaml", "--facts", "shop.yaml", "--scale", "3")

    assert ran.code == 3
    assert ran.err.startswith("error: CronJob shop/once: --scale: a CronJob cannot be scaled")
    assert "if you scale to 3 replicas" in ran.out


PENDING = """\
---
apiVersion: v1
kind: Pod
metadata: {name: agent-2, namespace: shop, labels: {app: agent}}
spec:
  containers: []
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}]
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zoen
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: agent}}
status: {phase: Pending}
"""


@pytest.mark.parametrize("options", [(), ("--what-if",)])
def test_a_pending_pod_of_a_daemon_set_has_its_own_constraints(
    shop: Path, run: Run, options: tuple[str, ...]
) -> None:
    agent = AGENT.replace("example.com/rack", "topology.kubernetes.io/zone")
    (shop / "shop.yaml").write_text(NODES + agent.removeprefix("---\n") + PENDING)
    facts = ("-n", "shop", "--facts", "shop.yaml")

    ran = run("explain", "ds/agent", *facts, *options)

    assert ran.code == run("explain", "pod/agent-2", *facts).code == 1
    assert "node(s) lack a topology key topology.kubernetes.io/zoen" in ran.out
