"""
Small objects that ``evenspread doctor`` reads, and the base class of all its object types.

The types decode only the fields that checks read and ignore all others. ``workload`` has those of
the Deployment and its Service.

Source: k8s.io/api core/v1, admissionregistration/v1.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from webhook.policy.model import LabelSelector, ObjectMeta
from webhook.policy.selectors import matches


class DoctorObject(msgspec.Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """An object or a part of one; a missing field has the default that the API gives it."""


class DoctorNamedObject(DoctorObject, frozen=True):
    """An object of which only the metadata are read, such as a Namespace."""

    metadata: ObjectMeta = ObjectMeta()


class ConfigMap(DoctorObject, frozen=True):
    """A ConfigMap."""

    data: dict[str, str] = {}


class Secret(DoctorObject, frozen=True):
    """A Secret; only its certificates are read."""

    data: dict[str, str] = {}

    def certificates(self, entry: str) -> bytes:
        """Return the PEM text of an entry; empty if it is missing or no base64."""
        return decode_base64(self.data.get(entry, ""))


class PolicyObject(DoctorNamedObject, frozen=True):
    """An object of another policy engine, searched for ``topologySpreadConstraints``."""

    spec: dict[str, Any] = {}


def decode_base64(text: str) -> bytes:
    """Decode a base64 text; empty if it is invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


class _ServiceReference(DoctorObject, frozen=True):
    name: str
    namespace: str
    path: str = ""
    port: int = 443


class ClientConfig(DoctorObject, frozen=True):
    """
    How the API server calls a webhook.

    Attributes:
        service: None if the API server calls a URL instead.
        ca_bundle: PEM certificates in base64; empty if nothing has written them yet.
    """

    service: _ServiceReference | None = None
    ca_bundle: str = ""


class WebhookRule(DoctorObject, frozen=True):
    """Resources and operations that a webhook is called for."""

    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    scope: str = "*"

    def includes(self, resource: str, operation: str) -> bool:
        """Whether the rule includes an operation on a resource, in whatever group."""
        return bool(
            {resource, "*", "*/*"} & {*self.resources} and {operation, "*"} & {*self.operations}
        )


class _MatchCondition(DoctorObject, frozen=True):
    name: str = ""
    expression: str = ""


class Webhook(DoctorObject, frozen=True):
    """One webhook of a configuration."""

    name: str
    client_config: ClientConfig
    rules: tuple[WebhookRule, ...] = ()
    failure_policy: str = "Fail"
    match_policy: str = "Equivalent"
    side_effects: str = ""
    timeout_seconds: int = 10
    reinvocation_policy: str = "Never"
    admission_review_versions: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    match_conditions: tuple[_MatchCondition, ...] = ()

    def selects_namespace(self, labels: Mapping[str, str]) -> bool:
        """Whether the webhook is called for objects in a namespace with these labels."""
        return self.namespace_selector is None or matches(self.namespace_selector, labels)

    def covers(self, group: str, resource: str, operation: str) -> bool:
        """Whether any rule includes an operation on a resource."""
        return any(
            {group, "*"} & {*rule.api_groups} and rule.includes(resource, operation)
            for rule in self.rules
        )


class WebhookConfiguration(DoctorNamedObject, frozen=True):
    """A MutatingWebhookConfiguration or a ValidatingWebhookConfiguration."""

    webhooks: tuple[Webhook, ...] = ()

    def index(self, name: str) -> int | None:
        """Return the index of the webhook with a name; None if there is none."""
        names = [webhook.name for webhook in self.webhooks]
        return names.index(name) if name in names else None

    def webhook(self, name: str) -> Webhook | None:
        """Return the webhook with a name; None if there is none."""
        index = self.index(name)
        return None if index is None else self.webhooks[index]
