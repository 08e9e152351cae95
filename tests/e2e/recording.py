"""
Asking a real kube-apiserver what it does with constraint lists, in the form of conformance cases.

Its answers are to dry runs, so that nothing is left behind; only an object that is to be updated
is stored for a while.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from tests.conformance.case import Answer, Case
from tests.controlplane.api import Api, Json, Reply
from webhook.policy.model import GroupKind
from webhook.policy.workloads import BUILT_IN, POD

JOB = GroupKind("batch", "Job")
FIXED = frozenset({POD, JOB})  # kinds whose constraints an update cannot change

NAME = "tried"
SELECTED = {"sel": "x"}

_SPECIFICATIONS: Mapping[str, Json] = {
    "ReplicationController": {"selector": SELECTED},
    "Deployment": {"selector": {"matchLabels": SELECTED}},
    "ReplicaSet": {"selector": {"matchLabels": SELECTED}},
    "StatefulSet": {"selector": {"matchLabels": SELECTED}, "serviceName": "tried"},
    "DaemonSet": {"selector": {"matchLabels": SELECTED}},
    "CronJob": {"schedule": "0 0 1 1 *"},
}
"""What kinds demand besides a pod template."""


class Trial(NamedTuple):
    """
    A create, or an update of what another trial created.

    Attributes:
        labels: Of the pods.
        constraints: The list as a client sends it.
        image: Of the only container; the other one is a change that is not about spreading.
        mark: A label of the object itself.
    """

    kind: GroupKind
    labels: Mapping[str, str]
    constraints: Any
    image: str = "one"
    mark: str = "one"

    @property
    def object(self) -> Json:
        """The object as a client sends it."""
        never = {"restartPolicy": "Never"} if self.kind.group == "batch" else {}
        pod = {
            "containers": [{"name": "main", "image": self.image}],
            "topologySpreadConstraints": self.constraints,
            **never,
        }
        inner: Json = {"metadata": {"labels": {**self.labels, **SELECTED}}, "spec": pod}
        for member in reversed(BUILT_IN[self.kind]):
            inner = {member: inner}
        if "spec" in inner and self.kind != POD:
            inner["spec"] |= _SPECIFICATIONS.get(self.kind.kind, {})
        metadata = inner.get("metadata", {})
        named = {"name": NAME, "namespace": "default"}
        labels = {**metadata.get("labels", {}), "mark": self.mark}
        version = f"{self.kind.group}/v1" if self.kind.group else "v1"
        identified = {"apiVersion": version, "kind": self.kind.kind}
        return {**inner, **identified, "metadata": {**metadata, **named, "labels": labels}}


class Server(NamedTuple):
    """An API server that runs: its version, and the gates it was started with."""

    api: Api
    version: str
    gates: Mapping[str, bool]

    def create(self, trial: Trial) -> Case:
        """What it does with a create."""
        obj = trial.object
        reply = self.api.request("POST", self.api.collection_of(obj), obj, query={"dryRun": "All"})
        return self._case(obj, reply, operation="CREATE")

    def update(self, old: Json, trial: Trial) -> Case:
        """What it does with an update of an object as it is stored."""
        obj = trial.object
        if trial.kind in FIXED:
            obj = {**old, "metadata": old["metadata"] | {"labels": obj["metadata"]["labels"]}}
        reply = self.api.request("PUT", self.api.path_of(obj), obj, query={"dryRun": "All"})
        return self._case(obj, reply, operation="UPDATE", old=old)

    def _case(self, obj: Json, reply: Reply, **asked: Any) -> Case:
        return {
            "kubernetes": self.version,
            "featureGates": dict(self.gates),
            "object": obj,
            "expect": observed(obj, reply),
            **asked,
        }


def observed(obj: Json, reply: Reply) -> Answer:
    """What an answer says about spreading."""
    if reply.status == HTTPStatus.UNPROCESSABLE_ENTITY:
        causes = reply.body["details"]["causes"]
        kept = [{key: each[key] for key in ("reason", "message", "field")} for each in causes]
        return {"code": reply.status, "causes": kept}
    assert reply.status in (HTTPStatus.OK, HTTPStatus.CREATED), reply
    held = reply.body
    for member in (*BUILT_IN[_kind_of(obj)], "spec"):
        held = held[member]
    return {
        "code": reply.status,
        "stored": held.get("topologySpreadConstraints", []),
        "warnings": [
            text
            for text in reply.warnings
            if "topologySpreadConstraints[" in text and not text.startswith("unknown field")
        ],
    }


def _kind_of(obj: Json) -> GroupKind:
    return GroupKind(obj["apiVersion"].rpartition("/")[0], obj["kind"])
