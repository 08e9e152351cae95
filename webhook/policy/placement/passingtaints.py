"""
Taints for a state of a node that passes, which controllers add and remove.

``is_passing`` answers for the key of a taint. Such a taint keeps pods away now, as any other, but
it says nothing about the pods that the node takes later, and no pod should tolerate it.
"""

CONDITION_TAINTS = frozenset(
    {
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/out-of-service",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node.cloudprovider.kubernetes.io/uninitialized",
    }
)
"""
Keys of Kubernetes' own taints for a state of the node.

Source: k8s.io/api core/v1 well_known_taints.go; cloud-provider api/well_known_taints.go.
"""

REMOVAL_TAINTS = frozenset(
    {
        "DeletionCandidateOfClusterAutoscaler",
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
    }
)
"""
Keys of taints of nodes that an autoscaler is about to delete, unless it removes the taint.

Source: cluster-autoscaler utils/taints/taints.go ``ToBeDeletedTaint``, ``DeletionCandidateTaint``;
sigs.k8s.io/karpenter pkg/apis/v1/taints.go ``DisruptedTaintKey``.
"""

STARTUP_TAINTS = frozenset(
    {
        "ebs.csi.aws.com/agent-not-ready",
        "efs.csi.aws.com/agent-not-ready",
        "karpenter.sh/unregistered",
        "node.cilium.io/agent-not-ready",
    }
)
"""
Keys of taints of new nodes, which an agent or a controller removes once it is ready.

Source: aws-ebs-csi-driver and aws-efs-csi-driver pkg/driver ``AgentNotReadyNodeTaintKey``;
sigs.k8s.io/karpenter pkg/apis/v1/taints.go ``UnregisteredTaintKey``; cilium
Documentation/installation/taints.rst.
"""

PASSING_PREFIXES = (
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
)
"""
Prefixes of keys of taints that new nodes lose, or that are for a state of a node.

Source: cluster-autoscaler utils/taints/taints.go ``IgnoreTaintPrefix``, ``StartupTaintPrefix``,
``StatusTaintPrefix``.
"""

PASSING_TAINTS = CONDITION_TAINTS | REMOVAL_TAINTS | STARTUP_TAINTS
"""Keys of all taints for a state that passes, besides those with a prefix for such taints."""


def is_passing(key: str) -> bool:
    """Whether a taint with a key is for a state of the node that passes."""
    return key in PASSING_TAINTS or key.startswith(PASSING_PREFIXES)
