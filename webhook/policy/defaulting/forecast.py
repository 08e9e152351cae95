"""
What the pods of a workload would get, told when the workload is created in recommend mode.

A workload itself is never changed by defaulting; its pods do not exist yet, nor, perhaps, the
ReplicaSet or Job between them.
"""

from collections.abc import Mapping

from webhook.policy.defaulting.inject import Injection, inject
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.kinds import (
    BUILT_IN_KINDS,
    BUILT_IN_OWNERS,
    BUILT_IN_TEMPLATES,
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    POD,
    POD_TEMPLATE,
    REPLICA_SET,
    KindRow,
)
from webhook.policy.model import GroupKind, LabelSelector, ObjectMeta, OwnerReference, PodTemplate
from webhook.policy.request import CREATE, AdmissionRequest

_CREATED_KINDS = {DEPLOYMENT: REPLICA_SET, CRON_JOB: JOB}
"""Workloads whose pods are controlled by an object of another kind, which the workload creates."""

POD_CONTROLLERS: Mapping[GroupKind, KindRow] = {
    kind: BUILT_IN_KINDS[_CREATED_KINDS.get(kind, kind)]
    for kind in BUILT_IN_TEMPLATES.keys() - {POD, POD_TEMPLATE}
}
"""Kind of a workload -> kind of its pods' controller."""

_SELECTING = frozenset(row.kind for row in BUILT_IN_OWNERS)


class ForecastFacts:
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
        return LabelSelector(self._labels) if owner.kind in _SELECTING else None


def forecast_defaults(request: AdmissionRequest, policy: Policy, facts: Facts) -> tuple[str, ...]:
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
    injection = forecast_injection(pod, request.namespace, policy, facts)
    if not injection.entries:
        return ()
    told = ", ".join(
        f"{each.topology_key} (maxSkew {each.max_skew}, {each.when_unsatisfiable})"
        for each in (entry.constraint for entry in injection.entries)
    )
    return (f"evenspread would give its pods the defaults of profile {injection.profile}: {told}",)


def forecast_injection(pod: PodTemplate, namespace: str, policy: Policy, facts: Facts) -> Injection:
    """
    What a pod will be given that a workload is going to create.

    Args:
        pod: From ``first_pod``.
        namespace: Where the workload is.
        policy: The profiles and gates in force.
        facts: The cluster as it is known; the workload need not be.
    """
    return inject(pod, namespace, policy, ForecastFacts(facts, pod.labels))


def first_pod(kind: GroupKind, name: str, template: PodTemplate) -> PodTemplate:
    """A pod as a workload of this kind and name makes it; it stands for those to come."""
    metadata = template.metadata or ObjectMeta()
    owners: tuple[OwnerReference, ...] = ()
    if kind in POD_CONTROLLERS:
        row = POD_CONTROLLERS[kind]
        owners = (OwnerReference(row.api_version, row.kind, name, controller=True),)
    made = ObjectMeta(
        labels=metadata.labels, annotations=metadata.annotations, owner_references=owners
    )
    return PodTemplate(made, template.spec)
