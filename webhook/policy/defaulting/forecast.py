"""
Forecast what pods get, for the warnings of recommend mode.

``describe_additions`` writes the warning about a new pod, whose label ``find_labels`` decides, and
``forecast_defaults`` the one about a new workload. Defaulting never changes the workload itself;
its pods, and the ReplicaSet or Job that controls them, may not exist yet.
"""

from collections.abc import Iterator, Mapping

from webhook.policy import kinds
from webhook.policy.defaulting.inject import Injection, inject
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.defaulting.selector import SCHEDULER_OWNERS
from webhook.policy.facts import DerivedFacts, Facts
from webhook.policy.model import GroupKind, LabelSelector, ObjectMeta, OwnerReference, PodTemplate
from webhook.policy.paths import is_constraint_list
from webhook.policy.request import CREATE, AdmissionRequest
from webhook.policy.scaledown.label import needs_label
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL

_CREATED_KINDS = {
    kinds.DEPLOYMENT: kinds.REPLICA_SET,
    kinds.CRON_JOB: kinds.JOB,
    kinds.ROLLOUT: kinds.REPLICA_SET,
    kinds.JOB_SET: kinds.JOB,
    kinds.LEADER_WORKER_SET: kinds.STATEFUL_SET,
    kinds.DEPLOYMENT_CONFIG: kinds.REPLICATION_CONTROLLER,
    kinds.KNATIVE_SERVICE: kinds.REPLICA_SET,
}
"""Workloads whose pods are controlled by an object of another kind, which the workload creates."""

_NO_WORKLOADS = frozenset({kinds.POD, kinds.POD_TEMPLATE})  # no controller has them as pods

POD_CONTROLLERS: Mapping[GroupKind, kinds.KindRow] = {
    kind: kinds.BUILT_IN_KINDS[_CREATED_KINDS.get(kind, kind)]
    for kind in (kinds.BUILT_IN_TEMPLATES.keys() | _CREATED_KINDS.keys()) - _NO_WORKLOADS
}
"""Kind of a workload -> kind of its pods' controller; a custom kind controls them itself."""


def describe_additions(injection: Injection | None, *, labelled: bool) -> Iterator[str]:
    """
    Describe what a new pod would get in apply mode.

    Args:
        injection: Its defaults; None if the pod would stay unchanged.
        labelled: Whether it would get the label of pods that are ranked.
    """
    if injection is not None and injection.entries:
        keys = ", ".join(injection.keys)
        yield f"evenspread would add the defaults of profile {injection.profile}: {keys}"
    if labelled:
        yield f"evenspread would label it {SCALE_DOWN_LABEL}: {KEEP_SPREAD}"


def find_labels(
    injection: Injection, pod: PodTemplate, namespace: str, facts: Facts
) -> bool | None:
    """Return whether a new pod has labels, if it gets the one of a rank; None otherwise."""
    if injection.ranks(pod.constraints) and needs_label(pod, namespace, facts):
        return bool(pod.labels)
    return None


class ForecastFacts(DerivedFacts):
    """The facts of a cluster, as if the controller of a workload's pods existed already."""

    def __init__(self, facts: Facts, selector: LabelSelector) -> None:
        """Take the facts, and the selector of the controller, which selects the pods."""
        super().__init__(facts)
        self._selector = selector

    def owner_selector(self, namespace: str, owner: OwnerReference, /) -> LabelSelector | None:
        """Return the selector if the owner is of a kind whose selector counts."""
        if (owner.api_version, owner.kind) in SCHEDULER_OWNERS:
            return self._selector
        # A workload of a custom kind, which exists.
        return super().owner_selector(namespace, owner)


def forecast_defaults(request: AdmissionRequest, policy: Policy, facts: Facts) -> tuple[str, ...]:
    """
    Describe the defaults and the label that the pods of a new workload would get in apply mode.

    Returns:
        At most two warnings; none for pods, updates, objects that a controller created, and
        workloads whose pods would get neither, or do get them.
    """
    template = request.template
    if is_constraint_list(request.path or ()):
        return ()
    if (
        request.operation != CREATE
        or request.kind == kinds.POD
        or request.controlled
        or not template
    ):
        return ()
    pod = first_pod(request.kind, request.name, template)
    injection = forecast_injection(pod, request.namespace, policy, facts)
    if not injection.recommended:
        return ()
    return tuple(_describe_forecast(injection, pod, request.namespace, facts))


def _describe_forecast(
    injection: Injection, pod: PodTemplate, namespace: str, facts: Facts
) -> Iterator[str]:
    if injection.entries:
        constraints = ", ".join(
            f"{constraint.topology_key} (maxSkew {constraint.max_skew}, "
            f"{constraint.when_unsatisfiable})"
            for constraint in (entry.constraint for entry in injection.entries)
        )
        profile = f"the defaults of profile {injection.profile}"
        yield f"evenspread would give its pods {profile}: {constraints}"
    if injection.ranks(pod.constraints) and needs_label(
        pod, namespace, ForecastFacts(facts, LabelSelector(pod.labels))
    ):
        yield f"evenspread would label its pods {SCALE_DOWN_LABEL}: {KEEP_SPREAD}"


def forecast_injection(pod: PodTemplate, namespace: str, policy: Policy, facts: Facts) -> Injection:
    """
    Forecast the defaults of a pod, from ``first_pod``, that a workload is going to create.

    The facts need not contain the workload: the labels of its template, which it always selects,
    are used as its selector.
    """
    return inject(pod, namespace, policy, ForecastFacts(facts, LabelSelector(pod.labels)))


def first_pod(kind: GroupKind, name: str, template: PodTemplate) -> PodTemplate:
    """Build a pod as a workload of this kind and name creates it."""
    metadata = template.metadata or ObjectMeta()
    pod_metadata = ObjectMeta(
        labels=metadata.labels,
        annotations=metadata.annotations,
        owner_references=() if kind in _NO_WORKLOADS else (_refer_to_controller(kind, name),),
    )
    return PodTemplate(pod_metadata, template.spec)


def _refer_to_controller(kind: GroupKind, name: str) -> OwnerReference:
    """Refer to the controller of a workload's pods; the version of a custom kind is any."""
    row = POD_CONTROLLERS.get(kind)
    if row is None:
        return OwnerReference(f"{kind.group}/v1", kind.kind, name, controller=True)
    return OwnerReference(row.api_version, row.kind, name, controller=True)
