"""
Collection of all facts about an installation, with the rights of the user.

``collect_installation`` is the entry point. It changes nothing: it creates pods as dry runs only,
and the API server stores no access review.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from cryptography import x509

from webhook.cluster.discovery import ResourcePath
from webhook.cluster.protocol import DECODE_ERRORS
from webhook.cluster.spreadpolicies import decode_policy
from webhook.config.spreadpolicies import POLICY_API_VERSION
from webhook.doctor import workload
from webhook.doctor.access_review import ReviewedServer, review_rights
from webhook.doctor.client import DoctorClient
from webhook.doctor.dryrun import choose_probe_namespace, dry_run_pods, send_probes
from webhook.doctor.installation import (
    REGISTRATIONS,
    Installation,
    Lookup,
    Replica,
    read_profiles,
)
from webhook.doctor.metrics import read_feature_gates
from webhook.doctor.objects import ConfigMap, PolicyObject, Secret, WebhookConfiguration
from webhook.errors import ApiError
from webhook.policy.nesting import decode_nested
from webhook.policy.request import Hook

INSTALLATION_NAMESPACE = "evenspread"  # default if neither the user nor a webhook names one

DEFAULT_HEALTH_PORT = 8080  # of a replica without --health-port

_SERVICES, _PODS, _CONFIG_MAPS, _SECRETS = (
    ResourcePath("/api/v1", plural) for plural in ("services", "pods", "configmaps", "secrets")
)
_SLICES = ResourcePath("/apis/discovery.k8s.io/v1", "endpointslices")
_DEPLOYMENTS = ResourcePath("/apis/apps/v1", "deployments")
_BUDGETS = ResourcePath("/apis/policy/v1", "poddisruptionbudgets")
_POLICIES = ResourcePath(f"/apis/{POLICY_API_VERSION}", "spreadpolicies")


@dataclass(frozen=True)
class DoctorTarget:
    """
    The installation to examine.

    Attributes:
        name: Name of the installation.
        namespace: Namespace of the Deployment; empty: that of the Service the webhooks call.
        probe_namespace: Namespace for dry runs; empty: one that the webhooks are called for.
        served: Leaf certificate of a listener; None if none was contacted.
        replicas: Pages of replicas contacted directly; empty: use the API server's proxy.
    """

    name: str
    namespace: str = ""
    probe_namespace: str = ""
    served: x509.Certificate | None = None
    replicas: tuple[Replica, ...] = ()


async def collect_installation(
    client: DoctorClient, target: DoctorTarget, now: datetime, version: str
) -> Installation:
    """
    Collect everything that the checks read.

    Args:
        now: Current time; aware, UTC.
        version: Version of this command.

    Raises:
        ApiError: The API server does not respond, or does not accept the credentials.
    """
    kubernetes = await _get_version(client)
    name = target.name
    configurations = {
        hook: await client.get_object(place, WebhookConfiguration, name)
        for hook, place in REGISTRATIONS.items()
    }
    namespace = (
        target.namespace or _find_service_namespace(configurations) or INSTALLATION_NAMESPACE
    )
    deployment = await client.get_object(_DEPLOYMENTS, workload.Deployment, name, namespace)
    found = deployment.or_none or workload.Deployment()
    configuration = await client.get_object(_CONFIG_MAPS, ConfigMap, name, namespace)
    pods = await client.list_objects(
        _PODS, workload.ServerPod, namespace, {"labelSelector": _build_pod_selector(found)}
    )
    policies = await client.list_custom(_POLICIES, partial(decode_nested, decode_policy))
    page = await client.get_text("/metrics", "get on the path /metrics")
    probed = await choose_probe_namespace(client, configurations, target.probe_namespace)
    return Installation(
        namespace=namespace,
        name=name,
        now=now,
        version=version,
        kubernetes=kubernetes,
        configurations=configurations,
        mutating=await client.list_objects(REGISTRATIONS[Hook.MUTATE], WebhookConfiguration),
        service=await client.get_object(_SERVICES, workload.ServerService, name, namespace),
        slices=await client.list_objects(
            _SLICES,
            workload.EndpointSlice,
            namespace,
            {"labelSelector": f"kubernetes.io/service-name={name}"},
        ),
        deployment=deployment,
        pods=pods,
        budgets=await client.list_objects(_BUDGETS, workload.DisruptionBudget, namespace),
        configuration=configuration,
        authority=await client.get_object(_SECRETS, Secret, f"{name}-ca", namespace),
        serving=await client.get_object(_SECRETS, Secret, found.secret_name, namespace)
        if found.secret_name
        else Lookup(),
        policies=policies,
        rights=await review_rights(
            client,
            name,
            namespace,
            ReviewedServer(
                deployment.or_none,
                configuration.or_none,
                read_profiles(policies.or_none or ()),
            ),
        ),
        features=Lookup(read_feature_gates(page.or_none or ""), problem=page.problem),
        replicas=target.replicas
        or await _collect_replicas(client, namespace, found.settings, pods),
        probe_namespace=probed,
        probes={hook: await send_probes(client, hook, probed.name) for hook in Hook},
        dry_run_pods=await dry_run_pods(client, probed.name),
        conflicts=await _find_conflicting_policies(client),
        served=target.served,
    )


async def _get_version(client: DoctorClient) -> str:
    response = await client.send("GET", "/version")
    try:
        return msgspec.json.decode(response.body, type=dict[str, str])["gitVersion"]
    except (*DECODE_ERRORS, KeyError):
        problem = f"answered {response.status} to the request for its version"
        raise ApiError(client.api.name, problem, "garbage", response.status) from None


def _find_service_namespace(configurations: Mapping[Hook, Lookup[WebhookConfiguration]]) -> str:
    """Return the namespace of the Service that our webhooks call; empty if none does."""
    for lookup in configurations.values():
        for webhook in lookup.or_none.webhooks if lookup.or_none else ():
            if webhook.client_config.service is not None:
                return webhook.client_config.service.namespace
    return ""


def _build_pod_selector(deployment: workload.Deployment) -> str:
    """Build the label selector of the replicas: identifying labels only, not the version."""
    labels = deployment.labels.items()
    terms = [f"{key}={value}" for key, value in labels if key in IDENTIFYING_LABELS]
    return ",".join(terms) or _DEFAULT_SELECTOR


IDENTIFYING_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance")
_DEFAULT_SELECTOR = "app.kubernetes.io/name=evenspread"


async def _collect_replicas(
    client: DoctorClient,
    namespace: str,
    settings: Mapping[str, str],
    pods: Lookup[tuple[workload.ServerPod, ...]],
) -> tuple[Replica, ...]:
    """Get the pages of each replica through the API server's proxy."""
    port = settings.get("health-port", str(DEFAULT_HEALTH_PORT))
    found: list[Replica] = []
    for pod in pods.or_none or ():
        root = f"{_PODS.item(namespace, f'{pod.metadata.name}:{port}')}/proxy"
        needs = f"get on pods/proxy in namespace {namespace}"
        readiness = await client.get_text(f"{root}/readyz", needs, {"verbose": "1"})
        numbers = await client.get_text(f"{root}/metrics", needs)
        found.append(Replica(pod.metadata.name, readiness, numbers))
    return tuple(found)


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


async def _find_conflicting_policies(client: DoctorClient) -> Lookup[tuple[str, ...]]:
    """Find kind and name of the policies that write the field; a problem only if none was found."""
    found: list[str] = []
    problems: list[str] = []
    for kind, place in CONFLICTING_KINDS.items():
        listed = await client.list_objects(place, PolicyObject)
        if listed.problem:
            problems.append(listed.problem)
        else:
            writing = filter(_writes_constraints, listed.value or ())
            found += [f"{kind} {policy.metadata.name}" for policy in writing]
    return Lookup(problem="; ".join(problems)) if problems and not found else Lookup(tuple(found))


def _writes_constraints(policy: PolicyObject) -> bool:
    """Whether a policy changes topologySpreadConstraints; one that only validates them does not."""
    rules: Any = policy.spec.get("rules")
    mutations = policy.spec if rules is None else [rule.get("mutate") for rule in rules]
    return _FIELD in msgspec.json.encode(mutations)
