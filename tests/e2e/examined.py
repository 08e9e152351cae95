"""
An installation that `evenspread doctor` examines, on a real control plane.

It consists of the shipped manifests and of real replicas.

Its pods are objects without containers, made ready as a kubelet would; for each one a child process
serves, with the rights of the shipped ServiceAccount alone. The Service means this machine, where
a forwarder stands for kube-proxy; so its endpoints are written by hand.
"""

import copy
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, Self

import yaml

from certs.pem import CertificatePair
from tests.certs.world import write_pair
from tests.controlplane import kubelet, webhooks
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import DEPLOY, NAMESPACE
from tests.e2e.forwarding import Address, Forwarder
from tests.e2e.replica import Replica
from webhook.__main__ import main

NAME = "evenspread"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
JSON_PATCH = "application/json-patch+json"
IMMUTABLE = ("resourceVersion", "uid", "creationTimestamp", "managedFields", "generation")


def shipped() -> Iterator[Json]:
    """The base for kustomize, and its namespace."""
    folders = (DEPLOY / "kustomize" / "namespace", DEPLOY / "kustomize" / "base")
    for file in (file for folder in folders for file in sorted(folder.glob("*.yaml"))):
        if file.name != "kustomization.yaml":
            yield from yaml.safe_load_all(file.read_text())


class Report(NamedTuple):
    """
    The report of the doctor.

    Attributes:
        code: Of its exit.
        checks: The result of each check, by its id.
    """

    code: int
    checks: dict[str, Json]
    err: str

    @property
    def problems(self) -> dict[str, str]:
        """Messages and advice of each check, by its id."""
        return {
            name: "\n".join(
                f"{finding['message']}\n{finding['advice']}"
                for finding in check["findings"]
                if finding["severity"] == "problem"
            )
            for name, check in self.checks.items()
            if check["state"] == "problem"
        }

    @property
    def unseen(self) -> dict[str, str]:
        return {
            name: "; ".join(check["notLookedAt"])
            for name, check in self.checks.items()
            if check["notLookedAt"]
        }


class ExaminedInstallation:
    """
    One installation; a context manager.

    Attributes:
        objects: What is installed, by ``Kind/name``, as it was applied.
        port: That the webhooks call.
        replicas: The servers, by the name of their pod.
    """

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self.api = plane.api
        self.folder = folder
        self.service = Forwarder()
        self.replicas: dict[str, Replica] = {}
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        with self._ends:
            self._ends.enter_context(self.service)
            self.port = self.service.address.port
            self.objects = {
                f"{obj['kind']}/{obj['metadata']['name']}": obj
                for obj in map(self._adapted, shipped())
            }
            self.objects["EndpointSlice/evenspread"] = _slice()
            for obj in self.objects.values():
                self.api.create(obj)
            self.admit()
            self._serve()
            self._ends = self._ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def examine(self, *args: str, kubeconfig: Path | None = None) -> Report:
        """Run `evenspread doctor`."""
        out, err = StringIO(), StringIO()
        who = str(kubeconfig or self.plane.apiserver.kubeconfig)
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["doctor", "--kubeconfig", who, "-o", "json", *args])
        found = json.loads(out.getvalue())["checks"] if out.getvalue() else []
        return Report(code, {check["id"]: check for check in found}, err.getvalue())

    @property
    def health(self) -> list[str]:
        """The flags that make the doctor read the pages of replicas."""
        ports = [replica.settings["health_port"] for replica in self.replicas.values()]
        return [flag for port in ports for flag in ("--health", f"127.0.0.1:{port}")]

    def hook(self, kind: str) -> Json:
        """Our webhook, as it is registered now."""
        webhook: Json = self.api.read(self.objects[f"{kind}WebhookConfiguration/evenspread"])[
            "webhooks"
        ][0]
        return webhook

    @contextmanager
    def patched(self, name: str, *operations: tuple[str, str, Any]) -> Iterator[None]:
        """Change an object by JSON Patch, and put it back."""
        path = self.api.path_of(self.objects[name])
        before = self.api.call("GET", path)
        body = [{"op": op, "path": at, "value": value} for op, at, value in operations]
        reply = self.api.request("PATCH", path, body, content_type=JSON_PATCH)
        assert reply.status == 200, reply.body
        self._settle(name)
        try:
            yield
        finally:
            self._restore(path, before)
            self._settle(name)

    @contextmanager
    def hooks_patched(
        self, *operations: tuple[str, str, Any], kinds: tuple[str, ...] = ("Mutating", "Validating")
    ) -> Iterator[None]:
        """Change our webhook in both configurations, or in one."""
        inside = [(op, f"/webhooks/0{at}", value) for op, at, value in operations]
        with ExitStack() as patches:
            for kind in kinds:
                name = f"{kind}WebhookConfiguration/evenspread"
                patches.enter_context(self.patched(name, *inside))
            yield

    @contextmanager
    def without(self, *names: str) -> Iterator[None]:
        """Delete objects, and create them again."""
        before = [self.api.read(self.objects[name]) for name in names]
        for obj in before:
            self.api.delete(obj)
        self._settle(*names)
        try:
            yield
        finally:
            for obj in before:
                self.api.create(_clean(obj))
            self._settle(*names)

    @contextmanager
    def all_down(self) -> Iterator[None]:
        """Let no replica run."""
        for replica in self.replicas.values():
            replica.process.kill()
        try:
            yield
        finally:
            for replica in self.replicas.values():
                replica.process.start()
            for replica in self.replicas.values():
                replica.wait()

    @contextmanager
    def mounted(self, pair: CertificatePair, ahead_s: float) -> Iterator[None]:
        """Serve a foreign certificate, as with ``--tls files``, by one replica with its clock."""
        secret: Json = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": "serving", "namespace": NAMESPACE},
            "stringData": {
                "tls.crt": pair.certificate_pem().decode(),
                "tls.key": pair.key_pem().decode(),
            },
        }
        volume = {"name": "certificate", "secret": {"secretName": "serving"}}
        with ExitStack() as changes:
            self.api.create(secret)
            changes.callback(self.api.delete, secret)
            changes.enter_context(
                self.patched(
                    "Deployment/evenspread",
                    ("add", "/spec/template/spec/containers/0/args/-", "--tls=files"),
                    ("add", "/spec/template/spec/volumes/-", volume),
                )
            )
            changes.enter_context(self.all_down())
            folder = self.folder / "files"
            folder.mkdir()
            write_pair(folder, pair)
            files = self._files(folder)
            settings = {"tls": "files", "tls_dir": str(folder), "namespace": NAMESPACE}
            replica = Replica(folder, self._account, files["config.yaml"], **settings)
            replica.control_clock()
            replica.set_clock(ahead_s)
            changes.callback(setattr, self.service, "endpoints", self.service.endpoints)
            self.service.endpoints = (Address(port=changes.enter_context(replica).wait().port),)
            yield

    def _settle(self, *names: str) -> None:
        """Wait until the API server obeys what was changed."""
        if any("WebhookConfiguration" in name for name in names):
            webhooks.settle(self.api)

    def _restore(self, path: str, before: Json) -> None:
        """Put an object back as it was, whatever has changed it meanwhile."""
        now = self.api.call("GET", path)["metadata"]["resourceVersion"]
        whole = copy.deepcopy(before)
        whole["metadata"]["resourceVersion"] = now
        self.api.call("PUT", path, whole)

    def _adapted(self, obj: Json) -> Json:
        if obj["kind"] in webhooks.KINDS:
            return webhooks.by_service(obj, self.port)
        if obj["kind"] == "Service":
            made = webhooks.external_name(obj)
            made["spec"]["ports"] = [{"name": "admission", "port": self.port}]
            return made
        return obj

    def admit(self) -> None:
        """Make the pods of the Deployment ready, as a kubelet does."""
        wanted = self.objects["Deployment/evenspread"]["spec"]["replicas"]
        until(lambda: len(self.pods) == wanted, f"{wanted} pods")
        for pod in self.pods:
            kubelet.run(self.api, pod)
        self.available(wanted)
        budget = self.objects["PodDisruptionBudget/evenspread"]
        until(lambda: self.api.read(budget)["status"].get("currentHealthy") == wanted, "the budget")

    def available(self, wanted: int) -> None:
        """Wait until so many replicas are available."""
        deployment = self.objects["Deployment/evenspread"]
        until(
            lambda: self.api.read(deployment)["status"].get("availableReplicas", 0) == wanted,
            f"{wanted} available replicas",
        )

    @property
    def pods(self) -> list[Json]:
        return self.api.items("v1", "Pod", NAMESPACE)

    def _serve(self) -> None:
        """Start a server for each pod."""
        self._account = self.plane.kubeconfig_of(NAMESPACE, NAME)
        for pod in self.pods:
            name = pod["metadata"]["name"]
            folder = self.folder / name
            folder.mkdir()
            files = self._files(folder)
            settings = {"tls": "self", "namespace": NAMESPACE, "replica": name}
            replica = Replica(folder, self._account, files["config.yaml"], **settings)
            self.replicas[name] = self._ends.enter_context(replica)
        for started in self.replicas.values():
            self.service.add(started.wait().port)
        until(lambda: all("caBundle" in self.hook(kind)["clientConfig"] for kind in KINDS), "trust")
        webhooks.settle(self.api)

    def _files(self, folder: Path) -> dict[str, str]:
        """Give the ConfigMap, with the file that the configuration names written."""
        files: dict[str, str] = self.objects["ConfigMap/evenspread"]["data"]
        (folder / "kube-scheduler.yaml").write_text(files["kube-scheduler.yaml"])
        return files


KINDS = ("Mutating", "Validating")


def _slice() -> Json:
    """What the endpoint controller would write for a Service that leads to pods."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": NAME},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.244.0.7"], "conditions": {"ready": True}}],
        "ports": [{"name": "admission", "port": 8443, "protocol": "TCP"}],
    }


def _clean(obj: Json) -> Json:
    """An object that can be created again."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in IMMUTABLE}
    return {**obj, "metadata": metadata}
