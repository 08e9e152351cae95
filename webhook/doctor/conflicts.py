"""Policies of others that write topologySpreadConstraints too."""

from typing import Any

import msgspec

from webhook.cluster.discovery import ResourcePath
from webhook.doctor import objects
from webhook.doctor.client import DoctorClient
from webhook.doctor.installation import ConflictingPolicy, Lookup

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
"""Kinds by which others change pods: of Kyverno, of Gatekeeper, of Kubernetes itself."""


async def find_conflicting_policies(asker: DoctorClient) -> Lookup[tuple[ConflictingPolicy, ...]]:
    """Look through the policies of others for the field that we write."""
    found: list[ConflictingPolicy] = []
    lacks: list[str] = []
    for kind, place in CONFLICTING_KINDS.items():
        listed = await asker.look_through(place, objects.PolicyObject)
        if listed.lacks:
            lacks.append(listed.lacks)
        else:
            writing = filter(writes_constraints, listed.value or ())
            found += [ConflictingPolicy(kind, each.metadata.name) for each in writing]
    return Lookup(lacks="; ".join(lacks)) if lacks and not found else Lookup(tuple(found))


def writes_constraints(policy: objects.PolicyObject) -> bool:
    """Whether a policy of somebody else changes topologySpreadConstraints, not only checks them."""
    rules: Any = policy.spec.get("rules")
    changing = policy.spec if rules is None else [each.get("mutate") for each in rules]
    return _FIELD in msgspec.json.encode(changing)
