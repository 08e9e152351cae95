"""Policies of others that write topologySpreadConstraints too."""

from typing import Any

import msgspec

from webhook.cluster.resources import Place
from webhook.doctor import objects
from webhook.doctor.client import Asker
from webhook.doctor.installation import Rival, Seen

_FIELD = b"topologySpreadConstraints"
_REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"

RIVALS = {
    "ClusterPolicy": Place("/apis/kyverno.io/v1", "clusterpolicies"),
    "Policy": Place("/apis/kyverno.io/v1", "policies"),
    "MutatingPolicy": Place("/apis/policies.kyverno.io/v1", "mutatingpolicies"),
    "Assign": Place("/apis/mutations.gatekeeper.sh/v1", "assign"),
    "ModifySet": Place("/apis/mutations.gatekeeper.sh/v1", "modifyset"),
    "MutatingAdmissionPolicy": Place(_REGISTRATIONS, "mutatingadmissionpolicies"),
}
"""Kinds by which others change pods: of Kyverno, of Gatekeeper, of Kubernetes itself."""


async def find_rivals(asker: Asker) -> Seen[tuple[Rival, ...]]:
    """Look through the policies of others for the field that we write."""
    found: list[Rival] = []
    lacks: list[str] = []
    for kind, place in RIVALS.items():
        listed = await asker.look_through(place, objects.Foreign)
        if listed.lacks:
            lacks.append(listed.lacks)
        else:
            writing = filter(writes_the_field, listed.value or ())
            found += [Rival(kind, each.metadata.name) for each in writing]
    return Seen(lacks="; ".join(lacks)) if lacks and not found else Seen(tuple(found))


def writes_the_field(policy: objects.Foreign) -> bool:
    """Whether a policy of somebody else changes topologySpreadConstraints, not only checks them."""
    rules: Any = policy.spec.get("rules")
    changing = policy.spec if rules is None else [each.get("mutate") for each in rules]
    return _FIELD in msgspec.json.encode(changing)
