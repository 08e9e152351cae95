"""
Kyverno's admission controller as a child process, outside the cluster whose webhooks call it.

It may use all cores; evenspread keeps to one. Flags and variables are those of Kyverno's own chart,
as far as it has them; events of the two kinds that the chart omits are omitted.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Self

from tests.bench.creator import TRIED
from tests.bench.kyverno.build import KyvernoBuild
from tests.bench.servers import ENV, PATIENCE_S
from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.build import run
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Process, free_port
from tests.controlplane.waiting import until

NAMESPACE = "kyverno"
ENVIRONMENT = {  # each is required, even outside a cluster
    "KYVERNO_NAMESPACE": NAMESPACE,
    "KYVERNO_SERVICEACCOUNT_NAME": "kyverno-admission-controller",
    "KYVERNO_DEPLOYMENT": "kyverno-admission-controller",
    "KYVERNO_POD_NAME": "kyverno-bench",
    "KYVERNO_SVC": "kyverno-svc",
    "INIT_CONFIG": "kyverno",
    "METRICS_CONFIG": "kyverno-metrics",
}
ENTRY_WEBHOOK = "kyverno-global-context-validating-webhook-cfg"
ENTRY: Json = {
    "apiVersion": "kyverno.io/v2beta1",
    "kind": "GlobalContextEntry",
    "metadata": {"name": "ready"},
    "spec": {"kubernetesResource": {"group": "", "version": "v1", "resource": "services"}},
}


class Kyverno:
    """
    One admission controller; a context manager.

    Args:
        plane: The cluster. When the context ends, the process and its webhook configurations are
            gone; the CustomResourceDefinitions stay.
        build: The programs.
    """

    def __init__(self, plane: ControlPlane, build: KyvernoBuild) -> None:
        self._plane, self._build = plane, build
        self._port = free_port()
        settings = (ENV, *(f"{name}={value}" for name, value in ENVIRONMENT.items()))
        command = (*settings, str(build.server), *flags(plane.apiserver.kubeconfig, self._port))
        self._process = Process("kyverno", command, log=plane.folder / "kyverno.log")
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with self._open:
            self._open.callback(self._remove_webhooks)
            self._install()
            self._open.callback(self._process.kill)
            self._process.start()
            self._process.wait_until(self._is_ready, patience_s=PATIENCE_S)
            self._open = self._open.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @contextmanager
    def called(self) -> Iterator[None]:
        """
        Let policies be in force within the context, and return when pods cause no call any more.

        Kyverno unregisters itself for pods some time after the last policy has been deleted.
        """
        yield
        until(lambda: not self._is_called_for_pods(), "Kyverno to unregister itself for pods")
        webhooks.settle(self._plane.api)

    def _is_called_for_pods(self) -> bool:
        hooks = (hook for made in self._registered() for hook in made.get("webhooks", []))
        return any("pods" in rule["resources"] for hook in hooks for rule in hook["rules"])

    def _install(self) -> None:
        """Create what the chart creates beforehand, and run the program that it runs first."""
        definitions = str(self._build.definitions)
        self._plane.kubectl("create", "namespace", NAMESPACE)
        self._plane.kubectl("create", "-f", definitions)
        self._plane.kubectl("wait", "--for=condition=Established", "-f", definitions)
        command = [str(self._build.initializer), f"--kubeconfig={self._plane.apiserver.kubeconfig}"]
        run(command, environment=ENVIRONMENT)

    def _is_ready(self) -> bool:
        """Whether the API server calls it: its webhooks are registered before it has a key."""
        names = {made["metadata"]["name"] for made in self._registered()}
        return ENTRY_WEBHOOK in names and self._accepts_entries()

    def _accepts_entries(self) -> bool:
        api = self._plane.api
        reply = api.request("POST", api.collection_of(ENTRY), ENTRY, query=TRIED)
        return reply.status == HTTPStatus.CREATED

    def _registered(self) -> list[Json]:
        """List its webhook configurations."""
        api = self._plane.api
        made = (one for kind in webhooks.KINDS for one in api.items(webhooks.VERSION, kind))
        return [one for one in made if one["metadata"]["name"].startswith("kyverno-")]

    def _remove_webhooks(self) -> None:
        for configuration in self._registered():
            self._plane.api.delete(configuration)
        webhooks.settle(self._plane.api)


def flags(kubeconfig: Path, port: int) -> tuple[str, ...]:
    """Make the flags of an admission controller that listens on loopback."""
    return (
        f"--kubeconfig={kubeconfig}",
        f"--serverIP=127.0.0.1:{port}",  # the webhooks call it there
        "--webhookServerHost=127.0.0.1",
        f"--webhookServerPort={port}",
        "--metricsHost=127.0.0.1",
        f"--metricsPort={free_port()}",
        "--controllerRuntimeMetricsAddress=0",
        "--caSecretName=kyverno-ca",
        "--tlsSecretName=kyverno-tls",
        "--omitEvents=PolicyApplied,PolicySkipped",
    )
