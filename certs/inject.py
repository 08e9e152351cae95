"""
The ``caBundle`` of the webhook configurations, which kube-apiserver trusts.

Entry point: ``Hooks``. It must not recreate a deleted configuration, because deleting one is how
an operator bypasses the webhook. Which certificates leave a bundle is for ``certs.plan`` to decide.
"""

import base64
from collections.abc import Callable, Collection, Iterable, Mapping
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
MergeBundle = Callable[[Certificates], Certificates]


@dataclass(frozen=True, slots=True)
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
    """The existing webhook configurations, and the titles of the missing ones."""

    configurations: tuple[WebhookTrust, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def bundles(self) -> tuple[Certificates, ...]:
        """All bundles of all configurations."""
        return tuple(bundle for found in self.configurations for bundle in found.bundles)

    def everywhere(self, names: Collection[str]) -> frozenset[str]:
        """Return the names of the authorities that every bundle contains."""
        return frozenset(names).intersection(*(map(fingerprint, cas) for cas in self.bundles))

    def anywhere(self) -> dict[str, x509.Certificate]:
        """Return all certificates in all bundles, by name."""
        return {fingerprint(ca): ca for bundle in self.bundles for ca in bundle}


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
        for item in self._objects:
            try:
                state = await item.read()
            except AbsentError:
                absent.append(item.title)
                continue
            bundles = _bundles(state.content, item.title)
            configurations.append(WebhookTrust(item.title, bundles, state.resource_version))
        return Published(configurations=tuple(configurations), absent=tuple(absent))

    async def trust(self, pair: CertificatePair) -> bool | None:
        """
        Return whether every bundle verifies this leaf; None if there is no bundle.

        Raises:
            StoreError: The API server did not answer.
        """
        bundles = (await self.read()).bundles
        return all(_verifies(bundle, pair) for bundle in bundles) if bundles else None

    async def write(self, published: Published, merge: MergeBundle) -> None:
        """
        Change every bundle; read the configurations again before you rely on the outcome.

        Args:
            published: The configurations, read before the Secret. A process with an old Secret
                then fails here, since the writer of the new one has changed the bundle.
            merge: Returns the new bundle; a configuration that needs no change is not written.

        Raises:
            ConflictError: A configuration changed in the meantime; the other may be written.
            StoreError: The API server did not answer; any write may have succeeded.
        """
        objects = {item.title: item for item in self._objects}
        for configuration in published.configurations:
            operations = [
                _replace_bundle(number, merge(bundle))
                for number, bundle in enumerate(configuration.bundles)
                if merge(bundle) != bundle
            ]
            if operations:
                await objects[configuration.title].patch(
                    operations, resource_version=configuration.resource_version
                )


def merge_bundle(
    bundle: Certificates,
    *,
    trusted: Collection[x509.Certificate],
    leaving: Collection[x509.Certificate],
    expired_at: datetime,
) -> Certificates:
    """
    Append the trusted certificates to a bundle, without duplicates.

    Args:
        leaving: Removed from the bundle.
        expired_at: Certificates that ended before this time are removed, whatever their origin.

    Source: cert-manager's cainjector with the gate ``CAInjectorMerging``.
    """
    kept = (
        certificate
        for certificate in bundle
        if certificate not in leaving and certificate.not_valid_after_utc > expired_at
    )
    return tuple(dict.fromkeys((*kept, *trusted)))


def _replace_bundle(number: int, bundle: Certificates) -> PatchOperation:
    path = f"/webhooks/{number}/clientConfig/caBundle"
    value = base64.b64encode(write_certificates(bundle)).decode("ascii")
    return {"op": "add", "path": path, "value": value}  # unlike "replace", works without a value


def _bundles(content: Mapping[str, Any], title: str) -> tuple[Certificates, ...]:
    webhooks: Iterable[Any] = content.get("webhooks") or []
    try:
        bundles = [webhook["clientConfig"].get("caBundle") for webhook in webhooks]
    except (AttributeError, KeyError, TypeError):
        raise StoreError(title, "the API server's answer is no webhook configuration") from None
    return tuple(map(_bundle, bundles))


def _bundle(text: object) -> Certificates:
    """Parse one bundle; an unreadable one counts as empty and is replaced."""
    try:
        return read_certificates(base64.b64decode(str(text or ""), validate=True))
    except (ValueError, PairError):
        return ()


def _verifies(bundle: Certificates, pair: CertificatePair) -> bool:
    return any(ca in pair.chain or issued_by(pair.chain[-1], ca) for ca in bundle)
