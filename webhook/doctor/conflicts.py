"""
Other policy engines that write ``topologySpreadConstraints`` too.

``find_conflicting_policies`` searches the policies of Kyverno, Gatekeeper and Kubernetes.
"""

from typing import Any

import msgspec

from webhook.cluster.discovery import ResourcePath
from webhook.doctor.client import DoctorClient
from webhook.doctor.installation import Lookup
from webhook.doctor.objects import PolicyObject

_FIELD = b"topologySpreadConstraints"
_REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"

CONFLICTING_KINDS = {
    "ClusterPolicy": ResourcePath("/apis/kyverno.io/v1", "clusterpolicies"),
    "Policy": ResourcePath("/apis/kyverno.io/v1", "policies"),
    "MutatingPolicy": ResourcePath("/apis/policies.kyverno.io/v1", "mutatingpolicies"),
    "Assign": ResourcePath("/apis/mutations.gatekeeper.sh/v1", "assign"),
    "ModifySet": ResourcePath("/apis/mutations.gatekeeper.sh/v1", "modifyset"),
    "MutatingAdmissionPolicy": ResourcePath(_REGISTRATIONS, "mutatingadmissionpolicies"),
}
"""Kinds that change pods: of Kyverno, of Gatekeeper, of Kubernetes itself."""


async def find_conflicting_policies(client: DoctorClient) -> Lookup[tuple[str, ...]]:
    """Find kind and name of the policies that write the field; a problem only if none was found."""
    found: list[str] = []
    problems: list[str] = []
    for kind, place in CONFLICTING_KINDS.items():
        listed = await client.list_objects(place, PolicyObject)
        if listed.problem:
            problems.append(listed.problem)
        else:
            writing = filter(writes_constraints, listed.value or ())
            found += [f"{kind} {policy.metadata.name}" for policy in writing]
    return Lookup(problem="; ".join(problems)) if problems and not found else Lookup(tuple(found))


def writes_constraints(policy: PolicyObject) -> bool:
    """Whether a policy changes topologySpreadConstraints; one that only validates them does not."""
    rules: Any = policy.spec.get("rules")
    mutations = policy.spec if rules is None else [rule.get("mutate") for rule in rules]
    return _FIELD in msgspec.json.encode(mutations)
