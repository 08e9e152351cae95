"""Webhook configurations that others change, and what is reported of it."""

import asyncio
import copy
import io
from contextlib import suppress
from typing import Any

import pytest

from tests.apiserver import ApiServer, refuse, respond
from tests.deploy.manifests import Json
from tests.doctor.installations import BASE
from tests.server.serving import logged, server_context, settled
from webhook.config.podtemplates import collect_templates
from webhook.errors import ApiError
from webhook.policy.model import GroupKind
from webhook.policy.request import Hook
from webhook.server.context import ServerContext
from webhook.server.events import EventRecorder
from webhook.server.registration import RegistrationWatcher

KIND = "MutatingWebhookConfiguration"
PATH = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/evenspread"
TITLE = f"{KIND} evenspread"


class Watched:
    """A watcher, and the log of its server."""

    def __init__(self) -> None:
        self.api, self._stream = ApiServer(), io.BytesIO()
        for obj in BASE.values():
            if "webhooks" in obj:
                self.api.add(copy.deepcopy(obj))
        self.context: ServerContext = server_context(self._stream, namespace="evenspread")
        self.events = EventRecorder(self.api, self.context)
        self.kinds = {*collect_templates(())}
        self.watcher = RegistrationWatcher(self.api, self.context, self.events, lambda: self.kinds)

    @property
    def webhooks(self) -> list[Json]:
        found: list[Json] = self.api.objects[PATH]["webhooks"]
        return found

    @property
    def messages(self) -> list[tuple[str, str]]:
        return [(line["level"], line["message"]) for line in logged(self._stream)]

    @property
    def drift(self) -> float | None:
        name = "evenspread_webhook_configuration_drift"
        return self.context.metrics.registry.get_sample_value(name, {"kind": KIND})

    async def check(self) -> None:
        await self.watcher.check(Hook.MUTATE)


@pytest.fixture
def watched() -> Watched:
    return Watched()


async def test_what_the_manifests_install_is_not_reported(watched: Watched) -> None:
    for hook in Hook:
        await watched.watcher.check(hook)

    assert (watched.messages, watched.drift) == ([], 0)


async def test_a_changed_bundle_is_not_reported(watched: Watched) -> None:
    await watched.check()
    watched.webhooks[0]["clientConfig"]["caBundle"] = "QQ=="
    await watched.check()

    assert (watched.messages, watched.drift) == ([], 0)


async def test_wider_rules_are_reported_once_and_when_they_are_gone(watched: Watched) -> None:
    await watched.check()
    rules = watched.webhooks[0]["rules"]
    watched.webhooks[0]["rules"] = [{**rules[0], "resources": ["secrets"]}, *rules]
    await watched.check()
    await watched.check()
    during = watched.drift
    watched.webhooks[0]["rules"] = rules
    await watched.check()

    changed = ("info", f"{TITLE}: was changed: mutate.evenspread.io.rules")
    drift = f"{TITLE}: mutate.evenspread.io is called for secrets of the API group core"
    restored = ("info", f"{TITLE}: is as evenspread needs it again")
    assert watched.messages == [changed, ("warning", drift), changed, restored]
    assert (during, watched.drift) == (1, 0)


async def test_rules_that_were_wide_before_the_start_are_reported(watched: Watched) -> None:
    watched.webhooks[0]["rules"][0]["scope"] = "*"

    await watched.check()

    message = f"{TITLE}: mutate.evenspread.io is called for objects outside of namespaces"
    assert watched.messages == [("warning", message)]


FISH = {"apiGroups": ["example.com"], "resources": ["fish"], "operations": ["CREATE", "UPDATE"]}
SERVED = {
    "groups": [{"name": "example.com", "preferredVersion": {"groupVersion": "example.com/v1"}}]
}
RESOURCES = {"resources": [{"name": "fish", "kind": "Fish"}, {"name": "nets", "kind": "Net"}]}


@pytest.mark.parametrize("served", [True, False])
async def test_a_rule_of_the_chart_for_a_configured_kind_is_no_drift(
    watched: Watched, served: bool
) -> None:
    watched.kinds.add(GroupKind("example.com", "Fish"))
    watched.webhooks[0]["rules"].append({**FISH, "scope": "Namespaced"})
    if served:
        watched.api.answers["GET /apis"] = respond(SERVED)
        watched.api.answers["GET /apis/example.com/v1"] = respond(RESOURCES)
    await watched.check()

    assert (watched.messages, watched.drift) == ([], 0)


async def test_a_rule_for_another_kind_of_a_configured_group_is_drift(watched: Watched) -> None:
    watched.kinds.add(GroupKind("example.com", "Fish"))
    watched.api.answers["GET /apis"] = respond(SERVED)
    watched.api.answers["GET /apis/example.com/v1"] = respond(RESOURCES)
    rule = {**FISH, "scope": "Namespaced", "resources": ["fish", "nets"]}
    watched.webhooks[0]["rules"].append(rule)
    await watched.check()

    message = f"{TITLE}: mutate.evenspread.io is called for nets of the API group example.com"
    assert watched.messages == [("warning", message)]


async def test_a_choice_of_the_operator_is_a_change_and_no_drift(watched: Watched) -> None:
    await watched.check()
    watched.webhooks[0]["failurePolicy"] = "Fail"
    await watched.check()

    assert watched.messages == [
        ("info", f"{TITLE}: was changed: mutate.evenspread.io.failurePolicy")
    ]
    assert watched.drift == 0


async def test_a_webhook_that_is_added_is_reported(watched: Watched) -> None:
    await watched.check()
    watched.webhooks.append({"name": "other.io", "clientConfig": {"url": "https://a/"}})
    await watched.check()

    assert watched.messages == [
        ("info", f"{TITLE}: was changed: other.io"),
        ("warning", f"{TITLE}: there is a webhook other.io, which no manifest of evenspread has"),
    ]


async def test_a_deleted_configuration_is_reported(watched: Watched) -> None:
    await watched.check()
    del watched.api.objects[PATH]
    await watched.check()

    message = f"{TITLE}: does not exist, so that no replica is called"
    assert watched.messages == [("warning", message)]
    assert watched.drift == 1


@pytest.mark.parametrize(
    "answer",
    [refuse("no"), respond({"kind": "x", "webhooks": 7}), ApiError("api", "no answer", "silent")],
    ids=["forbidden", "no configuration", "no answer"],
)
async def test_what_cannot_be_read_is_not_reported(watched: Watched, answer: Any) -> None:
    watched.api.answers[f"GET {PATH}"] = answer

    await watched.check()

    assert (watched.messages, watched.drift) == ([], None)


async def test_both_configurations_are_watched_and_events_recorded(watched: Watched) -> None:
    watched.webhooks[0]["sideEffects"] = "Some"
    running = [
        asyncio.create_task(watched.watcher.run(0.001)),
        asyncio.create_task(watched.events.run()),
    ]
    await settled(lambda: any(request.method == "POST" for request in watched.api.requests))
    await settled(lambda: len([r for r in watched.api.requests if "validating" in r.path]) > 1)
    for task in running:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    (event,) = [request.content for request in watched.api.requests if request.method == "POST"]
    assert (event["type"], event["reason"]) == ("Warning", "WebhookConfigurationDrift")
    assert event["message"] == f"{TITLE}: mutate.evenspread.io has sideEffects: Some, not None"
