"""
The objects of an installation, as far as checks read them; all else of them is passed over.

Source: k8s.io/api admissionregistration/v1, apps/v1, core/v1, discovery/v1, policy/v1.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from webhook.policy.model import LabelSelector
from webhook.policy.selectors import matches

READY = "Ready"


class ApiObject(msgspec.Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """A part of an object; what an API server leaves out has the default that it has there."""


class ObjectMetadata(ApiObject, frozen=True):
    """What every object has."""

    name: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ServiceReference(ApiObject, frozen=True):
    """Which Service a webhook is called by."""

    name: str
    namespace: str
    path: str = ""
    port: int = 443


class ClientConfig(ApiObject, frozen=True):
    """
    How a webhook is called.

    Attributes:
        url: Instead of a Service.
        ca_bundle: Base64 of PEM certificates; empty if nobody has written it.
    """

    url: str = ""
    service: ServiceReference | None = None
    ca_bundle: str = ""


class WebhookRule(ApiObject, frozen=True):
    """What a webhook is called for."""

    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    scope: str = "*"


class MatchCondition(ApiObject, frozen=True):
    """A CEL expression without which a webhook is not called."""

    name: str = ""
    expression: str = ""


class Webhook(ApiObject, frozen=True):
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
    match_conditions: tuple[MatchCondition, ...] = ()

    def is_called_for(self, labels: Mapping[str, str]) -> bool:
        """Whether it is called for objects of a namespace with these labels."""
        return self.namespace_selector is None or matches(self.namespace_selector, labels)


class WebhookConfiguration(ApiObject, frozen=True):
    """A mutating or a validating one."""

    metadata: ObjectMetadata = ObjectMetadata()
    webhooks: tuple[Webhook, ...] = ()

    def webhook(self, name: str) -> Webhook | None:
        """The webhook of a name."""
        return next((each for each in self.webhooks if each.name == name), None)


class NamespaceObject(ApiObject, frozen=True):
    """A Namespace."""

    metadata: ObjectMetadata = ObjectMetadata()


class ServicePort(ApiObject, frozen=True):
    """A port of a Service."""

    port: int
    name: str = ""


class ServiceSpec(ApiObject, frozen=True):
    """What a Service leads to."""

    ports: tuple[ServicePort, ...] = ()


class InstalledService(ApiObject, frozen=True):
    """A Service."""

    spec: ServiceSpec = ServiceSpec()


class EndpointConditions(ApiObject, frozen=True):
    """Whether an endpoint serves; unknown means yes."""

    ready: bool | None = None


class ServiceEndpoint(ApiObject, frozen=True):
    """One endpoint of a Service."""

    conditions: EndpointConditions = EndpointConditions()


class EndpointSlice(ApiObject, frozen=True):
    """Some endpoints of a Service."""

    endpoints: tuple[ServiceEndpoint, ...] | None = None

    @property
    def ready(self) -> int:
        """How many of them serve."""
        return sum(each.conditions.ready is not False for each in self.endpoints or ())


class EnvVar(ApiObject, frozen=True):
    """An environment variable; without a value where it comes from somewhere else."""

    name: str
    value: str = ""


class ServerContainer(ApiObject, frozen=True):
    """A container of a pod."""

    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()


class SecretVolume(ApiObject, frozen=True):
    """The Secret that a volume shows."""

    secret_name: str = ""


class Volume(ApiObject, frozen=True):
    """A volume of a pod."""

    name: str
    secret: SecretVolume | None = None


class ServerPodSpec(ApiObject, frozen=True):
    """What a pod runs."""

    containers: tuple[ServerContainer, ...] = ()
    volumes: tuple[Volume, ...] = ()
    service_account_name: str = "default"


class ServerPodTemplate(ApiObject, frozen=True):
    """What the pods of a Deployment are made of."""

    metadata: ObjectMetadata = ObjectMetadata()
    spec: ServerPodSpec = ServerPodSpec()


class StatusCondition(ApiObject, frozen=True):
    """How something stands."""

    type: str
    status: str = ""
    message: str = ""


class DeploymentSpec(ApiObject, frozen=True):
    """What a Deployment wants."""

    template: ServerPodTemplate = ServerPodTemplate()
    replicas: int = 1


class DeploymentStatus(ApiObject, frozen=True):
    """What a Deployment has."""

    available_replicas: int = 0
    conditions: tuple[StatusCondition, ...] = ()


class Deployment(ApiObject, frozen=True):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def settings(self) -> Mapping[str, str]:
        """The flags of ``evenspread serve`` by their names, over the variables that stand there."""
        found: dict[str, str] = {}
        for container in self.spec.template.spec.containers[:1]:
            for variable in container.env:
                if variable.name.startswith("EVENSPREAD_"):
                    name = variable.name.removeprefix("EVENSPREAD_").lower().replace("_", "-")
                    found[name] = variable.value
            for flag in container.args:
                name, equals, value = flag.removeprefix("--").partition("=")
                if flag.startswith("--"):
                    found[name] = value if equals else "true"
        return found


class WaitingState(ApiObject, frozen=True):
    """Why a container does not run."""

    reason: str = ""
    message: str = ""


class ContainerState(ApiObject, frozen=True):
    """What a container does."""

    waiting: WaitingState | None = None


class ContainerStatus(ApiObject, frozen=True):
    """How a container stands."""

    state: ContainerState = ContainerState()


class PodStatus(ApiObject, frozen=True):
    """How a pod stands."""

    phase: str = ""
    conditions: tuple[StatusCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class ServerPod(ApiObject, frozen=True):
    """A replica."""

    metadata: ObjectMetadata = ObjectMetadata()
    status: PodStatus = PodStatus()

    @property
    def ready(self) -> bool:
        """Whether it serves."""
        return any(each.type == READY and each.status == "True" for each in self.status.conditions)

    @property
    def trouble(self) -> str:
        """Why it does not, as far as the kubelet and the scheduler tell."""
        for status in self.status.container_statuses:
            waiting = status.state.waiting
            if waiting is not None:
                return f"{waiting.reason}{waiting.message and ': '}{waiting.message}"
        told = (each.message for each in self.status.conditions if each.status == "False")
        return next(filter(None, told), self.status.phase)


class DisruptionBudgetSpec(ApiObject, frozen=True):
    """What a PodDisruptionBudget is for."""

    selector: LabelSelector | None = None


class DisruptionBudgetStatus(ApiObject, frozen=True):
    """What a PodDisruptionBudget allows."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    expected_pods: int = 0


class DisruptionBudget(ApiObject, frozen=True):
    """A PodDisruptionBudget."""

    metadata: ObjectMetadata = ObjectMetadata()
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()


class ConfigMap(ApiObject, frozen=True):
    """A ConfigMap."""

    data: dict[str, str] = {}


class Secret(ApiObject, frozen=True):
    """A Secret, of which only certificates are looked at."""

    data: dict[str, str] = {}

    def certificates(self, entry: str) -> bytes:
        """The PEM of an entry; empty if there is none, or it cannot be read."""
        return decode_base64(self.data.get(entry, ""))


class PolicyObject(ApiObject, frozen=True):
    """An object of somebody else, searched for one word."""

    metadata: ObjectMetadata = ObjectMetadata()
    spec: dict[str, Any] = {}


def decode_base64(base64_text: str) -> bytes:
    """The bytes of a base64 text; empty if it is none."""
    try:
        return base64.b64decode(base64_text, validate=True)
    except binascii.Error:
        return b""
