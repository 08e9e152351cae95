"""
Whether a pod template of a manifest is the one that the cluster stores, or a change of it.

``is_same_template`` is the entry point. Controllers create a new revision for any change.

Source: kubernetes pkg/controller/deployment/util ``EqualIgnoreHash``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from webhook.policy.paths import find_value, is_array, is_object
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.podlabels import ROLLOUT_HASH, TEMPLATE_HASH
from webhook.policy.templatedefaults import CONTAINER_LISTS, complete_template

_HASHES = (TEMPLATE_HASH, ROLLOUT_HASH)  # that Deployments and Rollouts add

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
"""
Annotation that ``kubectl rollout restart`` adds, and that ``kubectl apply`` of a manifest keeps.

Source: kubectl pkg/polymorphichelpers objectrestarter.go.
"""

_CONTAINER_FIELDS = frozenset(
    {
        "args", "command", "env", "envFrom", "lifecycle", "livenessProbe", "ports",
        "readinessProbe", "resources", "restartPolicy", "restartPolicyRules", "securityContext",
        "startupProbe", "stdin", "stdinOnce", "tty", "volumeDevices", "volumeMounts", "workingDir",
    }
)  # fmt: skip
_POD_FIELDS = frozenset(
    {
        "activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "dnsConfig",
        "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC", "hostNetwork",
        "hostPID", "hostUsers", "hostname", "hostnameOverride", "imagePullSecrets",
        "initContainers", "nodeName", "nodeSelector", "os", "overhead", "preemptionPolicy",
        "priority", "priorityClassName", "readinessGates", "resourceClaims", "resources",
        "runtimeClassName", "schedulingGates", "schedulingGroup", "serviceAccountName",
        "setHostnameAsFQDN", "shareProcessNamespace", "subdomain", "tolerations",
        "topologySpreadConstraints", "volumes",
    }
)  # fmt: skip
_WITHOUT_DEFAULT: Mapping[str, frozenset[str]] = MappingProxyType(
    {**dict.fromkeys(CONTAINER_LISTS, _CONTAINER_FIELDS), "spec": _POD_FIELDS}
)
"""
Name of a member -> the fields of what it holds that no version of Kubernetes sets in a template.

Source: k8s.io/api core/v1 types.go ``PodSpec``, ``Container``, as of Kubernetes 1.36.
"""


def is_same_template(stored: Any, written: Any, applied: Any = None) -> bool:
    """
    Whether the template of a manifest becomes a stored one, except for its hash.

    What only the stored template has was removed from the manifest if the manifest had it when it
    was last applied; another client added it otherwise. If that is not known, a field that has no
    default was removed, and any other counts as a default of another version of Kubernetes.

    Of an abridged template, only what placement looks at is compared.

    Args:
        stored: The template as kube-apiserver returns it, decoded from JSON.
        written: The template of the manifest, or a stored one.
        applied: The template of the manifest when it was last applied; None if it is not known.

    Source: kubectl pkg/cmd/apply patcher.go, which merges the three.
    """
    templates = map(_drop_hashes, map(complete_template, (stored, written, applied)))
    if is_abridged(stored) and not is_abridged(written):
        first, second, _ = map(_read_scheduling, templates)
        return first is not None and first == second
    return _equals("", *templates)


def is_abridged(template: Any) -> bool:
    """Whether a template is that of a snapshot, which has only the fields that rules read."""
    return not find_value(template, ("spec", "containers"))


def _read_scheduling(template: Any) -> object:
    """Read what placement looks at; None for a value of a wrong type."""
    try:
        pod = msgspec.convert(template, SchedulingPod)
    except msgspec.ValidationError:
        return None
    return pod.labels, pod.spec


def _equals(name: str, stored: Any, written: Any, applied: Any) -> bool:
    """Whether the values of a member are equal, but for what only the stored one has."""
    if is_object(stored) and is_object(written):
        return written.keys() <= stored.keys() and all(
            _equals(key, value, written[key], find_value(applied, (key,)))
            if key in written
            else _is_added(name, key, applied)
            for key, value in stored.items()
        )
    if is_array(stored) and is_array(written):
        before: list[Any] = applied if is_array(applied) else []
        if len(stored) != len(written):
            return written == before
        before = before if len(before) == len(written) else [None] * len(written)
        return all(_equals(name, *items) for items in zip(stored, written, before, strict=True))
    return isinstance(stored, bool) is isinstance(written, bool) and bool(stored == written)


def _is_added(name: str, key: str, applied: Any) -> bool:
    """Whether a key that a member has only where it is stored does not come from a manifest."""
    if is_object(applied):
        return key not in applied
    if name == "annotations":
        return key == RESTARTED_AT
    return name in _WITHOUT_DEFAULT and key not in _WITHOUT_DEFAULT[name]


def _drop_hashes(template: Any) -> Any:
    """Return a completed template with metadata, without the labels that controllers add."""
    if not is_object(template):
        return template
    metadata = template.get("metadata", {})
    labels = find_value(metadata, ("labels",))
    if not is_object(metadata) or not (labels is None or is_object(labels)):
        return template
    kept = {key: value for key, value in (labels or {}).items() if key not in _HASHES}
    return {**template, "metadata": {"annotations": {}, **metadata, "labels": kept}}
