"""
Dry runs of pods and PodTemplates in a cluster; the API server stores nothing.

``send_probes`` finds the replicas that answer for a webhook, ``dry_run_pods`` shows how new pods
change. ``probes`` builds the objects and reads the responses.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from webhook.cluster.discovery import ResourcePath
from webhook.doctor import probes
from webhook.doctor.client import DoctorClient, DoctorResponse, describe_right
from webhook.doctor.installation import DryRunPod, Lookup
from webhook.doctor.objects import DoctorNamedObject, WebhookConfiguration
from webhook.doctor.probes import (
    OWN_CONSTRAINT,
    PROBES_PER_HOOK,
    ProbeNamespace,
    ProbeResult,
    ReplicaIdentity,
)
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.model import Constraint, PodTemplate
from webhook.policy.request import Hook

_NAMESPACES = ResourcePath("/api/v1", "namespaces")
_PODS = ResourcePath("/api/v1", "pods")
_POD_TEMPLATES = ResourcePath("/api/v1", "podtemplates")


async def choose_probe_namespace(
    client: DoctorClient,
    configurations: Mapping[Hook, Lookup[WebhookConfiguration]],
    wanted: str = "",
) -> ProbeNamespace:
    """Choose the wanted namespace, else one that both webhooks are called for, if possible."""
    listed = await client.list_objects(_NAMESPACES, DoctorNamedObject)
    labels = {item.metadata.name: item.metadata.labels for item in listed.or_none or ()}
    found = [lookup.or_none for lookup in configurations.values()]
    webhooks = [webhook for item in found if item for webhook in item.webhooks]
    fitting = [
        name
        for name, carried in labels.items()
        if all(webhook.selects_namespace(carried) for webhook in webhooks)
    ]
    usual = min(fitting, key=DEFAULT_PROBE_NAMESPACE.__ne__, default=DEFAULT_PROBE_NAMESPACE)
    return ProbeNamespace(wanted or usual, labels.get(wanted or usual))


DEFAULT_PROBE_NAMESPACE = "default"


async def send_probes(client: DoctorClient, hook: Hook, namespace: str) -> ProbeResult:
    """Send dry runs of PodTemplates for which only this webhook answers; return the replicas."""
    replicas: list[ReplicaIdentity] = []
    refusal = ""
    for _ in range(PROBES_PER_HOOK):
        response = await dry_run(client, namespace, probes.build_probe(hook))
        if is_create_forbidden(response):
            return ProbeResult(
                problem=f"needs {describe_right('create', _POD_TEMPLATES, namespace)}"
            )
        if response.status != HTTPStatus.CREATED:
            refusal = response.message
        found = probes.read_replicas(response.warnings)
        if not found:
            break  # the call may have taken the whole timeout of the webhook
        replicas += found
    return ProbeResult(tuple(dict.fromkeys(replicas)), refusal)


async def dry_run(client: DoctorClient, namespace: str, obj: Mapping[str, Any]) -> DoctorResponse:
    """Create a Pod or a PodTemplate as a dry run."""
    place = ResourcePath("/api/v1", f"{obj['kind'].lower()}s").within(namespace)
    return await client.send("POST", place.collection, obj, {"dryRun": "All"})


def is_create_forbidden(response: DoctorResponse) -> bool:
    """Whether the user may not create the object; admission plugins respond with 403 too."""
    return (
        response.status == HTTPStatus.FORBIDDEN and " cannot create resource " in response.message
    )


async def dry_run_pods(client: DoctorClient, namespace: str) -> Lookup[tuple[DryRunPod, ...]]:
    """Dry-run a pod without constraints, and one with a constraint of its own."""
    found: list[DryRunPod] = []
    for own in ([], [OWN_CONSTRAINT]):
        response = await dry_run(client, namespace, probes.build_pod(own))
        if is_create_forbidden(response):
            return Lookup(problem=f"needs {describe_right('create', _PODS, namespace)}")
        if response.status != HTTPStatus.CREATED:
            return Lookup(problem=f"a pod was refused in namespace {namespace}: {response.message}")
        created = msgspec.json.decode(response.body, type=PodTemplate)
        annotations = created.metadata.annotations if created.metadata else {}
        before = msgspec.convert(own, tuple[Constraint, ...])
        found.append(DryRunPod(annotations.get(DEFAULTS_ANNOTATION), created.constraints, before))
    return Lookup(tuple(found))
