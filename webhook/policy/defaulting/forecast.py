"""
What the pods of a workload would get, told when the workload is created in recommend mode.

A workload itself is never changed by defaulting; its pods do not exist yet, nor, perhaps, the
ReplicaSet or Job between them.
"""

from webhook.policy.defaulting.inject import Injection, inject
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.model import GroupKind, LabelSelector, ObjectMeta, OwnerReference, PodTemplate
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


class Foreseen:
    """The facts of a cluster in which a workload's own controller exists already."""

    def __init__(self, facts: Facts, labels: dict[str, str]) -> None:
        """Take the facts as they are, and the labels of the workload's pod template."""
        self._labels = labels
        self.services = facts.services
        self.namespace_labels = facts.namespace_labels
        self.schedulable_nodes = facts.schedulable_nodes
        self.nodes_with = facts.nodes_with
        self.domains = facts.domains
        self.label_keys = facts.label_keys
        self.tainted_domains = facts.tainted_domains

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
    pod = first_pod(request.kind, request.name, template)
    injection = foresee(pod, request.namespace, policy, facts)
    if not injection.entries:
        return ()
    told = ", ".join(
        f"{each.topology_key} (maxSkew {each.max_skew}, {each.when_unsatisfiable})"
        for each in (entry.constraint for entry in injection.entries)
    )
    return (f"evenspread would give its pods the defaults of profile {injection.profile}: {told}",)


def foresee(pod: PodTemplate, namespace: str, policy: Policy, facts: Facts) -> Injection:
    """
    What a pod will be given that a workload is going to create.

    Args:
        pod: From ``first_pod``.
        namespace: Where the workload is.
        policy: The profiles and gates in force.
        facts: The cluster as it is known; the workload need not be.
    """
    return inject(pod, namespace, policy, Foreseen(facts, pod.labels))


def first_pod(kind: GroupKind, name: str, template: PodTemplate) -> PodTemplate:
    """A pod as a workload of this kind and name makes it; it stands for those to come."""
    metadata = template.metadata or ObjectMeta()
    owners: tuple[OwnerReference, ...] = ()
    if kind in OWNERS:
        version, controller = OWNERS[kind]
        owners = (OwnerReference(version, controller, name, controller=True),)
    made = ObjectMeta(
        labels=metadata.labels, annotations=metadata.annotations, owner_references=owners
    )
    return PodTemplate(made, template.spec)
