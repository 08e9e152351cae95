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
from tests.e2e.trials import FIXED, Trial
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind


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

    def _case(self, obj: Json, reply: Reply, **options: Any) -> Case:
        return {
            "kubernetes": self.version,
            "featureGates": dict(self.gates),
            "object": obj,
            "expect": observed(obj, reply),
            **options,
        }


def observed(obj: Json, reply: Reply) -> Answer:
    """Return the spreading part of a response, or the causes of a refusal."""
    if reply.status == HTTPStatus.UNPROCESSABLE_ENTITY:
        causes = reply.body["details"]["causes"]
        kept = [{key: cause[key] for key in ("reason", "message", "field")} for cause in causes]
        return {"code": reply.status, "causes": kept}
    assert reply.status in (HTTPStatus.OK, HTTPStatus.CREATED), reply
    held = reply.body
    for member in (*BUILT_IN_TEMPLATES[_kind_of(obj)], "spec"):
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
