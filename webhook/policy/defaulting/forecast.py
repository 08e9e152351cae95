"""
Forecast the defaults of the pods that a workload is going to create.

``forecast_defaults`` writes the warning about a new workload in recommend mode. Defaulting never
changes the workload itself; its pods, and the ReplicaSet or Job that controls them, may not exist
yet.
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
    """The facts of a cluster, as if the controller of a workload's pods existed already."""

    def __init__(self, facts: Facts, labels: dict[str, str]) -> None:
        self._labels = labels
        self.services = facts.services
        self.namespace_labels = facts.namespace_labels
        self.schedulable_nodes = facts.schedulable_nodes
        self.nodes_with = facts.nodes_with
        self.domains = facts.domains
        self.label_keys = facts.label_keys
        self.tainted_domains = facts.tainted_domains

    def owner_selector(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        """Use the template's labels as the selector, which always selects them."""
        del namespace  # the controller is in the namespace of its pods
        return LabelSelector(self._labels) if owner.kind in _SELECTING else None


def forecast_defaults(request: AdmissionRequest, policy: Policy, facts: Facts) -> tuple[str, ...]:
    """
    Describe the defaults of the pods of a new workload.

    Returns:
        One warning; none for pods, updates, objects that a controller created, and workloads whose
        pods get no defaults.
    """
    template = request.template
    if request.operation != CREATE or request.kind == POD or request.controlled or not template:
        return ()
    pod = first_pod(request.kind, request.name, template)
    injection = forecast_injection(pod, request.namespace, policy, facts)
    if not injection.entries:
        return ()
    constraints = ", ".join(
        f"{constraint.topology_key} (maxSkew {constraint.max_skew}, "
        f"{constraint.when_unsatisfiable})"
        for constraint in (entry.constraint for entry in injection.entries)
    )
    profile = f"the defaults of profile {injection.profile}"
    return (f"evenspread would give its pods {profile}: {constraints}",)


def forecast_injection(pod: PodTemplate, namespace: str, policy: Policy, facts: Facts) -> Injection:
    """
    Forecast the defaults of a pod, from ``first_pod``, that a workload is going to create.

    The facts need not contain the workload.
    """
    return inject(pod, namespace, policy, ForecastFacts(facts, pod.labels))


def first_pod(kind: GroupKind, name: str, template: PodTemplate) -> PodTemplate:
    """Build a pod as a workload of this kind and name creates it."""
    metadata = template.metadata or ObjectMeta()
    row = POD_CONTROLLERS.get(kind)
    owners = (OwnerReference(row.api_version, row.kind, name, controller=True),) if row else ()
    pod_metadata = ObjectMeta(
        labels=metadata.labels, annotations=metadata.annotations, owner_references=owners
    )
    return PodTemplate(pod_metadata, template.spec)
