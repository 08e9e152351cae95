"""An audit judges the nodes of pods with the node labels and tolerations of their RuntimeClass."""

import pytest

from tests.audit.world import NODES, gather, inventory, report_on
from webhook.audit.runtimeclasses import add_runtime_classes
from webhook.audit.snapshot import Snapshot
from webhook.policy.placement.nodes import Toleration
from webhook.policy.placement.runtimeclasses import RuntimeClass

POOL = "".join(
    f"""\
---
apiVersion: v1
kind: Node
metadata:
  name: kata-{zone}
  labels:
    topology.kubernetes.io/zone: zone-{zone}
    kubernetes.io/hostname: kata-{zone}
    pool: kata
spec: {{taints: [{{key: kata, effect: NoSchedule}}]}}
"""
    for zone in "abc"
)
KATA = """\
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
scheduling:
  nodeSelector: {pool: kata}
  tolerations: [{key: kata, operator: Exists}]
"""
SECURE = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: secure, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: secure}}
  template:
    metadata: {labels: {app: secure}}
    spec:
      runtimeClassName: kata
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: secure}}
        matchLabelKeys: [pod-template-hash]
"""
HONORING = SECURE.replace("maxSkew: 1\n", "maxSkew: 1\n        minDomains: 3\n").replace(
    "whenUn", "nodeTaintsPolicy: Honor\n        whenUn"
)
IN_ONE_ZONE = KATA.replace("pool: kata", "topology.kubernetes.io/zone: zone-a")
OVER_ZONES = HONORING.replace("kubernetes.io/hostname", "topology.kubernetes.io/zone")
SMALL = NODES.split("---\n")[1]
FOUR = f"---\n{SMALL}{POOL}"
CONTRADICTING = SECURE.replace("runtimeC", "nodeSelector: {pool: web}\n      runtimeC")

# manifests -> the rules that find something
FOUND: dict[str, tuple[str, list[str]]] = {
    "closed without the class": (FOUR + SECURE.replace("runtimeClassName: kata", ""), ["TSC105"]),
    "the class opens the nodes": (FOUR + KATA + SECURE, []),
    "enough domains by the class": (FOUR + KATA + HONORING, []),
    "the class leaves one zone": (NODES + IN_ONE_ZONE + OVER_ZONES, ["TSC104"]),
    "an unknown class": (FOUR + SECURE, []),
    "an unknown class, and too few domains without it": (FOUR + HONORING, []),
    "another class": (FOUR + KATA.replace("name: kata", "name: gvisor") + SECURE, []),
    "a class that refuses the pods": (
        FOUR + KATA + CONTRADICTING, []
    ),
    "an unknown class, and a key of no node": (
        FOUR + SECURE.replace("io/hostname", "io/hostnam"), ["TSC103"]
    ),
    "an unknown class, and a key of some nodes": (
        FOUR + SECURE.replace("kubernetes.io/hostname", "pool"), []
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "rules"), FOUND.values(), ids=FOUND.keys())
def test_the_nodes_of_a_class_count(text: str, rules: list[str]) -> None:
    report = report_on(gather(text).snapshot)

    assert [finding.rule for _, finding in report.findings()] == rules


def test_the_class_is_named_where_it_leaves_too_few_domains() -> None:
    report = report_on(gather(NODES + IN_ONE_ZONE + OVER_ZONES).snapshot)

    ((_, finding),) = report.findings()
    assert "by RuntimeClass kata its pods can go to 1 domain" in finding.problem


def test_workloads_of_a_class_count_where_their_pods_can_go() -> None:
    known, unknown = (inventory(gather(text + SECURE).snapshot) for text in (FOUR + KATA, FOUR))
    selector = known.audited[0].subject.constraints[0].label_selector
    web = RuntimeClass(name="web", node_selector={"pool": "web"}).add_to(
        known.audited[0].subject.pod.demands
    )

    assert not known.state.count_members("shop", selector, web)
    assert unknown.state.count_members("shop", selector, web) == {"Deployment/secure": 3}


def test_without_classes_a_snapshot_stays_itself() -> None:
    snapshot = gather(SECURE).snapshot

    assert add_runtime_classes(snapshot, {}) is snapshot


def test_a_class_is_a_fact_of_a_snapshot() -> None:
    snapshot = gather(KATA).snapshot

    assert snapshot.runtime_classes == [
        RuntimeClass(
            name="kata",
            node_selector={"pool": "kata"},
            tolerations=(Toleration("kata", "Exists"),),
        )
    ]
    merged = Snapshot()
    merged.extend(snapshot)
    assert merged.runtime_classes == snapshot.runtime_classes


AGENT = SECURE.replace("Deployment", "DaemonSet").replace("  replicas: 3\n", "")
COPIED = AGENT.replace(
    "spec:\n      ",
    "spec:\n      nodeSelector: {pool: kata}\n      tolerations: [{key: kata, operator: Exists}]\n"
    "      ",
)


def test_a_daemon_set_has_its_class_only_if_its_template_says_the_same() -> None:
    lacking, having = (inventory(gather(KATA + text).snapshot) for text in (AGENT, COPIED))

    assert [one.subject.lacks_runtime_class for one in lacking.audited] == [True]
    assert [one.subject.lacks_runtime_class for one in having.audited] == [False]
