"""
Looking at an installation: everything that checks ask for, with the rights of whoever asks.

Nothing is changed: pods are tried by dry runs, and rights are asked for by reviews, which an API
server does not store.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec
from cryptography import x509

from webhook.cluster.discovery import ResourcePath
from webhook.doctor import metrics, objects
from webhook.doctor.access_review import ServiceAccountRef, review_rights
from webhook.doctor.client import DoctorClient
from webhook.doctor.conflicts import find_conflicting_policies
from webhook.doctor.dryrun import choose_probe_namespace, dry_run_pods, send_probes
from webhook.doctor.installation import REGISTRATIONS, Installation, Lookup, Replica, value_or_none
from webhook.errors import ApiError
from webhook.policy.request import Hook

INSTALLATION_NAMESPACE = "evenspread"  # of an installation that nothing else tells the place of

DEFAULT_HEALTH_PORT = 8080  # of a replica, unless it is told another one

_SERVICES = ResourcePath("/api/v1", "services")
_PODS = ResourcePath("/api/v1", "pods")
_CONFIG_MAPS = ResourcePath("/api/v1", "configmaps")
_SECRETS = ResourcePath("/api/v1", "secrets")
_SLICES = ResourcePath("/apis/discovery.k8s.io/v1", "endpointslices")
_DEPLOYMENTS = ResourcePath("/apis/apps/v1", "deployments")
_BUDGETS = ResourcePath("/apis/policy/v1", "poddisruptionbudgets")


class DoctorTarget(NamedTuple):
    """
    What is to be looked at.

    Attributes:
        name: Of the installation.
        namespace: Of the Deployment; empty: where the webhook configurations lead.
        probe_namespace: Where pods are tried; empty: one that the webhooks are called for.
        served: What a listener shows; None if nobody asked one.
        replicas: What replicas say that were asked directly; empty: through the API server.
    """

    name: str
    namespace: str = ""
    probe_namespace: str = ""
    served: x509.Certificate | None = None
    replicas: tuple[Replica, ...] = ()


async def collect_installation(
    asker: DoctorClient, asked: DoctorTarget, now: datetime, version: str
) -> Installation:
    """
    Look at everything.

    Args:
        now: Aware, UTC.
        version: Of evenspread, that looks.

    Raises:
        ApiError: The API server gives no answer, or does not know whoever asks.
    """
    kubernetes = await _version(asker)
    name = asked.name
    configurations = {
        hook: await asker.look_at(place, objects.WebhookConfiguration, name)
        for hook, place in REGISTRATIONS.items()
    }
    namespace = asked.namespace or _called(configurations) or INSTALLATION_NAMESPACE
    deployment = await asker.look_at(_DEPLOYMENTS, objects.Deployment, name, namespace)
    found = value_or_none(deployment)
    settings = dict(found.settings) if found else dict[str, str]()
    configuration = await asker.look_at(_CONFIG_MAPS, objects.ConfigMap, name, namespace)
    pods = await asker.look_through(
        _PODS, objects.ServerPod, namespace, {"labelSelector": _selector(found)}
    )
    account = ServiceAccountRef(name, namespace, settings, _account(found) or name)
    where = asked.probe_namespace or await choose_probe_namespace(asker, configurations)
    others = await asker.look_through(REGISTRATIONS[Hook.MUTATE], objects.WebhookConfiguration)
    return Installation(
        namespace=namespace,
        name=name,
        now=now,
        version=version,
        kubernetes=kubernetes,
        settings=settings,
        configurations=configurations,
        others=others,
        service=await asker.look_at(_SERVICES, objects.InstalledService, name, namespace),
        slices=await asker.look_through(
            _SLICES,
            objects.EndpointSlice,
            namespace,
            {"labelSelector": f"kubernetes.io/service-name={name}"},
        ),
        deployment=deployment,
        pods=pods,
        budgets=await asker.look_through(_BUDGETS, objects.DisruptionBudget, namespace),
        configuration=configuration,
        authority=await asker.look_at(_SECRETS, objects.Secret, f"{name}-ca", namespace),
        serving=await _serving(asker, found, namespace),
        rights=await review_rights(asker, account, configuration),
        features=_features(await asker.page("/metrics", "get on the path /metrics")),
        replicas=asked.replicas or await _replicas(asker, namespace, settings, pods),
        probed={hook: await send_probes(asker, hook, where) for hook in Hook},
        tried=await dry_run_pods(asker, where),
        rivals=await find_conflicting_policies(asker),
        served=asked.served,
    )


async def _version(asker: DoctorClient) -> str:
    answer = await asker.ask("GET", "/version")
    try:
        told = msgspec.json.decode(answer.body, type=dict[str, str])
        return told["gitVersion"]
    except (msgspec.MsgspecError, KeyError):
        problem = f"answered {answer.status} when asked for its version"
        raise ApiError(asker.reach.name, problem, "garbage", answer.status) from None


def _called(configurations: Mapping[Hook, Lookup[objects.WebhookConfiguration]]) -> str:
    """The namespace of the Service that our webhooks are called by."""
    for seen in configurations.values():
        found = value_or_none(seen)
        for webhook in found.webhooks if found else ():
            if webhook.client_config.service is not None:
                return webhook.client_config.service.namespace
    return ""


def _selector(deployment: objects.Deployment | None) -> str:
    """The labels of the replicas, as the pod template has them without the version."""
    labels = deployment.spec.template.metadata.labels if deployment else {}
    wanted = {key: value for key, value in labels.items() if key in IDENTIFYING_LABELS}
    return ",".join(f"{key}={value}" for key, value in wanted.items()) or _NO_POD


IDENTIFYING_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance")
_NO_POD = "app.kubernetes.io/name=evenspread"


def _account(deployment: objects.Deployment | None) -> str:
    return deployment.spec.template.spec.service_account_name if deployment else ""


async def _serving(
    asker: DoctorClient, deployment: objects.Deployment | None, namespace: str
) -> Lookup[objects.Secret]:
    """Look for the Secret that the Deployment mounts, if its certificate comes from one."""
    volumes = deployment.spec.template.spec.volumes if deployment else ()
    names = [each.secret.secret_name for each in volumes if each.secret]
    if not names:
        return Lookup()
    return await asker.look_at(_SECRETS, objects.Secret, names[0], namespace)


def _features(text: Lookup[str]) -> Lookup[Mapping[str, bool]]:
    if text.lacks:
        return Lookup(lacks=text.lacks)
    return Lookup(metrics.read_feature_gates(text.value or ""))


async def _replicas(
    asker: DoctorClient,
    namespace: str,
    settings: Mapping[str, str],
    pods: Lookup[tuple[objects.ServerPod, ...]],
) -> tuple[Replica, ...]:
    """Read the pages of each replica, through the API server's proxy."""
    port = settings.get("health-port", str(DEFAULT_HEALTH_PORT))
    found: list[Replica] = []
    for pod in value_or_none(pods) or ():
        root = f"{_PODS.item(namespace, f'{pod.metadata.name}:{port}')}/proxy"
        needs = f"get on pods/proxy in namespace {namespace}"
        readiness = await asker.page(f"{root}/readyz", needs, {"verbose": "1"})
        numbers = await asker.page(f"{root}/metrics", needs)
        found.append(Replica(pod.metadata.name, readiness, numbers))
    return tuple(found)
