"""
evenspread, installed as it is shipped, on a real control plane whose Nodes run its pods.

Helm or kubectl apply the manifests unchanged; scheduler and controllers make the pods; nodes.py
runs them, with the token and the files that a kubelet would give them. The API server calls the
Service by its ClusterIP.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

from tests.controlplane import kubelet, webhooks
from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import CHART, NAMESPACE, Helm, by_name
from tests.e2e.containers import REPOSITORY
from tests.e2e.customkinds import define, definition
from tests.e2e.forwarding import Address, Forwarder
from tests.e2e.nodes import Kubelet, KubeProxy, Net, RunningPod

NAME = "evenspread"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
IMAGE = f"{NAME}:0.1.0"

ZONES = ("a", "b", "c")
"""One Node in each: one more than there are replicas, so that one can be drained."""

ROOM = {**kubelet.ROOM, "pods": "20000"}  # for the pods of a load as well

GONE_S = 180.0  # patience for a server that starts or leaves: 10 s as a rule, 45 at most

WEBHOOKS = "mutatingwebhookconfiguration,validatingwebhookconfiguration"
"""Of both kinds, for kubectl."""

FAILING = {"failurePolicy": {"validating": "Fail"}}
ENFORCED = {**FAILING, "validatePods": True, "installHook": {"enabled": False}}
"""At once, since it is for tests of what comes afterwards; pods too, since tests create these."""


class Cluster:
    """
    A control plane with Nodes, on which nothing is installed yet; a context manager.

    Args:
        folder: Where containers have their volumes and logs.
        images: The tree of sources that stands for each image.
        options: Fields of Options.

    Attributes:
        plane: The control plane.
        kubelet: Runs the pods of evenspread's namespace.
        to_api: Through which they reach the API server.
    """

    def __init__(
        self, assets: Assets, folder: Path, images: Mapping[str, Path], **options: Any
    ) -> None:
        net = Net()
        flags = (f"--service-cluster-ip-range={net.services}",)
        self.plane = ControlPlane(assets, Options(audit=True, apiserver_flags=flags, **options))
        self.to_api = Forwarder()
        self._folder, self._net, self._images = folder, net, images
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        with self._ends:
            plane = self._ends.enter_context(self.plane)
            for zone in ZONES:
                labels = {"topology.kubernetes.io/zone": zone}
                kubelet.join(plane.api, f"node-{zone}", labels, allocatable=ROOM)
            define(plane, definition("argoproj.io", "Rollout", "rollouts"))
            self._ends.enter_context(self.to_api)
            self.to_api.endpoints = (Address("127.0.0.1", plane.apiserver.port),)
            self.kubelet = self._ends.enter_context(
                Kubelet(
                    plane,
                    NAMESPACE,
                    self._folder,
                    self._net,
                    images=self._images,
                    api=self.to_api.address,
                )
            )
            self._ends = self._ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()
        assert self.kubelet.mishaps == []

    def proxy(self) -> None:
        """Forward the Service, which there must be by now, until the end."""
        metadata = {"name": NAME, "namespace": NAMESPACE}
        service = self.plane.api.read({"apiVersion": "v1", "kind": "Service", "metadata": metadata})
        self._proxy = self._ends.enter_context(KubeProxy(self.plane, service, "admission"))

    @property
    def pods(self) -> list[RunningPod]:
        """Those that run now."""
        return [pod for pod in self.kubelet.running.values() if not pod.finished]

    def wait(self, replicas: int) -> None:
        """Wait until so many replicas are ready, and called."""
        until(
            lambda: sum(pod.ready for pod in self.pods) == len(self.pods) == replicas,
            f"{replicas} replicas to be ready",
            patience_s=GONE_S,
        )
        until(lambda: len(self._proxy.endpoints) == replicas, f"{replicas} endpoints")
        webhooks.settle(self.plane.api)


class Release:
    """
    The chart as a release of Helm.

    Attributes:
        chart: Its folder.
    """

    def __init__(self, plane: ControlPlane, helm: Helm, chart: Path = CHART) -> None:
        self.chart = chart
        self._helm = helm.at(plane.apiserver.kubeconfig)
        self._where = ("--namespace", NAMESPACE)

    def objects(self, values: Mapping[str, Any]) -> dict[str, Json]:
        """What it renders, by ``Kind/name``."""
        return by_name(self._helm.objects(values))

    def install(self, values: Mapping[str, Any], *options: str) -> None:
        self._helm.run("install", NAME, str(self.chart), *self._where, *options, values=values)

    def upgrade(self, values: Mapping[str, Any], chart: Path | None = None) -> None:
        self.chart = chart or self.chart
        self._helm.run("upgrade", NAME, str(self.chart), *self._where, values=values)

    def rollback(self) -> None:
        """Go back to what there was before the last upgrade."""
        self._helm.run("rollback", NAME, *self._where)

    def uninstall(self) -> None:
        self._helm.run("uninstall", NAME, *self._where)


def create_namespace(plane: ControlPlane) -> None:
    """Create the namespace of docs/operate.md, with Pod Security ``restricted``."""
    plane.kubectl("apply", "-k", str(REPOSITORY / "deploy" / "kustomize" / "namespace"))


def webhooks_of(kind: str) -> Json:
    """What names our webhook configuration of a kind."""
    return {"apiVersion": webhooks.VERSION, "kind": kind, "metadata": {"name": NAME}}


def bundles(plane: ControlPlane) -> list[str]:
    """The caBundle of each webhook; empty where there is none."""
    return [
        webhook["clientConfig"].get("caBundle", "")
        for kind in webhooks.KINDS
        for webhook in plane.api.read(webhooks_of(kind))["webhooks"]
    ]


def removed(plane: ControlPlane) -> list[str]:
    """What was deleted of webhook configurations and Deployment, each once, in order."""
    wanted = {*map(plural, webhooks.KINDS), "deployments"}
    deleted = (
        event["objectRef"]["resource"]
        for event in plane.apiserver.audit_events()
        if event["verb"] == "delete"
        and event["responseStatus"]["code"] == HTTPStatus.OK
        and event["objectRef"].get("name") == NAME
    )
    return [name for name in dict.fromkeys(deleted) if name in wanted]


def plural(kind: str) -> str:
    """What a webhook configuration of a kind is called in a URL."""
    return f"{kind.lower()}s"
