"""
Trying pods and PodTemplates in a cluster: dry runs, of which nothing is stored.

Which ones, and what the answers mean, is in ``probing``.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from webhook.cluster.resources import NAMESPACES, Place
from webhook.doctor import objects, probes
from webhook.doctor.client import Answer, Asker, right_of
from webhook.doctor.installation import Seen, Tried, seen_or_none
from webhook.doctor.probes import OWN_CONSTRAINT, TRIES, Answerer, Probed
from webhook.policy.defaulting.provenance import ANNOTATION
from webhook.policy.model import PodSpec
from webhook.policy.request import Hook

_PODS = Place("/api/v1", "pods")
_POD_TEMPLATES = Place("/api/v1", "podtemplates")


async def choose_for(
    asker: Asker, configurations: Mapping[Hook, Seen[objects.WebhookConfiguration]]
) -> str:
    """Choose a namespace that the webhooks are called for; ``default`` if it is one."""
    listed = await asker.look_through(NAMESPACES, objects.Namespace)
    return choose_namespace(
        seen_or_none(listed) or (),
        [
            webhook
            for seen in configurations.values()
            if (found := seen_or_none(seen)) is not None
            for webhook in found.webhooks
        ],
    )


def choose_namespace(
    namespaces: Sequence[objects.Namespace], webhooks: Sequence[objects.Webhook]
) -> str:
    """The first namespace that all webhooks are called for, ``default`` before any other."""
    fitting = [
        each.metadata.name
        for each in namespaces
        if all(webhook.is_called_for(each.metadata.labels) for webhook in webhooks)
    ]
    return DEFAULT if DEFAULT in fitting or not fitting else fitting[0]


DEFAULT = "default"


async def probe(asker: Asker, hook: Hook, namespace: str) -> Probed:
    """Try a few PodTemplates that this hook alone answers for."""
    by: list[Answerer] = []
    refusal = ""
    for _ in range(TRIES):
        answer = await try_out(asker, namespace, probes.probe(hook))
        if may_not_create(answer):
            return Probed(lacks=f"needs {right_of('create', _POD_TEMPLATES, namespace)}")
        if answer.status != HTTPStatus.CREATED:
            refusal = answer.message
        found = probes.answerers(answer.warnings)
        if not found:
            break  # it may have waited for the webhook's whole timeout
        by += found
    return Probed(tuple(dict.fromkeys(by)), refusal)


async def try_out(asker: Asker, namespace: str, obj: Mapping[str, Any]) -> Answer:
    """Have an API server say what would become of a Pod or a PodTemplate."""
    place = Place("/api/v1", f"{obj['kind'].lower()}s").within(namespace)
    return await asker.ask("POST", place.collection, obj, {"dryRun": "All"})


def may_not_create(answer: Answer) -> bool:
    """Whether it is the right to create that lacks; admission refuses with 403 too."""
    refused = answer.status == HTTPStatus.FORBIDDEN
    return refused and " cannot create resource " in answer.message


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] = {}


class _Made(msgspec.Struct):
    metadata: _Metadata
    spec: PodSpec


async def try_plain(asker: Asker, namespace: str) -> Seen[tuple[Tried, ...]]:
    """Try a pod without constraints, and one with a constraint of its own."""
    found: list[Tried] = []
    for own in ([], [OWN_CONSTRAINT]):
        answer = await try_out(asker, namespace, probes.plain(own))
        if may_not_create(answer):
            return Seen(lacks=f"needs {right_of('create', _PODS, namespace)}")
        if answer.status != HTTPStatus.CREATED:
            return Seen(lacks=f"a pod was refused in namespace {namespace}: {answer.message}")
        made = msgspec.json.decode(answer.body, type=_Made)
        before = msgspec.convert({"topologySpreadConstraints": own}, PodSpec)
        found.append(
            Tried(
                made.metadata.annotations.get(ANNOTATION),
                made.spec.topology_spread_constraints,
                before.topology_spread_constraints,
            )
        )
    return Seen(tuple(found))
