"""
Waiting until an installation serves, and switching ``failurePolicy`` then.

``Fail`` that is registered before a replica serves stops a cluster from creating pods. So the
manifests ship ``Ignore``, and this sets what is wanted afterwards.
"""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from webhook.doctor.client import JSON_PATCH, DoctorClient, DoctorResponse
from webhook.doctor.dryrun import dry_run, is_create_forbidden
from webhook.doctor.installation import REGISTRATIONS
from webhook.doctor.objects import WebhookConfiguration
from webhook.doctor.probes import ReplicaIdentity, build_probe, interpret, read_replicas
from webhook.errors import ApiError, SourceError
from webhook.policy.request import Hook

PAUSE_S = 1.0  # between two looks: a replica takes seconds to start

POLICIES = ("Fail", "Ignore")


async def wait_answered(
    asker: DoctorClient,
    namespace: str,
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[object]],
    patience_s: float,
) -> list[ReplicaIdentity]:
    """
    Wait until both webhooks are answered for.

    Args:
        namespace: One that the webhooks are called for.
        clock: Seconds; never goes back.
        patience_s: Bound of the wait; both are asked at least once.

    Returns:
        Who answered, the mutating webhook's first.

    Raises:
        SourceError: Nobody did in time; says what came instead.
        ApiError: The API server does not let us ask.
    """
    deadline = clock() + patience_s
    while True:
        looked = [await _look(asker, namespace, hook) for hook in Hook]
        missing = [says for by, says in looked if not by]
        if not missing:
            return [each for by, _ in looked for each in by]
        if clock() >= deadline:
            told = "; ".join(missing)
            problem = f"no replica answered within {patience_s:g} s for {told}"
            raise SourceError("evenspread", problem)
        await sleep(PAUSE_S)


async def _look(
    asker: DoctorClient, namespace: str, hook: Hook
) -> tuple[list[ReplicaIdentity], str]:
    """Try one hook: who answered, or what came instead."""
    name = f"{hook}.evenspread.io"
    try:
        answer = await dry_run(asker, namespace, build_probe(hook))
    except ApiError as error:
        if error.status:
            raise
        return [], f"{name}: {error}"  # an API server that restarts comes back
    _raise_if_hopeless(asker, answer)
    return read_replicas(answer.warnings), f"{name}{_because(answer)}"


def _raise_if_hopeless(asker: DoctorClient, answer: DoctorResponse) -> None:
    """End a wait that only rights can end."""
    if is_create_forbidden(answer):
        raise ApiError(asker.reach.name, answer.message, "forbidden", answer.status)


def _because(answer: DoctorResponse) -> str:
    if answer.status == HTTPStatus.CREATED:
        return ""
    return f": {interpret(answer.message).means or answer.message}"


async def set_failure_policies(
    asker: DoctorClient, name: str, wanted: Mapping[Hook, str]
) -> list[str]:
    """
    Set ``failurePolicy`` of our webhooks, where it is another one.

    Args:
        name: Of the webhook configurations.
        wanted: Fail or Ignore, by hook.

    Returns:
        What was changed, a sentence each; nothing if all is as it is wanted.

    Raises:
        SourceError: It could not be changed, or somebody else changed it meanwhile.
    """
    return [
        f"{hook}.evenspread.io: failurePolicy is {policy} now"
        for hook, policy in wanted.items()
        if await _set(asker, name, hook, policy)
    ]


async def _set(asker: DoctorClient, name: str, hook: Hook, policy: str) -> bool:
    place, webhook = REGISTRATIONS[hook], f"{hook}.evenspread.io"
    seen = await asker.look_at(place, WebhookConfiguration, name)
    configuration = seen.value
    names = [each.name for each in configuration.webhooks] if configuration else []
    if configuration is None or webhook not in names:
        raise SourceError(f"{place.plural} {name}", f"has no webhook {webhook} to be {policy}")
    at = names.index(webhook)
    if configuration.webhooks[at].failure_policy == policy:
        return False
    patch = [
        {"op": "test", "path": f"/webhooks/{at}/name", "value": webhook},
        {"op": "replace", "path": f"/webhooks/{at}/failurePolicy", "value": policy},
    ]
    answer = await asker.ask("PATCH", place.item("", name), patch, content_type=JSON_PATCH)
    if answer.status != HTTPStatus.OK:
        problem = f"failurePolicy could not be set: {answer.message}"
        raise SourceError(f"{place.plural} {name}", problem)
    return True
