"""
A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.

What it lacks is Nodes: kubelet.py writes what a kubelet would. So no container runs, and a bound
pod that is deleted with a grace period stays, because no kubelet confirms that it ended.
"""

import atexit
import http.client
import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from tests.controlplane.api import Api
from tests.controlplane.apiserver import ApiServer
from tests.controlplane.assets import Assets
from tests.controlplane.controllers import Controller, ControllerManager, Scheduler
from tests.controlplane.credentials import Credentials
from tests.controlplane.etcd import Etcd
from tests.controlplane.options import Options
from tests.controlplane.processes import Process
from tests.controlplane.scratch import new_folder
from tests.controlplane.waiting import until

TOKEN_LIFE_S = 3600  # of a ServiceAccount's token: longer than any test; 600 is the least allowed
LONGEST_KUBECTL_S = 300.0  # a call takes 0.2 s; `drain` and `rollout status` take their time


class ControlPlane:
    """
    One control plane in a folder of its own; a context manager that starts and stops it.

    Attributes:
        options: What it is now; restart() changes them.
        folder: Data, credentials and logs; removed by stop(), or by the next control plane if
            this process is killed.
        etcd: The store.
        apiserver: The API server that ``api`` and ``kubectl`` ask.
        api: A client with the rights of a cluster admin.
    """

    def __init__(self, assets: Assets, options: Options | None = None) -> None:
        self.options = options or Options()
        self.folder = new_folder()
        atexit.register(self.stop)
        self._assets = assets
        self._credentials = Credentials(self.folder)
        self.etcd = Etcd(assets, self.folder)
        self.apiserver = self._new_apiserver("kube-apiserver")
        self.api = self.apiserver.api
        self._others: list[ApiServer] = []
        self._apis: list[Api] = []
        self._controllers = list(self._new_controllers())
        self._namespaces = itertools.count(1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """
        Start everything; returns when pods can be created and are bound (4 to 6 s).

        Raises:
            ProcessError: A component does not get ready; shows its log, and nothing runs on.
        """
        try:
            self.etcd.start()
            self.apiserver.start(self.options)
            self._start_controllers()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End everything at once and remove the folder. Harmless when stopped already."""
        for process in reversed(self.processes):  # etcd last: the others would complain
            process.kill()
        for api in (*self._apis, *(server.api for server in (self.apiserver, *self._others))):
            api.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.stop)

    @property
    def processes(self) -> tuple[Process, ...]:
        """The components, in the order of their start; other API servers last."""
        return (
            self.etcd.process,
            self.apiserver.process,
            *(controller.process for controller in self._controllers),
            *(server.process for server in self._others),
        )

    def process(self, component: str) -> Process:
        """
        A component by name, such as ``kube-apiserver``: kill(), terminate(), pause(), resume().

        Raises:
            KeyError: This control plane runs no such component.
        """
        return {process.name: process for process in self.processes}[component]

    def restart(self, component: str, **changes: Any) -> None:
        """
        Start a component again, on its port and with its data; returns when it works.

        Killed first if it runs: terminate() it yourself for a clean end, which takes the API
        server some seconds.

        Args:
            component: As for process().
            changes: Fields of Options that are other from now on, such as emulated_version: an
                upgrade or its rollback.
        """
        self.process(component).kill()
        self.options = replace(self.options, **changes)
        if component == "etcd":
            self.etcd.start()
        elif component == "kube-apiserver":
            self.apiserver.start(self.options)
        else:
            (controller,) = (one for one in self._controllers if one.name == component)
            controller.start(self.options)
            controller.wait()

    def metrics(self, component: str) -> str:
        """Read the metrics of the controller manager or the scheduler, by its name."""
        (controller,) = (one for one in self._controllers if one.name == component)
        return controller.metrics()

    def add_apiserver(self, **changes: Any) -> ApiServer:
        """
        Start another API server on the same etcd: one of several replicas, or half an upgrade.

        Args:
            changes: Fields of Options in which it differs.
        """
        server = self._new_apiserver(f"kube-apiserver-{len(self._others) + 2}")
        self._others.append(server)
        server.start(replace(self.options, **changes))
        return server

    def create_namespace(self, labels: Mapping[str, str] | None = None) -> str:
        """Create a namespace with a new name, ready to take pods; returns the name."""
        name = f"test-{next(self._namespaces)}"
        metadata = {"name": name, "labels": dict(labels or {})}
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        self._wait_for_service_account(name)
        return name

    def kubectl(
        self,
        *arguments: str,
        stdin: str | None = None,
        kubeconfig: Path | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """
        Run kubectl; returns exit code and output.

        Args:
            arguments: Such as ``"apply", "-f", "-"``.
            stdin: Its standard input.
            kubeconfig: Credentials of the client; None: a cluster admin.
            check: Raise KubectlError unless it exits with 0.
        """
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),  # it caches what it learns about servers there
            "KUBECONFIG": str(kubeconfig or self.apiserver.kubeconfig),
        }
        done = subprocess.run(
            [str(self._assets.program("kubectl")), *arguments],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_KUBECTL_S,
            check=False,
        )
        if check and done.returncode != 0:
            raise KubectlError(arguments, done)
        return done

    def token(self, namespace: str, service_account: str) -> str:
        """Request a bound token of a ServiceAccount, as a pod has it; valid for an hour."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        wanted = {"spec": {"expirationSeconds": TOKEN_LIFE_S}}
        token: str = self.api.call("POST", path, wanted)["status"]["token"]
        return token

    def api_of(self, namespace: str, service_account: str) -> Api:
        """A client with the rights of a ServiceAccount; closed by stop()."""
        token = self.token(namespace, service_account)
        api = Api(port=self.apiserver.port, ca=self._credentials.ca, token=token)
        self._apis.append(api)
        return api

    def kubeconfig_of(self, namespace: str, service_account: str) -> Path:
        """A kubeconfig file with the rights of a ServiceAccount; needs no other file."""
        path = self.folder / f"{namespace}.{service_account}.kubeconfig"
        token = self.token(namespace, service_account)
        path.write_text(self._credentials.kubeconfig(self.api.url, token, namespace=namespace))
        return path

    def tail(self, lines: int = 30) -> str:
        """The last lines of every component's log."""
        return "\n".join(process.tail(lines) for process in self.processes)

    def _new_apiserver(self, name: str) -> ApiServer:
        return ApiServer(self._assets, self.folder, self._credentials, self.etcd.url, name=name)

    def _new_controllers(self) -> Iterator[Controller]:
        parts = (self._assets, self.folder, self._credentials, self.api.url)
        if self.options.controllers:
            yield ControllerManager(*parts)
        if self.options.scheduler:
            yield Scheduler(*parts)

    def _start_controllers(self) -> None:
        for controller in self._controllers:
            controller.start(self.options)
        for controller in self._controllers:
            controller.wait()
        self._wait_for_service_account("default")

    def _wait_for_service_account(self, namespace: str) -> None:
        """Until then the admission plugin refuses the namespace's pods."""
        if self.options.controllers and self.options.service_accounts:
            path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
            until(
                lambda: self.api.request("GET", path).status == http.client.OK,
                f"the ServiceAccount default of namespace {namespace}",
            )


class KubectlError(Exception):
    """
    kubectl exited with another code than 0.

    Attributes:
        done: Exit code and output.
    """

    def __init__(self, arguments: Sequence[str], done: subprocess.CompletedProcess[str]) -> None:
        super().__init__(f"kubectl {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
        self.done = done
