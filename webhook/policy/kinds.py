"""
The table of kinds: all kinds that evenspread reads, and what it uses each one for.

``KIND_ROWS`` is the entry point; every other list of kinds is derived from it. A kind that an
operator configures joins the derived lists in ``webhook.config.models``, not this table.

Source: k8s.io/api core/v1, apps/v1 and batch/v1 types.go; kubernetes
pkg/scheduler/framework/plugins/helper/spread.go ``DefaultSelector`` for the selectors; the
``shortNames`` of kube-apiserver's resources, and of the CustomResourceDefinitions.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from webhook.policy.model import GroupKind
from webhook.policy.paths import TemplatePath
from webhook.policy.places import ENTRIES, TemplatePatterns, TemplatePlaces


class KindRow(msgspec.Struct, frozen=True, gc=False):
    """
    One row of the table.

    Attributes:
        version: The API version without its group; empty for a custom kind, whose version and
            plural only the API server knows.
        plural: The resource name in request paths.
        template: Path of the pod template; empty for a Pod; None for a kind without one. Kinds with
            several templates have patterns.
        selector: Path of the label selector that joins the selector of the pods' defaults: that of
            a Service, and of the controllers that kube-scheduler knows. None for all others.
        namespaced: Whether its objects are in namespaces.
        watched: Whether ``evenspread serve`` keeps a cache of its objects.
        audited: Whether an audit lists its objects.
        short: Its short names for kubectl.
    """

    group: str
    version: str
    kind: str
    plural: str
    template: TemplatePlaces | None = None
    selector: TemplatePath | None = None
    namespaced: bool = True
    watched: bool = False
    audited: bool = True
    short: tuple[str, ...] = ()

    @property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """The API version as objects write it, such as ``apps/v1`` and ``v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The request path of the API version, such as ``/apis/apps/v1``."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str) -> str:
        """The request path of all objects, or of those in a namespace if one is given."""
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{self.root}{inside}/{self.plural}"


_TEMPLATE, _SELECTOR = ("spec", "template"), ("spec", "selector")
_JOB_TEMPLATE = ("spec", "jobTemplate", "spec", "template")
_REPLICATED_JOBS = TemplatePatterns(
    (("spec", "replicatedJobs", ENTRIES, "template", "spec", "template"),)
)
_LEADER_AND_WORKERS = TemplatePatterns(
    (
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    )
)

KIND_ROWS: tuple[KindRow, ...] = (
    KindRow("", "v1", "Namespace", "namespaces", namespaced=False, watched=True),
    KindRow("", "v1", "Node", "nodes", namespaced=False, watched=True),
    KindRow("", "v1", "Service", "services", None, _SELECTOR, watched=True),
    KindRow("", "v1", "Pod", "pods", (), short=("po",)),
    KindRow(
        "", "v1", "ReplicationController", "replicationcontrollers",
        _TEMPLATE, _SELECTOR, watched=True, short=("rc",),
    ),
    KindRow("", "v1", "PodTemplate", "podtemplates", ("template",), audited=False),
    KindRow("apps", "v1", "Deployment", "deployments", _TEMPLATE, short=("deploy",)),
    KindRow(
        "apps", "v1", "ReplicaSet", "replicasets",
        _TEMPLATE, _SELECTOR, watched=True, short=("rs",),
    ),
    KindRow(
        "apps", "v1", "StatefulSet", "statefulsets",
        _TEMPLATE, _SELECTOR, watched=True, short=("sts",),
    ),
    KindRow("apps", "v1", "DaemonSet", "daemonsets", _TEMPLATE, short=("ds",)),
    KindRow("apps", "v1", "ControllerRevision", "controllerrevisions", audited=False),
    KindRow("batch", "v1", "Job", "jobs", _TEMPLATE),
    KindRow("batch", "v1", "CronJob", "cronjobs", _JOB_TEMPLATE, short=("cj",)),
    KindRow("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False),
    KindRow("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", audited=False),
    KindRow("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False, audited=False),
    KindRow("storage.k8s.io", "v1", "CSINode", "csinodes", namespaced=False, audited=False),
    KindRow("storage.k8s.io", "v1", "CSIDriver", "csidrivers", namespaced=False, audited=False),
    KindRow("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", audited=False),
    KindRow(
        "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments",
        namespaced=False, audited=False,
    ),
    KindRow(
        "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses",
        namespaced=False, audited=False,
    ),
    KindRow("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False),
    KindRow("", "v1", "LimitRange", "limitranges", audited=False),
    KindRow("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", audited=False),
    KindRow("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    KindRow(
        "argoproj.io", "", "Rollout", "rollouts",
        _TEMPLATE, _SELECTOR, watched=True, short=("ro",),
    ),
    KindRow("apps.kruise.io", "", "BroadcastJob", "broadcastjobs", _TEMPLATE, short=("bcj",)),
    KindRow("apps.kruise.io", "", "CloneSet", "clonesets", _TEMPLATE, short=("clone",)),
    KindRow("apps.kruise.io", "", "DaemonSet", "daemonsets", _TEMPLATE, short=("daemon", "ads")),
    KindRow("apps.kruise.io", "", "StatefulSet", "statefulsets", _TEMPLATE, short=("sts", "asts")),
    KindRow(
        "apps.openshift.io", "", "DeploymentConfig", "deploymentconfigs",
        _TEMPLATE, short=("dc",),
    ),
    KindRow("jobset.x-k8s.io", "", "JobSet", "jobsets", _REPLICATED_JOBS),
    KindRow(
        "leaderworkerset.x-k8s.io", "", "LeaderWorkerSet", "leaderworkersets",
        _LEADER_AND_WORKERS, short=("lws",),
    ),
    KindRow(
        "serving.knative.dev", "", "Service", "services",
        _TEMPLATE, short=("kservice", "ksvc"),
    ),
    KindRow("keda.sh", "", "ScaledObject", "scaledobjects"),
    KindRow("scheduling.k8s.io", "", "PodGroup", "podgroups"),
)  # fmt: skip
"""
Kubernetes' own kinds (built-in), then the custom kinds that every installation knows.

PodGroup is Kubernetes' own too, but in no stable version, and not in every cluster.
"""

BUILT_IN_KINDS: Mapping[GroupKind, KindRow] = MappingProxyType(
    {row.group_kind: row for row in KIND_ROWS if row.version}
)

CUSTOM_KINDS: Mapping[GroupKind, KindRow] = MappingProxyType(
    {row.group_kind: row for row in KIND_ROWS if not row.version}
)


BUILT_IN_TEMPLATES: Mapping[GroupKind, TemplatePath] = MappingProxyType(
    {kind: row.template for kind, row in BUILT_IN_KINDS.items() if isinstance(row.template, tuple)}
)
"""Kubernetes' own kinds with a pod template -> its path; none of them has several."""

SHIPPED_TEMPLATES: Mapping[GroupKind, TemplatePlaces] = MappingProxyType(
    {kind: row.template for kind, row in CUSTOM_KINDS.items() if row.template is not None}
)
"""Custom kinds with pod templates that every installation knows -> where they are."""

KNOWN_TEMPLATES: Mapping[GroupKind, TemplatePlaces] = MappingProxyType(
    {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES}
)
"""The kinds of both."""

BUILT_IN_OWNERS: tuple[KindRow, ...] = tuple(
    row for row in BUILT_IN_KINDS.values() if row.template and row.selector
)
"""The controllers whose label selector kube-scheduler joins to that of the Services."""

DEFAULT_NAMESPACE = "default"  # namespace of objects that name none, as in kubectl

NAMESPACE_KIND = GroupKind("", "Namespace")
NODE = GroupKind("", "Node")
SERVICE = GroupKind("", "Service")
POD = GroupKind("", "Pod")
BINDING = GroupKind("", "Binding")
POD_TEMPLATE = GroupKind("", "PodTemplate")
REPLICATION_CONTROLLER = GroupKind("", "ReplicationController")
DEPLOYMENT = GroupKind("apps", "Deployment")
REPLICA_SET = GroupKind("apps", "ReplicaSet")
STATEFUL_SET = GroupKind("apps", "StatefulSet")
DAEMON_SET = GroupKind("apps", "DaemonSet")
CONTROLLER_REVISION = GroupKind("apps", "ControllerRevision")
JOB = GroupKind("batch", "Job")
CRON_JOB = GroupKind("batch", "CronJob")
ROLLOUT = GroupKind("argoproj.io", "Rollout")
JOB_SET = GroupKind("jobset.x-k8s.io", "JobSet")
LEADER_WORKER_SET = GroupKind("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
DEPLOYMENT_CONFIG = GroupKind("apps.openshift.io", "DeploymentConfig")
KNATIVE_SERVICE = GroupKind("serving.knative.dev", "Service")
HORIZONTAL_POD_AUTOSCALER = GroupKind("autoscaling", "HorizontalPodAutoscaler")
SCALED_OBJECT = GroupKind("keda.sh", "ScaledObject")

STORAGE_CLASS = GroupKind("storage.k8s.io", "StorageClass")
VOLUME_CLAIM = GroupKind("", "PersistentVolumeClaim")
VOLUME = GroupKind("", "PersistentVolume")
RUNTIME_CLASS = GroupKind("node.k8s.io", "RuntimeClass")
LIMIT_RANGE = GroupKind("", "LimitRange")
CSI_NODE = GroupKind("storage.k8s.io", "CSINode")
CSI_DRIVER = GroupKind("storage.k8s.io", "CSIDriver")
PRIORITY_CLASS = GroupKind("scheduling.k8s.io", "PriorityClass")
CSI_CAPACITY = GroupKind("storage.k8s.io", "CSIStorageCapacity")
VOLUME_ATTACHMENT = GroupKind("storage.k8s.io", "VolumeAttachment")
POD_DISRUPTION_BUDGET = GroupKind("policy", "PodDisruptionBudget")
POD_GROUP = GroupKind("scheduling.k8s.io", "PodGroup")

AUTOSCALERS = frozenset({HORIZONTAL_POD_AUTOSCALER, SCALED_OBJECT})
"""Kinds that scale workloads; autoscaling/v1, which every API server has, suffices for audits."""
