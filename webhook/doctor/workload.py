"""
The Deployment of the server, its pods, Service and disruption budget, as doctor reads them.

Source: k8s.io/api apps/v1, core/v1, discovery/v1, policy/v1.
"""

from collections.abc import Mapping

from webhook.doctor.objects import ApiObject, NamedObject
from webhook.policy.model import LabelSelector


class ServicePort(ApiObject, frozen=True):
    """A port of a Service."""

    port: int
    name: str = ""


class ServiceSpec(ApiObject, frozen=True):
    """The specification of a Service."""

    ports: tuple[ServicePort, ...] = ()


class ServerService(ApiObject, frozen=True):
    """The Service of the server."""

    spec: ServiceSpec = ServiceSpec()


class EndpointConditions(ApiObject, frozen=True):
    """Conditions of an endpoint; an unknown ``ready`` counts as ready."""

    ready: bool | None = None


class ServiceEndpoint(ApiObject, frozen=True):
    """One endpoint of a Service."""

    conditions: EndpointConditions = EndpointConditions()


class EndpointSlice(ApiObject, frozen=True):
    """An EndpointSlice."""

    endpoints: tuple[ServiceEndpoint, ...] | None = None

    @property
    def ready(self) -> int:
        """The number of ready endpoints."""
        return sum(item.conditions.ready is not False for item in self.endpoints or ())


class EnvVar(ApiObject, frozen=True):
    """An environment variable; its value is empty if it comes from another object."""

    name: str
    value: str = ""


class ServerContainer(ApiObject, frozen=True):
    """The container of the server."""

    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()


class SecretVolume(ApiObject, frozen=True):
    """The Secret of a volume."""

    secret_name: str = ""


class PodVolume(ApiObject, frozen=True):
    """A volume of a pod."""

    name: str
    secret: SecretVolume | None = None


class ServerPodSpec(ApiObject, frozen=True):
    """The specification of the server's pods."""

    containers: tuple[ServerContainer, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    service_account_name: str = "default"


class ServerPodTemplate(NamedObject, frozen=True):
    """The pod template of the Deployment."""

    spec: ServerPodSpec = ServerPodSpec()


class StatusCondition(ApiObject, frozen=True):
    """A condition in the status of an object."""

    type: str
    status: str = ""
    message: str = ""


class DeploymentSpec(ApiObject, frozen=True):
    """The specification of a Deployment."""

    template: ServerPodTemplate = ServerPodTemplate()
    replicas: int = 1


class DeploymentStatus(ApiObject, frozen=True):
    """The status of a Deployment."""

    available_replicas: int = 0
    conditions: tuple[StatusCondition, ...] = ()


class Deployment(ApiObject, frozen=True):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of ``evenspread serve`` by flag name; flags override variables."""
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
    """Why a container waits."""

    reason: str = ""
    message: str = ""


class ContainerState(ApiObject, frozen=True):
    """The state of a container."""

    waiting: WaitingState | None = None


class ContainerStatus(ApiObject, frozen=True):
    """The status of a container."""

    state: ContainerState = ContainerState()


class ServerPodStatus(ApiObject, frozen=True):
    """The status of a pod."""

    phase: str = ""
    conditions: tuple[StatusCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class ServerPod(NamedObject, frozen=True):
    """A pod of the server: one replica."""

    status: ServerPodStatus = ServerPodStatus()

    @property
    def is_ready(self) -> bool:
        """Whether the pod has the condition Ready."""
        return any(
            item.type == "Ready" and item.status == "True" for item in self.status.conditions
        )

    @property
    def trouble(self) -> str:
        """Why the pod is not ready, in the words of the kubelet or the scheduler."""
        for container in self.status.container_statuses:
            waiting = container.state.waiting
            if waiting is not None:
                return f"{waiting.reason}{waiting.message and ': '}{waiting.message}"
        messages = (item.message for item in self.status.conditions if item.status == "False")
        return next(filter(None, messages), self.status.phase)


class DisruptionBudgetSpec(ApiObject, frozen=True):
    """The specification of a PodDisruptionBudget."""

    selector: LabelSelector | None = None


class DisruptionBudgetStatus(ApiObject, frozen=True):
    """The status of a PodDisruptionBudget."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    expected_pods: int = 0


class DisruptionBudget(NamedObject, frozen=True):
    """A PodDisruptionBudget."""

    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()
