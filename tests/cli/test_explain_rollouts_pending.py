"""Rollouts place the Pending pods of an older template as they are."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

ZONE = "topology.kubernetes.io/zone"
SPREAD = (
    f"{{maxSkew: 1, MORE topologyKey: {ZONE}, whenUnsatisfiable: DoNotSchedule, "
    "labelSelector: {matchLabels: {app: APP}}}"
)
THREE_ZONES = SPREAD.replace("MORE", "minDomains: 3,")
ANY_ZONES = SPREAD.replace("MORE ", "")


def nodes(zones: str) -> str:
    return "".join(
        f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {zone}, labels: {{{ZONE}: {zone}}}}}\n"
        for zone in zones
    )


def pod(name: str, owner: str, labels: str, node: str, spread: str) -> str:
    app = labels.partition(",")[0].removeprefix("app: ")
    status = '{phase: Running, conditions: [{type: Ready, status: "True"}]}'
    return f"""\
---
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: shop
  labels: {{{labels}}}
  ownerReferences: [{{apiVersion: apps/v1, kind: {owner}, uid: u, controller: true}}]
spec:
  {f"nodeName: {node}" if node else "restartPolicy: Always"}
  containers: [{{name: c, image: x}}]
  topologySpreadConstraints: [{spread.replace("APP", app)}]
status: {status if node else "{phase: Pending}"}
"""


def stateful_set(spread: str, revisions: str = "") -> str:
    """Make a StatefulSet with pods on the nodes a and b, and a Pending one."""
    workload = f"""\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db, namespace: shop}}
status: {{{revisions}}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec:
      containers: [{{name: c, image: x}}]
      topologySpreadConstraints: [{ANY_ZONES.replace("APP", "db")}]
"""
    pods = (
        pod(
            f"db-{ordinal}",
            "StatefulSet, name: db",
            "app: db, controller-revision-hash: db-1, "
            f'apps.kubernetes.io/pod-index: "{ordinal}", '
            f"statefulset.kubernetes.io/pod-name: db-{ordinal}",
            node,
            spread,
        )
        for ordinal, node in enumerate(("a", "b", ""))
    )
    return workload + "".join(pods)


FINISHES = "finishes in 3 steps"
NEWER = "currentRevision: db-1, updateRevision: db-2"
STAYS = (
    "does not start, with 0 of 3 new pods: it waits for db-2, which cannot be placed: zone needs "
    "a third domain (minDomains 3, found 2: a, b)"
)

# the StatefulSet, the nodes, further arguments, the exit code, and what the sentence contains
SETS: dict[str, tuple[str, str, tuple[str, ...], int, str]] = {
    "no node accepts it": (stateful_set(THREE_ZONES), "ab", (), 1, STAYS),
    "no node accepts it, and its labels differ": (
        stateful_set(THREE_ZONES, NEWER), "ab", (), 1, STAYS
    ),
    "a node accepts it": (stateful_set(THREE_ZONES, NEWER), "abc", (), 0, FINISHES),
    "a node that is added accepts it": (
        stateful_set(THREE_ZONES, NEWER), "ab", ("--add-nodes", "zone=c:1"), 0, FINISHES
    ),
    "it has no minDomains": (stateful_set(ANY_ZONES, NEWER), "ab", (), 0, FINISHES),
    "another is not ready": (
        stateful_set(ANY_ZONES, NEWER).replace('"True"', '"False"', 1), "ab", (), 1,
        "does not start, with 0 of 3 new pods: it waits for db-0, which is not ready",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SETS.values(), ids=SETS.keys())
def test_a_stateful_set(
    case: tuple[str, str, tuple[str, ...], int, str], folder: Path, run: Run
) -> None:
    facts, zones, options, code, part = case
    (folder / "db.yaml").write_text(facts + nodes(zones))
    arguments = ("sts/db", "-n", "shop", "--facts", "db.yaml", "--what-if", "rollout", *options)

    ran = run("explain", *arguments)

    assert ran.code == code
    assert part in ran.out.splitlines()[0]


def deployment(added: str) -> str:
    spread = THREE_ZONES.replace("APP", "web")
    spec = f"{{containers: [{{name: c, image: x}}], topologySpreadConstraints: [{spread}]}}"
    pods = (
        pod(name, "ReplicaSet, name: web-1", f'app: web, pod-template-hash: "1"{added}', on, spread)
        for name, on in (("web-1-0", "a"), ("web-1-1", ""))
    )
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop, uid: d}}
spec:
  replicas: 2
  strategy: {{rollingUpdate: {{maxSurge: 1, maxUnavailable: 0}}}}
  selector: {{matchLabels: {{app: web}}}}
  template: {{metadata: {{labels: {{app: web}}}}, spec: {spec}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: shop
  uid: u
  labels: {{app: web, pod-template-hash: "1"}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}}]
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web, pod-template-hash: "1"}}}}
  template: {{metadata: {{labels: {{app: web, pod-template-hash: "1"}}}}, spec: {spec}}}
""" + "".join(pods)


@pytest.mark.parametrize("added", ["", ", security.istio.io/tlsMode: istio"])
def test_a_deployment_whose_pods_have_a_label_of_a_webhook(
    added: str, folder: Path, run: Run
) -> None:
    (folder / "web.yaml").write_text(deployment(added) + nodes("ab"))

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "web.yaml", "--what-if", "rollout")

    assert ran.code == 1
    assert "stops at step 1, with 0 of 2 new pods: a new pod cannot be placed" in ran.out
