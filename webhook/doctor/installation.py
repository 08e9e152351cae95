"""
An installation as it was found: one immutable value, which every check looks at.

What could not be looked at is part of the value, with the right that it takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from cryptography import x509

from webhook.cluster.discovery import ResourcePath
from webhook.doctor import objects
from webhook.doctor.probes import ProbeResult
from webhook.doctor.rights import Right, certificate_mode
from webhook.errors import SourceError
from webhook.policy.model import Constraint
from webhook.policy.request import Hook

T = TypeVar("T")
LookupT_co = TypeVar("LookupT_co", covariant=True)

CONFIGURATION_KINDS = {
    Hook.MUTATE: "MutatingWebhookConfiguration",
    Hook.VALIDATE: "ValidatingWebhookConfiguration",
}
"""The kind in which each webhook is registered."""

_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"

REGISTRATIONS = {
    Hook.MUTATE: ResourcePath(_REGISTRATION, "mutatingwebhookconfigurations"),
    Hook.VALIDATE: ResourcePath(_REGISTRATION, "validatingwebhookconfigurations"),
}
"""Where an API server has the objects of these kinds."""


class NotReadableError(SourceError):
    """Something could not be looked at; ``problem`` says which right that needs."""


class Lookup(Generic[LookupT_co]):
    """Something that was looked for: an object, None if it does not exist, or neither."""

    def __init__(self, value: LookupT_co | None = None, *, lacks: str = "") -> None:
        """
        Keep what was found.

        Args:
            lacks: What is missing for a look at it, as ``needs get on secrets``; empty: nothing.
        """
        self._value = value
        self.lacks = lacks

    @property
    def value(self) -> LookupT_co | None:
        """
        What is there; None if it does not exist.

        Raises:
            NotReadableError: Nobody could look.
        """
        if self.lacks:
            raise NotReadableError("not looked at", self.lacks)
        return self._value


def value_or_none(seen: Lookup[T]) -> T | None:
    """Give what was found; None also if nobody could look."""
    return None if seen.lacks else seen.value


class Replica(NamedTuple):
    """
    What one replica says of itself.

    Attributes:
        name: Of its pod; the address, of one that was asked at ``--health``.
        readiness: Lines of ``/readyz?verbose``.
        metrics: Text of ``/metrics``.
    """

    name: str
    readiness: Lookup[str]
    metrics: Lookup[str]


class DryRunPod(NamedTuple):
    """
    What became of a pod without the label of probes.

    Attributes:
        annotation: Ours, by which we recognise our constraints; None if there is none.
        constraints: The whole list.
        own: What the pod had before anybody changed it.
    """

    annotation: str | None
    constraints: tuple[Constraint, ...]
    own: tuple[Constraint, ...]


class ConflictingPolicy(NamedTuple):
    """An object of somebody else that writes the same field."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """
    All that was looked at.

    Attributes:
        namespace: Of the Deployment.
        name: Of everything; the Secret of the authority is NAME-ca.
        now: Aware, UTC.
        version: Of whoever looks.
        kubernetes: The API server's version, as it writes it.
        configurations: By hook: the webhook configuration of our name.
        others: Other mutating webhook configurations.
        slices: The endpoints of the Service.
        budgets: PodDisruptionBudgets of the namespace.
        authority: The Secret of mode self.
        serving: The Secret of mode files; None if the Deployment names none.
        rights: What the ServiceAccount may do.
        features: The API server's own feature gates.
        replicas: What each replica says of itself.
        probed: By hook: what became of its probes.
        tried: What became of pods that are none.
        rivals: Policies of others that write the same field.
        served: The leaf that ``--address`` shows; None: nobody asked.
    """

    namespace: str
    name: str
    now: datetime
    version: str
    kubernetes: str
    configurations: Mapping[Hook, Lookup[objects.WebhookConfiguration]]
    others: Lookup[tuple[objects.WebhookConfiguration, ...]]
    service: Lookup[objects.InstalledService]
    slices: Lookup[tuple[objects.EndpointSlice, ...]]
    deployment: Lookup[objects.Deployment]
    pods: Lookup[tuple[objects.ServerPod, ...]]
    budgets: Lookup[tuple[objects.DisruptionBudget, ...]]
    configuration: Lookup[objects.ConfigMap]
    authority: Lookup[objects.Secret]
    serving: Lookup[objects.Secret]
    rights: Mapping[Right, Lookup[bool]]
    features: Lookup[Mapping[str, bool]]
    probed: Mapping[Hook, ProbeResult]
    tried: Lookup[tuple[DryRunPod, ...]]
    rivals: Lookup[tuple[ConflictingPolicy, ...]]
    replicas: tuple[Replica, ...] = ()
    served: x509.Certificate | None = None
    settings: Mapping[str, str] = field(default_factory=dict[str, str])

    def webhook(self, hook: Hook) -> objects.Webhook | None:
        """
        Our webhook in its configuration; None if it is not registered.

        Raises:
            NotReadableError: Nobody could look.
        """
        configuration = self.configurations[hook].value
        return configuration.webhook(f"{hook}.evenspread.io") if configuration else None

    @property
    def mode(self) -> str:
        """Where the certificate comes from: self, files or standalone."""
        return certificate_mode(self.settings)

    @property
    def place(self) -> str:
        """The flag of kubectl that chooses the namespace."""
        return f"-n {self.namespace}"

    def logs_of(self, replica: Replica) -> str:
        """The command that shows what a replica has logged."""
        known = replica.name if ":" not in replica.name else f"deployment/{self.name}"
        return f"kubectl {self.place} logs {known}"
