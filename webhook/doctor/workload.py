"""
The Deployment of the server, its pods, Service and disruption budget, as doctor reads them.

Source: k8s.io/api apps/v1, core/v1, discovery/v1, policy/v1.
"""

from collections.abc import Mapping

from webhook.doctor.objects import DoctorNamedObject, DoctorObject
from webhook.policy.model import LabelSelector


class ServicePort(DoctorObject, frozen=True):
    """A port of a Service."""

    port: int
    name: str = ""


class ServiceSpec(DoctorObject, frozen=True):
    """The specification of a Service."""

    ports: tuple[ServicePort, ...] = ()


class ServerService(DoctorObject, frozen=True):
    """The Service of the server."""

    spec: ServiceSpec = ServiceSpec()


class EndpointConditions(DoctorObject, frozen=True):
    """Conditions of an endpoint; an unknown ``ready`` counts as ready."""

    ready: bool | None = None


class ServiceEndpoint(DoctorObject, frozen=True):
    """One endpoint of a Service."""

    conditions: EndpointConditions = EndpointConditions()


class EndpointSlice(DoctorObject, frozen=True):
    """An EndpointSlice."""

    endpoints: tuple[ServiceEndpoint, ...] | None = None

    @property
    def ready(self) -> int:
        """The number of ready endpoints."""
        return sum(item.conditions.ready is not False for item in self.endpoints or ())


class EnvVar(DoctorObject, frozen=True):
    """An environment variable; its value is empty if it comes from another object."""

    name: str
    value: str = ""


class ServerContainer(DoctorObject, frozen=True):
    """The container of the server."""

    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()


class SecretVolume(DoctorObject, frozen=True):
    """The Secret of a volume."""

    secret_name: str = ""


class PodVolume(DoctorObject, frozen=True):
    """A volume of a pod."""

    name: str
    secret: SecretVolume | None = None


class ServerPodSpec(DoctorObject, frozen=True):
    """The specification of the server's pods."""

    containers: tuple[ServerContainer, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    service_account_name: str = "default"


class ServerPodTemplate(DoctorNamedObject, frozen=True):
    """The pod template of the Deployment."""

    spec: ServerPodSpec = ServerPodSpec()


class StatusCondition(DoctorObject, frozen=True):
    """A condition in the status of an object."""

    type: str
    status: str = ""
    message: str = ""


class DeploymentSpec(DoctorObject, frozen=True):
    """The specification of a Deployment."""

    template: ServerPodTemplate = ServerPodTemplate()
    replicas: int = 1


class DeploymentStatus(DoctorObject, frozen=True):
    """The status of a Deployment."""

    available_replicas: int = 0
    conditions: tuple[StatusCondition, ...] = ()


class Deployment(DoctorObject, frozen=True):
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


class WaitingState(DoctorObject, frozen=True):
    """Why a container waits."""

    reason: str = ""
    message: str = ""


class ContainerState(DoctorObject, frozen=True):
    """The state of a container."""

    waiting: WaitingState | None = None


class ContainerStatus(DoctorObject, frozen=True):
    """The status of a container."""

    state: ContainerState = ContainerState()


class ServerPodStatus(DoctorObject, frozen=True):
    """The status of a pod."""

    phase: str = ""
    conditions: tuple[StatusCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class ServerPod(DoctorNamedObject, frozen=True):
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


class DisruptionBudgetSpec(DoctorObject, frozen=True):
    """The specification of a PodDisruptionBudget."""

    selector: LabelSelector | None = None


class DisruptionBudgetStatus(DoctorObject, frozen=True):
    """The status of a PodDisruptionBudget."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    expected_pods: int = 0


class DisruptionBudget(DoctorNamedObject, frozen=True):
    """A PodDisruptionBudget."""

    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()
