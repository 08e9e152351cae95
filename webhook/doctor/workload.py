"""
The Deployment of the server, its pods, Service and disruption budget, as doctor reads them.

Source: k8s.io/api apps/v1, core/v1, discovery/v1, policy/v1.
"""

from collections.abc import Mapping

import msgspec

from webhook.cluster.wire import SelectorSpec
from webhook.doctor.objects import DoctorNamedObject, DoctorObject


class _ServicePort(DoctorObject, frozen=True):
    port: int


class _ServiceSpec(DoctorObject, frozen=True):
    ports: tuple[_ServicePort, ...] = ()


class ServerService(DoctorObject, frozen=True):
    """The Service of the server."""

    spec: _ServiceSpec = _ServiceSpec()


class _Endpoint(DoctorObject, frozen=True):
    conditions: dict[str, bool | None] = msgspec.field(default_factory=dict[str, bool | None])


class EndpointSlice(DoctorObject, frozen=True):
    """An EndpointSlice."""

    endpoints: tuple[_Endpoint, ...] | None = None

    @property
    def ready(self) -> int:
        """The number of ready endpoints; an unknown ``ready`` counts as ready."""
        return sum(item.conditions.get("ready") is not False for item in self.endpoints or ())


class _EnvVar(DoctorObject, frozen=True):
    name: str
    value: str = ""  # empty if it comes from another object


class _Container(DoctorObject, frozen=True):
    args: tuple[str, ...] = ()
    env: tuple[_EnvVar, ...] = ()


class _SecretVolume(DoctorObject, frozen=True):
    secret_name: str = ""


class _Volume(DoctorObject, frozen=True):
    secret: _SecretVolume | None = None


class _PodSpec(DoctorObject, frozen=True):
    containers: tuple[_Container, ...] = ()
    volumes: tuple[_Volume, ...] = ()
    service_account_name: str = "default"


class _PodTemplate(DoctorNamedObject, frozen=True):
    spec: _PodSpec = _PodSpec()


class _Condition(DoctorObject, frozen=True):
    type: str
    status: str = ""
    message: str = ""


class _DeploymentSpec(DoctorObject, frozen=True):
    template: _PodTemplate = _PodTemplate()
    replicas: int = 1


class _DeploymentStatus(DoctorObject, frozen=True):
    available_replicas: int = 0
    conditions: tuple[_Condition, ...] = ()


class Deployment(DoctorObject, frozen=True):
    """A Deployment."""

    spec: _DeploymentSpec = _DeploymentSpec()
    status: _DeploymentStatus = _DeploymentStatus()

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of its pods."""
        return self.spec.template.metadata.labels

    @property
    def secret_name(self) -> str:
        """The first Secret that its pods mount; empty if they mount none."""
        volumes = (volume.secret for volume in self.spec.template.spec.volumes)
        return next((secret.secret_name for secret in volumes if secret), "")

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


class _StateReason(DoctorObject, frozen=True):
    reason: str = ""
    message: str = ""


class _ContainerStatus(DoctorObject, frozen=True):
    state: dict[str, _StateReason] = msgspec.field(default_factory=dict[str, _StateReason])


class _PodStatus(DoctorObject, frozen=True):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()
    container_statuses: tuple[_ContainerStatus, ...] = ()


class ServerPod(DoctorNamedObject, frozen=True):
    """A pod of the server: one replica."""

    status: _PodStatus = _PodStatus()

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
            if waiting := container.state.get("waiting"):
                return f"{waiting.reason}{waiting.message and ': '}{waiting.message}"
        messages = (item.message for item in self.status.conditions if item.status == "False")
        return next(filter(None, messages), self.status.phase)


class _BudgetStatus(DoctorObject, frozen=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    expected_pods: int = 0


class DisruptionBudget(DoctorNamedObject, frozen=True):
    """A PodDisruptionBudget."""

    spec: SelectorSpec = SelectorSpec()
    status: _BudgetStatus = _BudgetStatus()
