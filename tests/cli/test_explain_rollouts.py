"""What-ifs of rollouts, from manifests to exit codes."""

from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, page
from tests.cli.conftest import Run
from tests.cli.files import BOUND_CLAIM
from tests.cli.shop import NODES, ZONES

WALKTHROUGH = Path(__file__).parents[2] / "docs/walkthrough"
FACTS = ("-n", "shop", "--facts", str(WALKTHROUGH / "rollout.yaml"))
CHANGED = ("-f", str(WALKTHROUGH / "rollout-apart.yaml"))

# arguments, the exit code, and the beginning of the sentence
FATES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "a restart": (("deploy/web",), 1, "a rollout of 3 replicas (maxSurge 1, maxUnavailable 0) sto"),
    "another template": (
        CHANGED, 0, "a rollout of 3 replicas (maxSurge 1, maxUnavailable 0) finishes in 4 steps; "
    ),
    "more nodes": (
        ("deploy/web", "--add-nodes", "zone=zone-b"), 0,
        "if you add 1 node with zone=zone-b: a rollout of 3 replicas",
    ),
    "a cordon": (
        (*CHANGED, "--cordon", "b1"), 1, "if you cordon node b1: a rollout of 3 replicas"
    ),
    "fewer replicas": (
        ("deploy/web", "--scale", "1"), 0, "if you scale to 1 replica: a rollout of 1 replica "
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "sentence"), FATES.values(), ids=FATES.keys())
def test_fate(arguments: tuple[str, ...], code: int, sentence: str, folder: Path, run: Run) -> None:
    ran = run("explain", *arguments, *FACTS, "--what-if", "rollout", "-o", "json")

    (document,) = ran.documents
    assert ran.code == code
    assert document["rollout"]["sentence"].startswith(sentence)
    assert document["rollout"]["finishes"] is not bool(code)
    assert "whatIf" not in document


def test_a_stopped_rollout_explains_the_new_pod(folder: Path, run: Run) -> None:
    (document,) = run("explain", "deploy/web", *FACTS, "--what-if=rollout", "-o", "json").documents

    explanation, rollout = document["explanation"], document["rollout"]
    assert explanation["subject"] == "there, the next pod of Deployment shop/web"
    assert not explanation["placeable"]
    assert rollout["topologyKey"] == "topology.kubernetes.io/zone"
    assert rollout["steps"] == [
        {
            "action": "new 0 -> 1",
            "old": 3,
            "new": 0,
            "pending": 1,
            "domains": [
                {"value": "zone-a", "old": 2, "new": 0},
                {"value": "zone-b", "old": 1, "new": 0},
            ],
        }
    ]


def test_other_formats(folder: Path, run: Run) -> None:
    table = run("explain", "deploy/web", *FACTS, "--what-if", "rollout")
    page = run("explain", "deploy/web", *FACTS, "--what-if", "rollout", "-o", "html")

    assert table.out.startswith("a rollout of 3 replicas")
    assert "step              old  new  pending  zone-a  zone-b" in table.out
    assert "<td>new 0 -&gt; 1</td>" in page.out


SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, uid: s-db}
spec:
  replicas: 2
  updateStrategy: {rollingUpdate: {partition: 1}}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1"}]}
status: {currentRevision: db-1, updateRevision: db-2}
"""

OLDER = {
    "apiVersion": "apps/v1",
    "kind": "ControllerRevision",
    "metadata": {
        "name": "db-1",
        "namespace": "shop",
        "ownerReferences": [
            {"kind": "StatefulSet", "name": "db", "uid": "s-db", "controller": True}
        ],
    },
    "revision": 1,
    "data": {"spec": {"template": {"metadata": {"labels": {"app": "db"}}, "spec": {}}}},
}


@pytest.mark.parametrize(
    ("arguments", "code"), [(("deploy/web",), 1), (CHANGED, 0), (("sts/db",), 0)]
)
def test_a_live_cluster_is_read_before_the_rollout_is_simulated(
    arguments: tuple[str, ...], code: int, shop: Path, run: Run, api: ApiServer
) -> None:
    api.add(*yaml.safe_load_all((WALKTHROUGH / "rollout.yaml").read_text()), yaml.safe_load(SET))
    api.script("/apis/apps/v1/namespaces/shop/controllerrevisions", *[page(OLDER)] * 2)
    options = ("-n", "shop", "--kubeconfig", "kubeconfig", "--what-if", "rollout", "-o", "json")

    ran = run("explain", *arguments, *options)

    (document,) = ran.documents
    assert ran.code == code
    assert document["rollout"]["finishes"] is not bool(code)


DISKS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: db}}
  volumeClaimTemplates: [{metadata: {name: data}}]
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: "db:1"}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: db}}
"""
PLACED = """---
apiVersion: v1
kind: Pod
metadata:
  name: db-%(ordinal)s
  namespace: shop
  labels: {app: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}]
spec: {nodeName: %(node)s, containers: []}
---
"""
VOLUME = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-%(ordinal)s, labels: {topology.kubernetes.io/zone: "%(zone)s"}}
"""

# zones of the pods and their volumes, the exit code, and what the sentence contains
RETURNS: dict[str, tuple[str, int, str]] = {
    "a zone that was added": (
        "aab", 1,
        ("stops at step 2, with 1 of 3 new pods: a new pod cannot be placed: zone (maxSkew 1) "
        "allows only c, where no node takes it: 1 node(s) had no available volume zone"),
    ),
    "even zones": ("abc", 0, "finishes in 3 steps"),
}  # fmt: skip


@pytest.mark.parametrize(("zones", "code", "part"), RETURNS.values(), ids=RETURNS.keys())
def test_pods_return_to_their_volumes(
    zones: str, code: int, part: str, folder: Path, run: Run
) -> None:
    pods = "".join(
        (PLACED + BOUND_CLAIM + VOLUME) % {"ordinal": ordinal, "zone": zone, "node": f"{zone}1"}
        for ordinal, zone in enumerate(zones)
    )
    (folder / "db.yaml").write_text(f"{DISKS}{pods}{ZONES}")

    ran = run("explain", "sts/db", "-n", "shop", "--facts", "db.yaml", "--what-if", "rollout")

    assert ran.code == code
    assert part in ran.out
    assert "not known" not in ran.out


def test_after_a_rollout_the_next_pod_has_no_volume_yet(folder: Path, run: Run) -> None:
    """The pod of the first ordinal runs again: its volume is not that of the next pod."""
    pod = (PLACED + BOUND_CLAIM + VOLUME) % {"ordinal": 0, "zone": "a", "node": "a1"}
    (folder / "db.yaml").write_text(f"{DISKS.replace('replicas: 3', 'replicas: 1')}{pod}{ZONES}")

    ran = run("explain", "sts/db", "-n", "shop", "--facts", "db.yaml", "--what-if", "rollout")

    assert ran.code == 0
    next_pod = "the next pod of StatefulSet shop/db can be placed on 2 of 3 nodes"
    assert f"after that, {next_pod}" in ran.out


FULL = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop, uid: d}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: %s}}
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: api, image: "api:1", resources: {requests: {cpu: 700m}}}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: api-1
  namespace: shop
  uid: r
  labels: {app: api, pod-template-hash: "1"}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: api, uid: d, controller: true}]
spec: {replicas: 2, selector: {matchLabels: {app: api, pod-template-hash: "1"}}}
"""
TAKING = """---
apiVersion: v1
kind: Pod
metadata:
  name: api-1-%(name)s
  namespace: %(namespace)s
  labels: {app: api, pod-template-hash: "1"}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: api-1, uid: r, controller: true}]
spec:
  nodeName: %(name)s
  containers: [{name: api, image: "api:1", resources: {requests: {cpu: 700m}}}]
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: %(name)s}
status: {allocatable: {cpu: "1", pods: "9"}}
"""

# maxUnavailable, the exit code, and what the sentence contains
RESOURCES: dict[str, tuple[int, int, list[str]]] = {
    "no CPUs for the surge": (
        0, 1, ["stops at step 1, with 0 of 2 new pods: a new pod", "3 Insufficient cpu"]
    ),
    "CPUs of the pod that is replaced": (1, 0, ["finishes in 2 steps"]),
}  # fmt: skip


@pytest.mark.parametrize(("unavailable", "code", "parts"), RESOURCES.values(), ids=RESOURCES.keys())
def test_resources_of_running_and_of_new_pods_count(
    unavailable: int, code: int, parts: list[str], folder: Path, run: Run
) -> None:
    places = (("n1", "shop"), ("n2", "shop"), ("n3", "other"))
    pods = "".join(TAKING % {"name": name, "namespace": inside} for name, inside in places)
    (folder / "api.yaml").write_text(f"{FULL % unavailable}{pods}")

    ran = run("explain", "deploy/api", "-n", "shop", "--facts", "api.yaml", "--what-if", "rollout")

    assert (ran.code, ran.err) == (code, "")
    sentence, *_ = ran.out.splitlines()
    assert [part for part in parts if part not in sentence] == []


def test_kinds_that_do_not_roll_out_are_errors(folder: Path, run: Run) -> None:
    ran = run("explain", "pod/web-5f6b9c7d48-1", *FACTS, "--what-if", "rollout")

    assert ran.code == 2
    assert ran.err.startswith("error: --what-if rollout: the rollout of a Pod is not modelled")


STATEFUL_SET = """\
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: db}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: db}}
"""


PROBE = """\
---
apiVersion: v1
kind: Pod
metadata: {name: probe, namespace: shop}
spec: {containers: [{name: c, image: c}]}
"""
# a second object -> the beginning of the error about it
BESIDE = {
    "a Pod": (
        PROBE,
        "Pod shop/probe: --what-if rollout: the rollout of a Pod is not modelled",
    ),
    "too many replicas": (
        STATEFUL_SET.replace("name: db, name", "name: many, name").replace("s: 2", "s: 501"),
        "StatefulSet shop/many: --what-if rollout: 501 replicas are too many to simulate",
    ),
}


@pytest.mark.parametrize(("other", "error"), BESIDE.values(), ids=BESIDE.keys())
def test_the_others_are_rolled_out(other: str, error: str, folder: Path, run: Run) -> None:
    (folder / "db.yaml").write_text(f"{NODES}{other}{STATEFUL_SET}")

    ran = run("explain", "-f", "db.yaml", "--what-if", "rollout")

    assert (ran.code, ran.err.startswith(f"error: {error}")) == (3, True)
    assert ran.out.startswith("a rollout of 2 replicas")


def test_a_stateful_set_is_placed_and_replaced(folder: Path, run: Run) -> None:
    (folder / "db.yaml").write_text(NODES + STATEFUL_SET)

    (document,) = run("explain", "-f", "db.yaml", "--what-if", "rollout", "-o", "json").documents

    rollout = document["rollout"]
    assert [step["action"] for step in rollout["steps"]] == ["replaces db-1", "replaces db-0"]
    assert rollout["notes"] == ["2 replicas have no pod yet, and are placed before the rollout"]


def test_a_refused_workload_is_not_rolled_out(folder: Path, run: Run) -> None:
    (folder / "db.yaml").write_text(NODES + STATEFUL_SET.replace("maxSkew: 1", "maxSkew: 0"))

    ran = run("explain", "-f", "db.yaml", "--what-if", "rollout")

    assert ran.code == 1
    assert "nothing is placed: first correct what kube-apiserver refuses" in ran.out
