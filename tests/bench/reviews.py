"""
The requests that are measured: the reference review, and what is made of it.

All are the reference pod of 9 KB, so that a difference between two rows is one of judging. No two
calls in a row are the same: each review has a uid of its own, as from an API server.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]

REFERENCE = Path(__file__).parent / "data" / "pod-9k.json"
"""CREATE of a Deployment's pod without constraints: two containers, managedFields."""

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
LABELS = {"app.kubernetes.io/name": "checkout", "app.kubernetes.io/instance": "checkout-prod"}
HASH = "7d4b9c6f5d"  # the name of the pod's ReplicaSet ends with it
REVISION = {"pod-template-hash": HASH}
KEYS = ("topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack")


UIDS = 64  # different reviews of one pod; more would only fill the load's caches

REVISIONS = 1_000
"""
ReplicaSets that take turns in ``churning``: more than anything remembers.

A server that keeps what it decided for one ReplicaSet decides anew for each call.
"""


class Request(NamedTuple):
    """
    Calls whose answers are known.

    Attributes:
        path: The hook.
        bodies: Reviews, to be sent in turn.
        patched: Whether the answers carry a patch; they always allow.
    """

    path: str
    bodies: tuple[bytes, ...]
    patched: bool = False

    def is_answered_by(self, review: Json) -> bool:
        """Whether the server did the work that is to be measured."""
        response = review["response"]
        return response["allowed"] is True and ("patch" in response) is self.patched


def injected() -> Request:
    """A pod that gets two default constraints, with the selector of a Service and a ReplicaSet."""
    return Request("/mutate", _edited(), patched=True)


def churning() -> Request:
    """The same, but each pod is the first of a new ReplicaSet for as long as anybody remembers."""
    bodies = _edited(count=REVISIONS)
    old = HASH.encode()
    renamed = (
        body.replace(old, new.encode()) for body, new in zip(bodies, revisions(), strict=True)
    )
    return Request("/mutate", tuple(renamed), patched=True)


def revisions() -> Iterator[str]:
    """The hashes of the ReplicaSets in ``churning``; the first is that of the reference pod."""
    yield HASH
    for i in range(1, REVISIONS):
        yield f"{i:0{len(HASH)}x}"


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


def reference_pod() -> Json:
    """The pod of 9 KB, without what a Creator of pods writes itself."""
    pod: Json = reference()["request"]["object"]
    kept = {key: pod["metadata"][key] for key in ("annotations", "managedFields")}
    return {**pod, "metadata": kept}


def _edited(edit: Callable[[Json], None] | None = None, count: int = UIDS) -> tuple[bytes, ...]:
    """The reference review with its request edited, as compact as Go writes it, under many uids."""
    review = reference()
    if edit is not None:
        edit(review["request"])
    text = json.dumps(review, separators=(",", ":"), ensure_ascii=False)
    return tuple(text.replace(UID, f"{i:08x}{UID[8:]}").encode() for i in range(count))


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
