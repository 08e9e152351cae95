"""
Wait until an installation serves, then set ``failurePolicy``.

With ``Fail`` and no replica, a cluster cannot create pods. So the manifests ship ``Ignore``, and
``set_failure_policies`` sets the final policy after ``wait_answered`` has returned.
"""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from webhook.doctor.client import JSON_PATCH, DoctorClient
from webhook.doctor.dryrun import dry_run, is_create_forbidden
from webhook.doctor.installation import REGISTRATIONS
from webhook.doctor.objects import WebhookConfiguration
from webhook.doctor.probes import ReplicaIdentity, build_probe, interpret, read_replicas
from webhook.errors import ApiError, SourceError
from webhook.policy.request import Hook

PAUSE_S = 1.0  # between two attempts: a replica takes seconds to start

POLICIES = ("Fail", "Ignore")


async def wait_answered(
    client: DoctorClient,
    namespace: str,
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[object]],
    timeout_s: float,
) -> list[ReplicaIdentity]:
    """
    Wait until a replica answers for both webhooks.

    Args:
        namespace: A namespace that the webhooks are called for.
        clock: Monotonic clock, in seconds.
        timeout_s: Longest wait; each webhook is probed at least once.

    Returns:
        The replicas that answered, those of the mutating webhook first.

    Raises:
        SourceError: No replica answered in time; its message describes what happened instead.
        ApiError: The user may not create PodTemplates.
    """
    deadline = clock() + timeout_s
    while True:
        results = [await _probe(client, namespace, hook) for hook in Hook]
        missing = [message for replicas, message in results if not replicas]
        if not missing:
            return [replica for replicas, _ in results for replica in replicas]
        if clock() >= deadline:
            problem = f"no replica answered within {timeout_s:g} s for {'; '.join(missing)}"
            hint = f"if they are not called for namespace {namespace}, set --probe-namespace"
            raise SourceError("evenspread", f"{problem}; {hint}")
        await sleep(PAUSE_S)


async def _probe(
    client: DoctorClient, namespace: str, hook: Hook
) -> tuple[list[ReplicaIdentity], str]:
    """Probe one webhook; return the replicas that answered, and what happened otherwise."""
    name = f"{hook}.evenspread.io"
    try:
        response = await dry_run(client, namespace, build_probe(hook))
    except ApiError as error:
        if error.status:
            raise
        return [], f"{name}: {error}"  # a restarting API server comes back
    if is_create_forbidden(response):  # waiting does not change that
        raise ApiError(client.api.name, response.message, "forbidden", response.status)
    if response.status != HTTPStatus.CREATED:
        name += f": {interpret(response.message).meaning or response.message}"
    return read_replicas(response.warnings), name


async def set_failure_policies(
    client: DoctorClient, name: str, policies: Mapping[Hook, str]
) -> list[str]:
    """
    Set ``failurePolicy`` of our webhooks where it differs.

    Args:
        name: Name of the webhook configurations.
        policies: Webhook -> Fail or Ignore.

    Returns:
        One sentence for each change; empty if nothing differs.

    Raises:
        SourceError: The change failed, or another client changed the configuration meanwhile.
    """
    return [
        f"{hook}.evenspread.io: failurePolicy is {policy} now"
        for hook, policy in policies.items()
        if await _set_failure_policy(client, name, hook, policy)
    ]


async def _set_failure_policy(client: DoctorClient, name: str, hook: Hook, policy: str) -> bool:
    place, webhook = REGISTRATIONS[hook], f"{hook}.evenspread.io"
    configuration = (await client.get_object(place, WebhookConfiguration, name)).value
    index = configuration.index(webhook) if configuration else None
    if configuration is None or index is None:
        raise SourceError(f"{place.plural} {name}", f"has no webhook {webhook} to be {policy}")
    if configuration.webhooks[index].failure_policy == policy:
        return False
    patch = [
        {"op": "test", "path": f"/webhooks/{index}/name", "value": webhook},
        {"op": "replace", "path": f"/webhooks/{index}/failurePolicy", "value": policy},
    ]
    response = await client.send("PATCH", place.item("", name), patch, content_type=JSON_PATCH)
    if response.status != HTTPStatus.OK:
        problem = f"failurePolicy could not be set: {response.message}"
        raise SourceError(f"{place.plural} {name}", problem)
    return True
