"""
For every policy rule, manifests that violate it and the same manifests fixed.

The first document is the object to judge. The others are its cluster: Nodes (``NODES`` if there are
none), running pods and other workloads. The tests run every example; the reference page shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class AdviceExample:
    """
    An example of one rule.

    Attributes:
        violates: YAML; its first document violates the rule.
        passes: YAML; its first document does not violate the rule.
        gates: Feature gates for both.
        profile: Whether a profile injects a default constraint: zones, ScheduleAnyway.
    """

    violates: str
    passes: str
    gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    profile: bool = False


def _node(name: str, zone: str, spec: str = "") -> str:
    """Build a Node in one line, named for its zone."""
    labels = f"kubernetes.io/hostname: {name}, topology.kubernetes.io/zone: {zone}"
    tail = f", spec: {{{spec}}}" if spec else ""
    metadata = f"metadata: {{name: {name}, labels: {{{labels}}}}}"
    return f"---\n{{apiVersion: v1, kind: Node, {metadata}{tail}}}\n"


def _nodes(*names: str) -> str:
    """Build Nodes in the zone that their first letter names."""
    return "".join(_node(name, f"zone-{name[0]}") for name in names)


NODES = _nodes("a1", "a2", "b1", "b2", "c1", "c2")
"""Three zones of two nodes: the cluster of the examples without Nodes."""


def _pods(*nodes: str, app: str = "web", constraints: str = "") -> str:
    spec = f", topologySpreadConstraints: [{constraints}]" if constraints else ""
    return "".join(
        f"---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {app}-{i}, labels: {{app: {app}}}}}, "
        f"spec: {{nodeName: {node}{spec}}}}}\n"
        for i, node in enumerate(nodes)
    )


_ZONE = """\
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
"""
_HOST = _ZONE.replace("topology.kubernetes.io/zone", "kubernetes.io/hostname")
_APART, _HOST_APART = (
    f"{text}        matchLabelKeys: [pod-template-hash]\n" for text in (_ZONE, _HOST)
)
_SOFT = _ZONE.replace("DoNotSchedule", "ScheduleAnyway")


def _deployment(*constraints: str, replicas: int = 6, labels: str = "app: web") -> str:
    listed = "      topologySpreadConstraints:\n" if constraints else ""
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: {replicas}
  selector:
    matchLabels: {{{labels}}}
  template:
    metadata:
      labels: {{{labels}}}
    spec:
      containers:
      - {{name: web, image: nginx}}
{listed}{"".join(constraints)}"""


def _in_zone_a(workload: str) -> str:
    selector = "      nodeSelector: {topology.kubernetes.io/zone: zone-a}\n"
    return workload.replace("      containers:\n", f"{selector}      containers:\n")


def _gang(constraint: str) -> str:
    group = "      schedulingGroup: {podGroupName: web}\n"
    return _deployment(constraint).replace("      containers:\n", f"{group}      containers:\n")


def _stateful_set(constraint: str) -> str:
    claims = """\
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
    return _deployment(constraint).replace("kind: Deployment", "kind: StatefulSet") + claims


_STORAGE_CLASS = """\
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: zonal
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: ebs.csi.aws.com
volumeBindingMode: Immediate
"""

_OTHER = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache}
spec: {template: {metadata: {labels: {app: web, part: cache}}, spec: {containers: []}}}
"""


def _autoscaler(most: int) -> str:
    return f"""\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: web}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  minReplicas: 2
  maxReplicas: {most}
"""


_DEFAULTED = (
    "{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, "
    "labelSelector: {matchLabels: {app: web}}}"
)

ADVICE_EXAMPLES: Mapping[str, AdviceExample] = MappingProxyType(
    {
        "TSC101": AdviceExample(
            _deployment(_ZONE.replace("app: web", "app: shop")), _deployment(_ZONE)
        ),
        "TSC102": AdviceExample(
            _deployment(_ZONE.replace("{matchLabels: {app: web}}", "{}")), _deployment(_ZONE)
        ),
        "TSC103": AdviceExample(
            _deployment(_ZONE.replace("topology.kubernetes.io/zone", "zone")), _deployment(_ZONE)
        ),
        "TSC104": AdviceExample(
            _deployment(_ZONE + "        minDomains: 4\n"),
            _deployment(_ZONE + "        minDomains: 3\n"),
        ),
        "TSC105": AdviceExample(
            _deployment(_HOST)
            + _nodes("a1", "b1")
            + _node("cp", "zone-a", "taints: [{key: control-plane, effect: NoSchedule}]"),
            _deployment(_HOST + "        nodeTaintsPolicy: Honor\n")
            + _nodes("a1", "b1")
            + _node("cp", "zone-a", "taints: [{key: control-plane, effect: NoSchedule}]"),
        ),
        "TSC106": AdviceExample(
            _deployment(_ZONE, _HOST) + _nodes("a1", "b1", "b2") + _pods("a1", "b1", "b1"),
            _deployment(_ZONE, _HOST) + _nodes("a1", "b1", "b2") + _pods("a1", "b1", "b2"),
        ),
        "TSC107": AdviceExample(
            _deployment(_ZONE), _deployment(_ZONE + "        matchLabelKeys: [pod-template-hash]\n")
        ),
        "TSC108": AdviceExample(
            _stateful_set(_ZONE) + _STORAGE_CLASS,
            _stateful_set(_ZONE) + _STORAGE_CLASS.replace("Immediate", "WaitForFirstConsumer"),
        ),
        "TSC109": AdviceExample(
            _deployment(_ZONE, _HOST) + _nodes("a1", "b1", "b2", "b3"),
            _deployment(_ZONE, _HOST) + _nodes("a1", "a2", "b1", "b2"),
        ),
        "TSC110": AdviceExample(_deployment(replicas=3), _deployment(_SOFT, replicas=3)),
        "TSC111": AdviceExample(
            _deployment(_ZONE + "        matchLabelKeys: [pod-template-hash]\n"),
            _deployment(_ZONE),
            gates={
                "MatchLabelKeysInPodTopologySpread": False,
                "MatchLabelKeysInPodTopologySpreadSelectorMerge": False,
            },
        ),
        "TSC112": AdviceExample(
            _deployment(_ZONE.replace("maxSkew: 1", "maxSkew: 6")), _deployment(_ZONE)
        ),
        "TSC113": AdviceExample(
            _deployment(_ZONE) + _OTHER,
            _deployment(
                _ZONE.replace("app: web", "app: web, part: server"), labels="app: web, part: server"
            )
            + _OTHER,
        ),
        "TSC114": AdviceExample(
            _deployment(_ZONE) + NODES + _pods("a1", "a2", "b1"),
            _deployment(_ZONE) + NODES + _pods("a1", "b1", "c1"),
        ),
        "TSC115": AdviceExample(
            _deployment() + NODES + _pods("a1", "b1"),
            _deployment() + NODES + _pods("a1", "b1", constraints=_DEFAULTED),
            profile=True,
        ),
        "TSC116": AdviceExample(
            _in_zone_a(_deployment(_ZONE + "        nodeAffinityPolicy: Ignore\n")),
            _in_zone_a(_deployment(_ZONE + "        nodeAffinityPolicy: Honor\n")),
        ),
        "TSC117": AdviceExample(
            _stateful_set(_SOFT + "        matchLabelKeys: [pod-template-hash]\n"),
            _stateful_set(_SOFT + "        matchLabelKeys: [controller-revision-hash]\n"),
        ),
        "TSC118": AdviceExample(
            _deployment(_ZONE) + _autoscaler(12), _deployment(_ZONE) + _autoscaler(3)
        ),
        "TSC119": AdviceExample(
            _deployment(_ZONE, _HOST, replicas=3) + _nodes("a1", "a2", "a3", "b1"),
            _deployment(_APART, _HOST_APART, replicas=3) + _nodes("a1", "a2", "a3", "b1"),
        ),
        "TSC120": AdviceExample(_in_zone_a(_deployment(_ZONE)), _in_zone_a(_deployment(_HOST))),
        "TSC121": AdviceExample(_gang(_ZONE), _gang(_SOFT)),
    }
)
"""Rule id -> example, in order."""
