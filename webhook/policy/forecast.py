"""
What the pods of a workload would get, told when the workload is created in recommend mode.

A workload itself is never changed by defaulting; its pods do not exist yet, nor, perhaps, the
ReplicaSet or Job between them.
"""

from webhook.policy.defaults import inject
from webhook.policy.facts import Facts
from webhook.policy.model import GroupKind, LabelSelector, ObjectMeta, OwnerReference, PodTemplate
from webhook.policy.profiles import Policy
from webhook.policy.request import CREATE, AdmissionRequest
from webhook.policy.workloads import POD

OWNERS = {
    GroupKind("apps", "Deployment"): ("apps/v1", "ReplicaSet"),
    GroupKind("apps", "ReplicaSet"): ("apps/v1", "ReplicaSet"),
    GroupKind("apps", "StatefulSet"): ("apps/v1", "StatefulSet"),
    GroupKind("apps", "DaemonSet"): ("apps/v1", "DaemonSet"),
    GroupKind("batch", "Job"): ("batch/v1", "Job"),
    GroupKind("batch", "CronJob"): ("batch/v1", "Job"),
    GroupKind("", "ReplicationController"): ("v1", "ReplicationController"),
}
"""Kind of a workload -> API version and kind of its pods' controller."""

SELECTING = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController"})
"""Controllers whose selector joins that of the Services."""


class _Owned:
    """The facts of a cluster in which a workload's own controller exists already."""

    def __init__(self, facts: Facts, labels: dict[str, str]) -> None:
        self._facts = facts
        self._labels = labels
        self.services = facts.services
        self.namespace_labels = facts.namespace_labels
        self.schedulable_nodes = facts.schedulable_nodes
        self.nodes_with = facts.nodes_with
        self.domains = facts.domains

    def owner_selector(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        """The template's labels stand for the selector, which always selects them."""
        del namespace  # the controller is where its pods are
        return LabelSelector(self._labels) if owner.kind in SELECTING else None


def forecast(request: AdmissionRequest, policy: Policy, facts: Facts) -> tuple[str, ...]:
    """
    Tell what the pods of a new workload would get.

    Returns:
        One warning; nothing for pods, updates, kinds that a controller made, and workloads whose
        pods would get nothing.
    """
    template = request.template
    if request.operation != CREATE or request.kind == POD or request.controlled or not template:
        return ()
    pod = PodTemplate(_metadata(request, template), template.spec)
    injection = inject(pod, request.namespace, policy, _Owned(facts, template.labels))
    if not injection.entries:
        return ()
    told = ", ".join(
        f"{each.topology_key} (maxSkew {each.max_skew}, {each.when_unsatisfiable})"
        for each in (entry.constraint for entry in injection.entries)
    )
    return (f"evenspread would give its pods the defaults of profile {injection.profile}: {told}",)


def _metadata(request: AdmissionRequest, template: PodTemplate) -> ObjectMeta:
    metadata = template.metadata or ObjectMeta()
    if request.kind not in OWNERS:
        return ObjectMeta(labels=metadata.labels, annotations=metadata.annotations)
    version, kind = OWNERS[request.kind]
    owner = OwnerReference(version, kind, request.name, controller=True)
    return ObjectMeta(
        labels=metadata.labels, annotations=metadata.annotations, owner_references=(owner,)
    )
