"""
Decode the object of advice from JSON.

``decode_subject`` is the entry point. It reads fields that no other judgement needs (replicas,
affinity, tolerations, volume claims, host ports), so it is called only for objects that get advice.

Two pods that request the same host port never share a node. Replicas of a template with host ports
are therefore a node apart, as by an anti-affinity on hostname. Nothing keeps them in different
zones. Source: kube-scheduler util ``GetHostPorts``; k8s.io kubernetes
pkg/apis/core/v1/defaults.go ``SetDefaults_PodSpec``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from webhook.policy.advice.podcount import (
    TemplateHolder,
    count_groups,
    count_pods,
    name_part,
    number_members,
)
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.kinds import (
    BUILT_IN_TEMPLATES,
    DAEMON_SET,
    DEPLOYMENT,
    DEPLOYMENT_CONFIG,
    REPLICATION_CONTROLLER,
    ROLLOUT,
    STATEFUL_SET,
)
from webhook.policy.model import GroupKind, ObjectMeta
from webhook.policy.paths import FieldPath, find_value, is_array, is_object
from webhook.policy.places import wrap_bare_list
from webhook.policy.podlabels import COMPLETION_INDEX
from webhook.policy.rolloutlimits import DOUBLING, RolloutLimits, read_limits

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"  # takes precedence


class _Outer(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta | None = None


def decode_subject(
    obj: bytes | msgspec.Raw, kind: GroupKind, path: FieldPath, namespace: str = ""
) -> Subject | None:
    """
    Decode a subject.

    Args:
        path: Path of the pod template, or of a bare list of constraints; empty for pods.
        namespace: Its namespace; empty to take it from the object.

    Returns:
        None if the object has no pod template.

    Raises:
        msgspec.DecodeError: The object is no JSON, or a decoded member has a type that no API
            server sends.
    """
    steps = [msgspec.Raw(obj)]
    for step in path:
        steps.append(_decode_member(steps[-1], step))
    template = wrap_bare_list(steps[-1], path)
    pod = msgspec.json.decode(template, type=SubjectPod | None)
    if pod is None:
        return None
    metadata = msgspec.json.decode(obj, type=_Outer).metadata or ObjectMeta()
    holders = _decode_holders(kind, path, steps)
    holder = (holders[-1] if holders else None) or TemplateHolder()
    return Subject(
        kind=kind,
        path=path,
        metadata=metadata,
        namespace=namespace or metadata.namespace,
        pod=pod,
        part=name_part(kind, path, holders),
        replicas=count_pods(kind, path, holders),
        groups=count_groups(kind, path, holders),
        members=number_members(kind, path, holders),
        claims=bool(holder.volume_claim_templates),
        claim_classes=tuple(_list_claim_classes(holder.volume_claim_templates)),
        recreates=_may_recreate(holder.strategy),
        on_delete=find_value(holder.update_strategy, ("type",)) == "OnDelete",
        is_parallel=holder.pod_management_policy == "Parallel",
        paused=holder.paused is True,
        limits=find_limits(kind, holder),
        alone_on_node=bool(path) and requests_host_ports(template),
        selector_labels=find_selector_labels(kind, holder),
        given_labels=list_given_labels(holder),
    )


def _may_recreate(strategy: Any) -> bool:
    """Whether a strategy deletes all old pods first; that of a custom deployer is not known."""
    return is_object(strategy) and not {"Recreate", "Custom"}.isdisjoint(
        value for value in strategy.values() if isinstance(value, str)
    )


def find_limits(kind: GroupKind, holder: TemplateHolder) -> RolloutLimits | None:
    """
    Find the limits of a rolling update.

    Returns:
        None for another strategy, and for a kind without these limits.

    Source: kubernetes pkg/apis/apps/v1/defaults.go ``SetDefaults_DaemonSet``,
    ``SetDefaults_StatefulSet``; openshift api apps/v1 ``RollingDeploymentStrategyParams``.
    """
    strategy = holder.strategy
    if kind == DEPLOYMENT and find_value(strategy, ("type",)) in (None, "RollingUpdate"):
        return read_limits(find_value(strategy, ("rollingUpdate",)))
    if kind == DEPLOYMENT_CONFIG and find_value(strategy, ("type",)) in (None, "Rolling"):
        return read_limits(find_value(strategy, ("rollingParams",)))
    if kind == ROLLOUT:
        return _find_limits_of_rollout(strategy)
    rolling = find_value(holder.update_strategy, ("rollingUpdate",))
    if kind in ONE_AT_A_TIME and find_value(holder.update_strategy, ("type",)) != "OnDelete":
        return read_limits(rolling, RolloutLimits(0, 1))
    return None


def _find_limits_of_rollout(strategy: Any) -> RolloutLimits | None:
    """
    Find the limits of an Argo Rollout.

    A canary with traffic routing has pods beside all of the stable ones, whatever its maxSurge. At
    its last step these are all new pods, unless the stable ones get fewer with every step.

    Source: argo-rollouts utils/defaults ``GetMaxSurgeOrDefault``, rollout/bluegreen.go
    ``reconcileBlueGreenReplicaSets``, utils/replicaset
    ``CalculateReplicaCountsForTrafficRoutedCanary``.
    """
    if is_object(find_value(strategy, ("blueGreen",))):
        return DOUBLING
    canary = find_value(strategy, ("canary",))
    if not is_object(canary):
        return None
    if find_value(canary, ("trafficRouting",)) is None:
        return read_limits(canary)
    return None if find_value(canary, ("dynamicStableScale",)) is True else DOUBLING


ONE_AT_A_TIME = (DAEMON_SET, STATEFUL_SET)
"""Kinds of whose pods one may be missing unless they say otherwise."""


_SELECTED_BY_PAIRS = (REPLICATION_CONTROLLER, DEPLOYMENT_CONFIG)
"""Kinds whose selector is a map of labels without ``matchLabels`` around it."""


def find_selector_labels(kind: GroupKind, holder: TemplateHolder) -> Mapping[str, str]:
    """
    Find the labels by which the controller of a workload finds its pods; empty if there are none.

    Source: k8s.io api core/v1 ``ReplicationControllerSpec``, apps/v1 ``DeploymentSpec``; openshift
    api apps/v1 ``DeploymentConfigSpec``.
    """
    path = () if kind in _SELECTED_BY_PAIRS else ("matchLabels",)
    pairs = find_value(holder.selector, path)
    if not is_object(pairs):
        return {}
    labels = {key: value for key, value in pairs.items() if isinstance(value, str)}
    return labels if len(labels) == len(pairs) else {}


_NULL = msgspec.Raw(b"null")

_decode_holder = msgspec.json.Decoder(TemplateHolder | None).decode
_decode_members: Callable[[msgspec.Raw], dict[str, msgspec.Raw] | None]
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw] | None).decode
_decode_entries: Callable[[msgspec.Raw], list[msgspec.Raw] | None]
_decode_entries = msgspec.json.Decoder(list[msgspec.Raw] | None).decode


_EPHEMERAL = (
    ("canary", "canaryMetadata"),
    ("canary", "stableMetadata"),
    ("blueGreen", "activeMetadata"),
    ("blueGreen", "previewMetadata"),
)
"""Members of a Rollout's strategy with labels that its controller gives to pods."""


def list_given_labels(holder: TemplateHolder) -> tuple[str, ...]:
    """
    List the labels that the controller gives to the pods because of fields of the workload, sorted.

    Source: k8s.io api batch/v1 ``CompletionMode``; argo-rollouts v1alpha1 ``PodTemplateMetadata``.
    """
    keys = {COMPLETION_INDEX} if holder.completion_mode == "Indexed" else set[str]()
    if is_object(holder.strategy):
        for path in _EPHEMERAL:
            labels = find_value(holder.strategy, (*path, "labels"))
            keys.update(labels if is_object(labels) else ())
    return tuple(sorted(keys))


def _decode_member(value: msgspec.Raw, step: str | int) -> msgspec.Raw:
    if isinstance(step, str):
        return (_decode_members(value) or {}).get(step, _NULL)
    entries = _decode_entries(value) or []
    return entries[step] if step < len(entries) else _NULL


def _decode_holders(
    kind: GroupKind, path: FieldPath, steps: Sequence[msgspec.Raw]
) -> list[TemplateHolder | None]:
    """Decode the objects around a template; for a built-in kind only the innermost one."""
    if not path:
        return []
    if kind in BUILT_IN_TEMPLATES:
        return [_decode_holder(steps[-2])]
    return [
        None if isinstance(step, int) else _decode_holder(data)
        for data, step in zip(steps, path, strict=False)
    ]


def _list_claim_classes(templates: Any) -> Iterator[str | None]:
    """Yield the class of each claim template; None if it names none."""
    for template in templates if is_array(templates) else ():
        metadata, spec = (find_value(template, (name,)) for name in ("metadata", "spec"))
        annotated = find_value(metadata, ("annotations", _CLASS_ANNOTATION))
        named = annotated or find_value(spec, ("storageClassName",))
        yield named if isinstance(named, str) else None


ALWAYS = "Always"  # restartPolicy of a sidecar, an init container that keeps running


class ContainerPort(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A port of a container; ``host_port`` is None or 0 if it needs no port of the node."""

    container_port: int | None = None
    host_port: int | None = None


class PortContainer(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of a container or init container that decide on host ports."""

    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None


class NetworkedSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The fields of a pod's specification that decide on host ports.

    With ``host_network`` every container port is a host port.
    """

    containers: tuple[PortContainer, ...] | None = None
    init_containers: tuple[PortContainer, ...] | None = None
    host_network: bool | None = None


class NetworkedPod(msgspec.Struct, frozen=True):
    """A pod or pod template."""

    spec: NetworkedSpec | None = None


def requests_host_ports(pod: bytes | msgspec.Raw) -> bool:
    """
    Whether a pod or pod template requests a host port.

    Raises:
        msgspec.DecodeError: A decoded member has a type that no API server sends.
    """
    spec = msgspec.json.decode(pod, type=NetworkedPod).spec
    if spec is None:
        return False
    initial = spec.init_containers or ()
    sidecars = (container for container in initial if container.restart_policy == ALWAYS)
    return any(
        port.host_port or (spec.host_network and port.container_port)
        for container in (*(spec.containers or ()), *sidecars)
        for port in container.ports or ()
    )
