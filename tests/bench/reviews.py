"""
The requests that are measured: the reference review, and what is made of it.

All are the reference pod of 9 KB, so that a difference between two rows is one of judging.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]

REFERENCE = Path(__file__).parent / "data" / "pod-9k.json"
"""CREATE of a Deployment's pod without constraints: two containers, managedFields."""

LABELS = {"app.kubernetes.io/name": "checkout", "app.kubernetes.io/instance": "checkout-prod"}
REVISION = {"pod-template-hash": "7d4b9c6f5d"}
KEYS = ("topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack")


class Request(NamedTuple):
    """
    A call whose answer is known.

    Attributes:
        path: The hook.
        body: The review.
        patched: Whether the answer carries a patch; it is always one that allows.
    """

    path: str
    body: bytes
    patched: bool = False

    def is_answered_by(self, review: Json) -> bool:
        """Whether the server did the work that is to be measured."""
        response = review["response"]
        return response["allowed"] is True and ("patch" in response) is self.patched


def injected() -> Request:
    """A pod that gets two default constraints, with the selector of a Service and a ReplicaSet."""
    return Request("/mutate", _edited(), patched=True)


def validated() -> Request:
    """A pod with three constraints as most people write them."""
    return Request("/validate", _edited(_with(_usual)))


def validated_in_full() -> Request:
    """A pod with three constraints that use every field there is."""
    return Request("/validate", _edited(_with(_full)))


def own() -> Request:
    """A new pod with constraints of its own."""
    return Request("/mutate", _edited(_with(_usual)))


def exempt() -> Request:
    """A new pod in an exempt namespace."""
    return Request("/mutate", _edited(_in_kube_system))


def without_profile() -> Request:
    """A new pod that no profile fits, since another scheduler places it."""
    return Request("/mutate", _edited(_of_another_scheduler))


def reference() -> Json:
    """The reference review, decoded."""
    review: Json = json.loads(REFERENCE.read_bytes())
    return review


def _edited(edit: Callable[[Json], None] | None = None) -> bytes:
    """The reference review with its request edited, as compact as Go writes it."""
    review = reference()
    if edit is not None:
        edit(review["request"])
    return json.dumps(review, separators=(",", ":"), ensure_ascii=False).encode()


def _with(constraint: Callable[[str], Json]) -> Callable[[Json], None]:
    def edit(request: Json) -> None:
        request["object"]["spec"]["topologySpreadConstraints"] = list(_each(constraint, KEYS))

    return edit


def _each(constraint: Callable[[str], Json], keys: Iterable[str]) -> Iterable[Json]:
    return (constraint(key) for key in keys)


def _usual(key: str) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": LABELS},
    }


def _full(key: str) -> Json:
    """As kube-apiserver passes it on: what matchLabelKeys name is in the selector already."""
    (name, value), *_ = REVISION.items()
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": 2,
        "nodeAffinityPolicy": "Honor",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": [name],
        "labelSelector": {
            "matchLabels": LABELS,
            "matchExpressions": [
                {"key": "team", "operator": "Exists"},
                {"key": name, "operator": "In", "values": [value]},
            ],
        },
    }


def _in_kube_system(request: Json) -> None:
    request["namespace"] = request["object"]["metadata"]["namespace"] = "kube-system"


def _of_another_scheduler(request: Json) -> None:
    request["object"]["spec"]["schedulerName"] = "example"
