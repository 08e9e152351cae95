"""kube-controller-manager and kube-scheduler: they work through the API server alone."""

import http.client
import json
import ssl
import urllib.request
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from tests.controlplane.assets import Assets
from tests.controlplane.credentials import Credentials
from tests.controlplane.options import Options
from tests.controlplane.processes import Process, free_port

CONTROLLERS = "*,-node-lifecycle-controller,-taint-eviction-controller"
"""Without these two: they taint Nodes whose kubelet is silent for a minute, and ours have none."""

QPS, BURST = 500, 1000
"""Calls a second to the API server; with the defaults (20 to 50) 300 workloads take minutes."""

LONGEST_ANSWER_S = 5.0  # a probe answers in milliseconds


class Controller(ABC):
    """
    One of the two, on the same port through all restarts.

    Attributes:
        process: Kill or pause it here.
        port: Of 127.0.0.1, HTTPS; everybody may read its probes and /metrics.
    """

    name: ClassVar[str]
    probe: ClassVar[str]

    def __init__(
        self, assets: Assets, folder: Path, credentials: Credentials, api_url: str
    ) -> None:
        self.port = free_port()
        self.process = Process(self.name, (), log=folder / f"{self.name}.log")
        self._program = assets.program(self.name)
        self._folder = folder
        self._credentials = credentials
        self._kubeconfig = folder / f"{self.name}.kubeconfig"
        token = credentials.tokens[f"system:{self.name}"]
        self._kubeconfig.write_text(credentials.kubeconfig(api_url, token))
        self._tls = ssl.create_default_context(cafile=str(credentials.ca))

    def start(self, options: Options) -> None:
        """Start it and return at once; the API server must be ready."""
        self.process.command = (
            str(self._program),
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._credentials.serving}",
            f"--tls-private-key-file={self._credentials.serving}",
            f"--authentication-kubeconfig={self._kubeconfig}",
            f"--authorization-kubeconfig={self._kubeconfig}",
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
            *options.version_flags,
            *self._flags(options),
        )
        self.process.start()

    def wait(self) -> None:
        """Wait until it works."""
        self.process.wait_until(self.ready)

    def ready(self) -> bool:
        """Whether its health endpoint answers 200."""
        try:
            self._get(self.probe)
        except OSError:
            return False
        return True

    def metrics(self) -> str:
        """Read its metrics, in the format of Prometheus."""
        return self._get("metrics")

    def _get(self, path: str) -> str:
        """Read a path that everybody may read; any status but 200 is an OSError."""
        url = f"https://127.0.0.1:{self.port}/{path}"
        with urllib.request.urlopen(url, timeout=LONGEST_ANSWER_S, context=self._tls) as answer:
            if answer.status != http.client.OK:
                raise OSError(f"{url}: status {answer.status}")
            return str(answer.read().decode())

    @abstractmethod
    def _flags(self, options: Options) -> tuple[str, ...]: ...


class ControllerManager(Controller):
    """kube-controller-manager; its controllers start one after the other after it is ready."""

    name = "kube-controller-manager"
    probe = "healthz"  # it has no readyz

    def _flags(self, options: Options) -> tuple[str, ...]:
        return (
            f"--kubeconfig={self._kubeconfig}",
            f"--service-account-private-key-file={self._credentials.service_account_key}",
            f"--root-ca-file={self._credentials.ca}",
            "--use-service-account-credentials=true",  # as kubeadm sets it
            f"--controllers={CONTROLLERS}",
            "--leader-elect=false",
            f"--kube-api-qps={QPS}",
            f"--kube-api-burst={BURST}",
        )


class Scheduler(Controller):
    """kube-scheduler; ready when its caches are filled."""

    name = "kube-scheduler"
    probe = "readyz"

    def _flags(self, options: Options) -> tuple[str, ...]:
        configuration: dict[str, Any] = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self._kubeconfig), "qps": QPS, "burst": BURST},
            "leaderElection": {"leaderElect": False},
        }
        if options.scheduler_profiles:
            configuration["profiles"] = list(options.scheduler_profiles)
        path = self._folder / "kube-scheduler.json"
        path.write_text(json.dumps(configuration))
        return (f"--config={path}",)
