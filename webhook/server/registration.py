"""
Watch our own webhook configurations, and report what others do to them.

``RegistrationWatcher`` is the entry point. It never writes: a configuration that an operator
deletes or changes stays so, and its ``caBundle`` is for ``certs``.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NoReturn

import msgspec

from certs.inject import WEBHOOK_KINDS
from webhook.cluster.discovery import find_custom_kinds
from webhook.cluster.protocol import DECODE_ERRORS, NO_QUERY, ApiClient
from webhook.doctor.drift import find_drift
from webhook.doctor.objects import WebhookConfiguration
from webhook.errors import ApiError
from webhook.policy.kinds import BUILT_IN_KINDS, CUSTOM_KINDS
from webhook.policy.model import GroupKind
from webhook.policy.request import Hook
from webhook.server.context import ServerContext
from webhook.server.events import EventRecorder

_KINDS = dict(zip(Hook, WEBHOOK_KINDS, strict=True))

Webhooks = Mapping[str, Mapping[str, Any]]
"""The webhooks of a configuration by name, without their caBundles."""


@dataclass(slots=True)
class RegistrationWatcher:
    """
    Compares both configurations with what evenspread needs, and with what they were before.

    Drift is a warning for as long as it lasts; another change, as by an upgrade, is reported once.

    Attributes:
        kinds: Returns all kinds with a pod template.
    """

    client: ApiClient
    context: ServerContext
    events: EventRecorder
    kinds: Callable[[], Iterable[GroupKind]]
    _seen: dict[Hook, Webhooks] = field(default_factory=dict[Hook, Webhooks], init=False)
    _drift: dict[Hook, set[str]] = field(default_factory=dict[Hook, set[str]], init=False)

    async def run(self, interval_s: float) -> NoReturn:
        """Check both configurations until cancelled."""
        while True:
            for hook in Hook:
                await self.check(hook)
            await asyncio.sleep(interval_s)

    async def check(self, hook: Hook) -> None:
        """Check one configuration; what cannot be read is left for the next time."""
        name = self.context.settings.name
        path = f"/apis/admissionregistration.k8s.io/v1/{WEBHOOK_KINDS[_KINDS[hook]]}/{name}"
        try:
            response = await self.client.send("GET", path, NO_QUERY, b"")
            if response.status == HTTPStatus.NOT_FOUND:
                self._report_drift(hook, {"does not exist, so that no replica is called"})
            elif response.status == HTTPStatus.OK:
                self._compare(hook, response.body, await self._list_custom())
        except (ApiError, *DECODE_ERRORS):
            return  # the certificate and the caches report an API server that fails

    async def _list_custom(self) -> set[tuple[str, str]]:
        """Look up the plurals of configured kinds; those of all other kinds are known."""
        kinds = {*self.kinds()} - BUILT_IN_KINDS.keys() - CUSTOM_KINDS.keys()
        rows = await find_custom_kinds(self.client, kinds, [])
        plurals = {row.group_kind: row.plural for row in rows}
        return {(kind.group, plurals.get(kind, "")) for kind in kinds}

    def _compare(self, hook: Hook, body: bytes, custom: set[tuple[str, str]]) -> None:
        configuration = msgspec.json.decode(body, type=WebhookConfiguration)
        webhooks = _without_bundles(msgspec.json.decode(body))
        before = self._seen.get(hook, webhooks)
        self._seen[hook] = webhooks
        if changed := sorted(_list_changes(before, webhooks)):
            self._report("Changed", hook, f"was changed: {', '.join(changed)}", warning=False)
        place = {"name": self.context.settings.name, "namespace": self.context.namespace}
        drift = find_drift(hook, configuration, **place, custom=custom)
        self._report_drift(hook, {*drift})

    def _report_drift(self, hook: Hook, drift: set[str]) -> None:
        self.context.metrics.registration_drift.labels(_KINDS[hook]).set(len(drift))
        before, self._drift[hook] = self._drift.get(hook, set()), drift
        if new := sorted(drift - before):
            self._report("Drift", hook, "; ".join(new), warning=True)
        elif before and not drift:
            self._report("Restored", hook, "is as evenspread needs it again", warning=False)

    def _report(self, what: str, hook: Hook, text: str, *, warning: bool) -> None:
        message = f"{_KINDS[hook]} {self.context.settings.name}: {text}"
        log = self.context.log
        (log.warning if warning else log.info)("registration", message=message)
        self.events.record(f"WebhookConfiguration{what}", message, warning=warning)


def _without_bundles(content: Any) -> Webhooks:
    return {
        webhook["name"]: {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": None}}
        for webhook in content.get("webhooks") or ()
    }


def _list_changes(before: Webhooks, after: Webhooks) -> Iterator[str]:
    """List the fields that differ, as ``WEBHOOK.FIELD``; a webhook itself if it came or went."""
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            yield name
        else:
            yield from (
                f"{name}.{field}"
                for field in old.keys() | new.keys()
                if old.get(field) != new.get(field)
            )
