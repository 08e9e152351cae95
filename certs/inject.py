"""
The ``caBundle`` of the webhook configurations, which kube-apiserver trusts.

Entry point: ``Hooks``. It must not recreate a deleted configuration, because deleting one is how
an operator bypasses the webhook. Other certificates in a bundle stay while they are valid.
"""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509

from certs.api import ApiObject, ObjectClient, PatchOperation
from certs.errors import AbsentError, PairError, StoreError
from certs.pem import CertificatePair, fingerprint, issued_by, read_certificates, write_certificates

WEBHOOK_KINDS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
"""Resource name in URLs, by kind."""

Certificates = tuple[x509.Certificate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTrust:
    """
    One webhook configuration as read.

    Attributes:
        title: The name in messages.
        bundles: The CA bundle of each webhook, in order.
        resource_version: The version that a write requires.
    """

    title: str
    bundles: tuple[Certificates, ...]
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """
    The trust published to kube-apiserver.

    Attributes:
        configurations: The existing configurations.
        absent: The titles of the missing ones.
    """

    configurations: tuple[WebhookTrust, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def bundles(self) -> tuple[Certificates, ...]:
        """All bundles of all configurations."""
        return tuple(bundle for one in self.configurations for bundle in one.bundles)

    def everywhere(self, names: Collection[str]) -> frozenset[str]:
        """Return the names of the authorities that every bundle contains."""
        held = [frozenset(map(fingerprint, bundle)) for bundle in self.bundles]
        return frozenset(names).intersection(*held)

    def anywhere(self) -> frozenset[str]:
        """Return the names of all certificates in all bundles."""
        return frozenset(fingerprint(one) for bundle in self.bundles for one in bundle)

    def trusts(self, pair: CertificatePair) -> bool | None:
        """Return whether every bundle verifies this leaf; None if there is no bundle."""
        if not self.bundles:
            return None
        return all(_leads_to(bundle, pair) for bundle in self.bundles)


class Hooks:
    """The mutating and the validating webhook configuration of one name."""

    def __init__(self, client: ObjectClient, name: str) -> None:
        """Store the location of the configurations."""
        self._objects = tuple(
            ApiObject(
                client=client,
                path=f"/apis/admissionregistration.k8s.io/v1/{plural}/{name}",
                title=f"{kind} {name}",
            )
            for kind, plural in WEBHOOK_KINDS.items()
        )

    async def read(self) -> Published:
        """
        Read both configurations.

        Raises:
            StoreError: The API server did not answer.
        """
        configurations: list[WebhookTrust] = []
        absent: list[str] = []
        for one in self._objects:
            try:
                reply = await one.read()
            except AbsentError:
                absent.append(one.title)
                continue
            configurations.append(
                WebhookTrust(
                    title=one.title,
                    bundles=_bundles(reply.content, one.title),
                    resource_version=reply.resource_version,
                )
            )
        return Published(configurations=tuple(configurations), absent=tuple(absent))

    async def trust(self, pair: CertificatePair) -> bool | None:
        """
        Return whether every bundle verifies this leaf; None if there is no bundle.

        Raises:
            StoreError: The API server did not answer.
        """
        return (await self.read()).trusts(pair)

    async def write(
        self,
        published: Published,
        trusted: Sequence[x509.Certificate],
        leaving: Sequence[x509.Certificate],
        *,
        expired_at: datetime,
    ) -> None:
        """
        Add the trusted certificates to every bundle; remove the leaving and the expired ones.

        Read the configurations again before you rely on the outcome.

        Args:
            published: The configurations, read before the Secret. A process with an old Secret
                then fails here, since the writer of the new one has changed the bundle.
            expired_at: Certificates that ended before this time are removed, whatever their origin.

        Raises:
            ConflictError: A configuration changed in the meantime; the other may be written.
            StoreError: The API server did not answer; any write may have succeeded.
        """
        objects = {one.title: one for one in self._objects}
        for one in published.configurations:
            operations = changes(one, trusted, leaving, expired_at=expired_at)
            if operations:
                await objects[one.title].patch(operations, resource_version=one.resource_version)


def changes(
    configuration: WebhookTrust,
    trusted: Sequence[x509.Certificate],
    leaving: Sequence[x509.Certificate],
    *,
    expired_at: datetime,
) -> list[PatchOperation]:
    """Return the JSON Patch for a configuration; empty if it needs no change."""
    wanted = [merge(one, trusted, leaving, expired_at=expired_at) for one in configuration.bundles]
    return [
        # "add" replaces an existing value and, unlike "replace", works without one.
        {
            "op": "add",
            "path": f"/webhooks/{number}/clientConfig/caBundle",
            "value": base64.b64encode(write_certificates(bundle)).decode("ascii"),
        }
        for number, (bundle, now) in enumerate(zip(wanted, configuration.bundles, strict=True))
        if bundle != now
    ]


def merge(
    bundle: Iterable[x509.Certificate],
    trusted: Sequence[x509.Certificate],
    leaving: Sequence[x509.Certificate],
    *,
    expired_at: datetime,
) -> Certificates:
    """
    Append the trusted certificates to the existing ones, without duplicates.

    Source: cert-manager's cainjector with the gate ``CAInjectorMerging``.
    """
    kept = (one for one in bundle if one not in leaving and one.not_valid_after_utc > expired_at)
    return tuple(dict.fromkeys((*kept, *trusted)))


def _bundles(content: Mapping[str, Any], title: str) -> tuple[Certificates, ...]:
    webhooks: Iterable[Any] = content.get("webhooks") or []
    try:
        bundles = [one["clientConfig"].get("caBundle") for one in webhooks]
    except (AttributeError, KeyError, TypeError):
        raise StoreError(title, "the API server's answer is no webhook configuration") from None
    return tuple(map(_bundle, bundles))


def _bundle(text: object) -> Certificates:
    """Parse one bundle; an unreadable one counts as empty and is replaced."""
    try:
        return read_certificates(base64.b64decode(str(text or ""), validate=True))
    except (ValueError, PairError):
        return ()


def _leads_to(bundle: Certificates, pair: CertificatePair) -> bool:
    last = pair.chain[-1]
    return any(one in pair.chain or issued_by(last, one) for one in bundle)
