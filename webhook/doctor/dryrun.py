"""
Trying pods and PodTemplates in a cluster: dry runs, of which nothing is stored.

Which ones, and what the answers mean, is in ``probing``.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from webhook.cluster.discovery import NAMESPACES_PATH, ResourcePath
from webhook.doctor import objects, probes
from webhook.doctor.client import DoctorClient, DoctorResponse, describe_right
from webhook.doctor.installation import DryRunPod, Lookup, value_or_none
from webhook.doctor.probes import OWN_CONSTRAINT, TRIES, ProbeResult, ReplicaIdentity
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.model import PodSpec
from webhook.policy.request import Hook

_PODS = ResourcePath("/api/v1", "pods")
_POD_TEMPLATES = ResourcePath("/api/v1", "podtemplates")


async def choose_probe_namespace(
    asker: DoctorClient, configurations: Mapping[Hook, Lookup[objects.WebhookConfiguration]]
) -> str:
    """Choose a namespace that the webhooks are called for; ``default`` if it is one."""
    listed = await asker.look_through(NAMESPACES_PATH, objects.NamespaceObject)
    return choose_namespace(
        value_or_none(listed) or (),
        [
            webhook
            for seen in configurations.values()
            if (found := value_or_none(seen)) is not None
            for webhook in found.webhooks
        ],
    )


def choose_namespace(
    namespaces: Sequence[objects.NamespaceObject], webhooks: Sequence[objects.Webhook]
) -> str:
    """The first namespace that all webhooks are called for, ``default`` before any other."""
    fitting = [
        each.metadata.name
        for each in namespaces
        if all(webhook.is_called_for(each.metadata.labels) for webhook in webhooks)
    ]
    return (
        DEFAULT_PROBE_NAMESPACE if DEFAULT_PROBE_NAMESPACE in fitting or not fitting else fitting[0]
    )


DEFAULT_PROBE_NAMESPACE = "default"


async def send_probes(asker: DoctorClient, hook: Hook, namespace: str) -> ProbeResult:
    """Try a few PodTemplates that this hook alone answers for."""
    by: list[ReplicaIdentity] = []
    refusal = ""
    for _ in range(TRIES):
        answer = await dry_run(asker, namespace, probes.build_probe(hook))
        if is_create_forbidden(answer):
            return ProbeResult(lacks=f"needs {describe_right('create', _POD_TEMPLATES, namespace)}")
        if answer.status != HTTPStatus.CREATED:
            refusal = answer.message
        found = probes.read_replicas(answer.warnings)
        if not found:
            break  # it may have waited for the webhook's whole timeout
        by += found
    return ProbeResult(tuple(dict.fromkeys(by)), refusal)


async def dry_run(asker: DoctorClient, namespace: str, obj: Mapping[str, Any]) -> DoctorResponse:
    """Have an API server say what would become of a Pod or a PodTemplate."""
    place = ResourcePath("/api/v1", f"{obj['kind'].lower()}s").within(namespace)
    return await asker.ask("POST", place.collection, obj, {"dryRun": "All"})


def is_create_forbidden(answer: DoctorResponse) -> bool:
    """Whether it is the right to create that lacks; admission refuses with 403 too."""
    refused = answer.status == HTTPStatus.FORBIDDEN
    return refused and " cannot create resource " in answer.message


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] = {}


class _Made(msgspec.Struct):
    metadata: _Metadata
    spec: PodSpec


async def dry_run_pods(asker: DoctorClient, namespace: str) -> Lookup[tuple[DryRunPod, ...]]:
    """Try a pod without constraints, and one with a constraint of its own."""
    found: list[DryRunPod] = []
    for own in ([], [OWN_CONSTRAINT]):
        answer = await dry_run(asker, namespace, probes.build_pod(own))
        if is_create_forbidden(answer):
            return Lookup(lacks=f"needs {describe_right('create', _PODS, namespace)}")
        if answer.status != HTTPStatus.CREATED:
            return Lookup(lacks=f"a pod was refused in namespace {namespace}: {answer.message}")
        made = msgspec.json.decode(answer.body, type=_Made)
        before = msgspec.convert({"topologySpreadConstraints": own}, PodSpec)
        found.append(
            DryRunPod(
                made.metadata.annotations.get(DEFAULTS_ANNOTATION),
                made.spec.topology_spread_constraints,
                before.topology_spread_constraints,
            )
        )
    return Lookup(tuple(found))
