"""
A pod template as kube-apiserver stores it, so that templates of manifests can be compared.

``complete_template`` is the entry point. It adds the defaults of Kubernetes 1.36, leaves out the
zero values that the API omits, and turns quantities into numbers. A default belongs to the name of
the member that holds it, such as ``livenessProbe``: a name may stand elsewhere without the default,
such as ``secret`` in a projected volume, but then both compared templates get it.

Only a Pod gets requests from limits, and host ports from hostNetwork: a template does not.

Source: kubernetes pkg/apis/core/v1/defaults.go, apps/v1 zz_generated.defaults.go
``SetObjectDefaults_Deployment``, core/v1 conversion.go ``Convert_core_PodSpec_To_v1_PodSpec``.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Any

from webhook.policy.paths import is_array, is_object

Json = dict[str, Any]

CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")

_CONTAINER: Json = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Json = {
    "failureThreshold": 3,
    "periodSeconds": 10,
    "successThreshold": 1,
    "timeoutSeconds": 1,
}
_DEFAULT_MODE: Json = {"defaultMode": 0o644}

_DEFAULTS: Mapping[str, Json] = MappingProxyType(
    {
        "spec": {  # of a pod, and the last one of a volumeClaimTemplate
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "volumeMode": "Filesystem",
        },
        **dict.fromkeys(CONTAINER_LISTS, _CONTAINER),
        **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _PROBE),
        **dict.fromkeys(("secret", "configMap", "downwardAPI", "projected"), _DEFAULT_MODE),
        "ports": {"protocol": "TCP"},
        "httpGet": {"path": "/", "scheme": "HTTP"},
        "fieldRef": {"apiVersion": "v1"},
        "fileKeyRef": {"optional": False},
        "serviceAccountToken": {"expirationSeconds": 3600},
        "iscsi": {"iscsiInterface": "default"},
        "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
        "azureDisk": {
            "cachingMode": "ReadWrite",
            "fsType": "ext4",
            "kind": "Shared",
            "readOnly": False,
        },
        "scaleIO": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
    }
)
"""Name of a member -> the defaults of the object, or of each object of the list, that it holds."""

_TEXTS = frozenset(
    {"annotations", "labels", "matchLabels", "nodeSelector", "options", "volumeAttributes"}
)
"""Members that hold texts by keys of the user's choice, which may be empty."""

_QUANTITIES = frozenset({"limits", "requests", "overhead"})
"""Members that hold quantities by names of resources."""

_OMITTED_OBJECTS = _TEXTS | _QUANTITIES | {"metadata", "resources"}
"""Members whose empty object is no other than an absent one; others are pointers in Go."""

_OMITTED_NUMBERS = frozenset(
    {
        "chapAuthDiscovery", "chapAuthSession", "divisor", "hostIPC", "hostNetwork", "hostPID",
        "hostPort", "initialDelaySeconds", "partition", "readOnly", "seconds", "sslEnabled",
        "stdin", "stdinOnce", "tty", *_PROBE,
    }
)  # fmt: skip
"""Members whose 0 or false is no other than an absent one; others are pointers in Go."""


def complete_template(template: Any) -> Any:
    """Complete a pod template, as decoded from JSON; what has a wrong type is kept."""
    if not is_object(template):
        return template
    completed = ((name, _complete(name, value)) for name, value in template.items())
    return {name: value for name, value in completed if not _is_omitted(name, value)}


def _complete(name: str, value: Any) -> Any:
    """Complete the value of a member."""
    if is_array(value):
        return [_complete(name, item) for item in value]
    if not is_object(value):
        return _count_thousandths(value) if name in ("divisor", "sizeLimit") else value
    if name in _TEXTS:
        return {key: "" if text is None else text for key, text in value.items()}
    if name in _QUANTITIES:
        return {key: _count_thousandths(quantity) for key, quantity in value.items()}
    members = ((key, _complete(key, inner)) for key, inner in value.items())
    kept = {key: inner for key, inner in members if not _is_omitted(key, inner)}
    chosen = _CHOSEN[name](kept) if name in _CHOSEN else {}
    return {**_DEFAULTS.get(name, {}), **chosen, **kept}


def _is_omitted(name: str, value: Any) -> bool:
    """Whether the API does not distinguish a completed value from an absent one."""
    if value is None or value in ("", []):
        return True
    if is_object(value):
        return not value and name in _OMITTED_OBJECTS
    return name in _OMITTED_NUMBERS and not value


def _choose_pull_policy(container: Json) -> Json:
    return {"imagePullPolicy": _pull_policy(container.get("image"))}


def _choose_image_policy(volume: Json) -> Json:
    """Choose the policy of an image that is a volume."""
    return {"pullPolicy": _pull_policy(volume.get("reference"))}


def _pull_policy(image: Any) -> str:
    """
    Choose how an image is pulled: always if it has the tag ``latest``, also implicitly.

    Source: kubernetes pkg/util/parsers/parsers.go ``ParseImageName``.
    """
    reference, _, digest = str(image).partition("@")
    _, _, tag = reference.rpartition("/")[2].partition(":")
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _choose_source(volume: Json) -> Json:
    """Choose the source of a volume that has none: ``volume`` has its name only."""
    return {} if volume.keys() - {"name"} else {"emptyDir": {}}


def _choose_account(spec: Json) -> Json:
    """Rename the service account of an old manifest, in place; both names are stored."""
    account = spec.pop("serviceAccount", None)
    return {} if account is None else {"serviceAccountName": account}


_CHOSEN: Mapping[str, Callable[[Json], Json]] = MappingProxyType(
    {
        **dict.fromkeys(CONTAINER_LISTS, _choose_pull_policy),
        "image": _choose_image_policy,
        "spec": _choose_account,
        "volumes": _choose_source,
    }
)
"""Name of a member -> function of the completed object that returns defaults that depend on it."""

_quantity = re.compile(
    r"(?P<number>[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)(?P<suffix>[numkMGTPE]|[KMGTPE]i)?",
    re.ASCII,
).fullmatch
_SUFFIXES: Mapping[str, Fraction] = MappingProxyType(
    {
        "": Fraction(1),
        **{name: Fraction(1000) ** power for power, name in enumerate("num", start=-3)},
        **{name: Fraction(1000) ** power for power, name in enumerate("kMGTPE", start=1)},
        **{f"{name}i": Fraction(1024) ** power for power, name in enumerate("KMGTPE", start=1)},
    }
)


def _count_thousandths(quantity: Any) -> Any:
    """
    Turn a quantity into thousandths, rounded up as kube-apiserver does; other values stay.

    Source: apimachinery pkg/api/resource quantity.go ``ParseQuantity``;
    pkg/apis/core/v1/defaults.go ``SetDefaults_ResourceList``.
    """
    found = _quantity(str(quantity))
    if found is None:
        return quantity
    return ceil(Fraction(Decimal(found["number"])) * _SUFFIXES[found["suffix"] or ""] * 1000)
