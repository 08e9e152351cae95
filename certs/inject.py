"""
The ``caBundle`` of the webhook configurations: what kube-apiserver trusts.

A configuration that does not exist is left alone: whoever deleted it wanted to get past the
webhook. What a bundle holds beyond our authorities is kept while it is valid.
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
"""Kind: its name in a URL."""

Certificates = tuple[x509.Certificate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTrust:
    """
    One webhook configuration as it was read.

    Attributes:
        title: What people call it.
        bundles: What each of its webhooks trusts, in their order.
        resource_version: What a write of it tests.
    """

    title: str
    bundles: tuple[Certificates, ...]
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """
    What kube-apiserver is told to trust.

    Attributes:
        configurations: Those that exist.
        absent: The titles of those that do not.
    """

    configurations: tuple[WebhookTrust, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def bundles(self) -> tuple[Certificates, ...]:
        """Every bundle of every configuration."""
        return tuple(bundle for one in self.configurations for bundle in one.bundles)

    def everywhere(self, names: Collection[str]) -> frozenset[str]:
        """Choose the names of authorities that no bundle lacks."""
        held = [frozenset(map(fingerprint, bundle)) for bundle in self.bundles]
        return frozenset(names).intersection(*held)

    def anywhere(self) -> frozenset[str]:
        """Name every certificate of every bundle."""
        return frozenset(fingerprint(one) for bundle in self.bundles for one in bundle)

    def trusts(self, pair: CertificatePair) -> bool | None:
        """Tell whether every bundle leads to this leaf; None: there is no bundle to ask."""
        if not self.bundles:
            return None
        return all(_leads_to(bundle, pair) for bundle in self.bundles)


class Hooks:
    """The mutating and the validating webhook configuration of one name."""

    def __init__(self, client: ObjectClient, name: str) -> None:
        """Remember where they are."""
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
        Read both.

        Raises:
            StoreError: There was no answer.
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
        Tell whether every bundle leads to this leaf; None: there is none to ask.

        Raises:
            StoreError: There was no answer.
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
        Make every bundle hold what is trusted, and nothing that leaves or has expired.

        Nothing may be believed of the outcome before it is read again.

        Args:
            published: As it was read, before the Secret was. Then a process that knows an old
                Secret fails here, since who wrote the new one has changed the bundle.
            expired_at: What ended before that is dropped, whosever it is.

        Raises:
            ConflictError: A configuration was changed since; the other may be written.
            StoreError: There was no answer; any of them may be written or not.
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
    """Write the JSON Patch for a configuration; empty if it is as it should be."""
    wanted = [merge(one, trusted, leaving, expired_at=expired_at) for one in configuration.bundles]
    return [
        # "add" replaces what is there, and unlike "replace" needs nothing to be there.
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
    Put what is trusted to the end of what is there, without what is there twice.

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
    """Read one bundle; one that cannot be read trusts nobody, and is replaced."""
    try:
        return read_certificates(base64.b64decode(str(text or ""), validate=True))
    except (ValueError, PairError):
        return ()


def _leads_to(bundle: Certificates, pair: CertificatePair) -> bool:
    last = pair.chain[-1]
    return any(one in pair.chain or issued_by(last, one) for one in bundle)
