"""
An installation as ``collect`` found it: one immutable value that every check reads.

A ``Lookup`` holds an object, its absence, or the reason why it could not be read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from cryptography import x509

from webhook.cluster.discovery import ResourcePath
from webhook.cluster.spreadpolicies import SpreadPolicyObject
from webhook.config.spreadpolicies import MergedProfiles, merge_profiles
from webhook.doctor import workload
from webhook.doctor.configmap import InstalledConfiguration, read_if_valid
from webhook.doctor.objects import ConfigMap, Secret, Webhook, WebhookConfiguration
from webhook.doctor.probes import ProbeNamespace, ProbeResult
from webhook.doctor.rights import Right, certificate_mode
from webhook.errors import SourceError
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import Constraint
from webhook.policy.request import Hook

LookupT_co = TypeVar("LookupT_co", covariant=True)

CONFIGURATION_KINDS = {
    Hook.MUTATE: "MutatingWebhookConfiguration",
    Hook.VALIDATE: "ValidatingWebhookConfiguration",
}
"""Webhook -> the kind of its configuration."""

REGISTRATIONS = {
    hook: ResourcePath("/apis/admissionregistration.k8s.io/v1", f"{kind.lower()}s")
    for hook, kind in CONFIGURATION_KINDS.items()
}
"""Webhook -> the request path of its configurations."""


def read_profiles(policies: Iterable[SpreadPolicyObject]) -> list[Profile]:
    """Return the profiles of the SpreadPolicies that can be read."""
    return [one.found.profile for one in policies if one.found is not None]


class NotReadableError(SourceError):
    """An object could not be read; ``problem`` names the missing right."""


class Lookup(Generic[LookupT_co]):
    """
    The result of a lookup: an object, its absence, or the reason why it could not be read.

    Attributes:
        problem: Why the object could not be read, such as ``needs get on secrets``.
        or_none: The object; None if it does not exist, or could not be read.
    """

    def __init__(self, value: LookupT_co | None = None, *, problem: str = "") -> None:
        """Store the object, None for its absence, or the problem."""
        self.or_none = None if problem else value
        self.problem = problem

    @property
    def value(self) -> LookupT_co | None:
        """
        The object; None if it does not exist.

        Raises:
            NotReadableError: The object could not be read.
        """
        if self.problem:
            raise NotReadableError("not checked", self.problem)
        return self.or_none


@dataclass(frozen=True)
class Replica:
    """
    The pages of one replica.

    Attributes:
        name: Name of its pod, or its address if given with ``--health``.
        readiness: Text of ``/readyz?verbose``.
        metrics: Text of ``/metrics``.
    """

    name: str
    readiness: Lookup[str]
    metrics: Lookup[str]


@dataclass(frozen=True)
class DryRunPod:
    """
    The result of a dry run of an ordinary pod.

    Attributes:
        annotation: Our annotation, which names the constraints we added; None if there is none.
        constraints: All constraints of the result.
        own: The constraints that the pod was sent with.
    """

    annotation: str | None
    constraints: tuple[Constraint, ...]
    own: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """
    All facts about an installation.

    Attributes:
        namespace: Namespace of the Deployment.
        name: Name of all objects; the Secret of the certificate authority is NAME-ca.
        now: Time of the lookups; aware, UTC.
        version: Version of this command.
        kubernetes: Version of the API server, as it reports it.
        configurations: Webhook -> its configuration.
        mutating: All mutating webhook configurations.
        slices: EndpointSlices of the Service.
        budgets: PodDisruptionBudgets of the namespace.
        policies: The SpreadPolicies; None if the API server does not have the kind.
        authority: Secret of certificate mode ``self``.
        serving: Secret of certificate mode ``files``; None if the Deployment mounts none.
        rights: Needed right -> whether the ServiceAccount has it.
        features: Feature gates of the API server.
        probe_namespace: Where the probes are sent.
        probes: Webhook -> result of its probes.
        dry_run_pods: Results of dry runs of ordinary pods.
        conflicts: Kind and name of policies of other engines that write the same field.
        replicas: Pages of each replica.
        served: Leaf certificate at ``--address``; None without that option.
    """

    namespace: str
    name: str
    now: datetime
    version: str
    kubernetes: str
    configurations: Mapping[Hook, Lookup[WebhookConfiguration]]
    mutating: Lookup[tuple[WebhookConfiguration, ...]]
    service: Lookup[workload.ServerService]
    slices: Lookup[tuple[workload.EndpointSlice, ...]]
    deployment: Lookup[workload.Deployment]
    pods: Lookup[tuple[workload.ServerPod, ...]]
    budgets: Lookup[tuple[workload.DisruptionBudget, ...]]
    configuration: Lookup[ConfigMap]
    policies: Lookup[tuple[SpreadPolicyObject, ...]]
    authority: Lookup[Secret]
    serving: Lookup[Secret]
    rights: Mapping[Right, Lookup[bool]]
    features: Lookup[Mapping[str, bool]]
    probe_namespace: ProbeNamespace
    probes: Mapping[Hook, ProbeResult]
    dry_run_pods: Lookup[tuple[DryRunPod, ...]]
    conflicts: Lookup[tuple[str, ...]]
    replicas: tuple[Replica, ...] = ()
    served: x509.Certificate | None = None

    def webhooks(self) -> Iterator[tuple[Hook, Webhook]]:
        """
        List the registered webhooks of evenspread; ``check_registered`` reports the missing ones.

        Raises:
            NotReadableError: A configuration could not be read.
        """
        for hook in Hook:
            if (webhook := self.webhook(hook)) is not None:
                yield hook, webhook

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of the server by flag name; empty without a readable Deployment."""
        return (self.deployment.or_none or workload.Deployment()).settings

    def webhook(self, hook: Hook) -> Webhook | None:
        """
        Return the webhook of evenspread; None if it is not registered.

        Raises:
            NotReadableError: The configuration could not be read.
        """
        configuration = self.configurations[hook].value
        return configuration.webhook(f"{hook}.evenspread.io") if configuration else None

    @property
    def valid_configuration(self) -> InstalledConfiguration | None:
        """
        The configuration of the server; None if it is missing or has errors.

        Raises:
            NotReadableError: The ConfigMap could not be read.
        """
        return read_if_valid(self.configuration.value, self.settings, self.kubernetes)

    @property
    def merged_profiles(self) -> MergedProfiles | None:
        """
        The profiles of the configuration and of SpreadPolicies, as the setting ``policies`` says.

        None if the configuration is missing or has errors.

        Raises:
            NotReadableError: The ConfigMap or the SpreadPolicies could not be read.
        """
        found, source = self.valid_configuration, self.settings.get("policies")
        if found is None:
            return None
        files = () if source == "resource" else found.configuration.profiles
        objects = () if source == "file" else self.policies.value or ()
        return merge_profiles(files, [one.found for one in objects if one.found is not None])

    @property
    def mode(self) -> str:
        """Source of the certificate: self, files or standalone."""
        return certificate_mode(self.settings)

    @property
    def namespace_flag(self) -> str:
        """The namespace flag for kubectl."""
        return f"-n {self.namespace}"

    def log_command(self, replica: Replica) -> str:
        """Return the command that shows the log of a replica."""
        target = replica.name if ":" not in replica.name else f"deployment/{self.name}"
        return f"kubectl {self.namespace_flag} logs {target}"
