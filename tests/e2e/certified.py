"""
Servers with ``--tls self`` behind one Service, with certificate lifetimes of seconds.

The real commands run: ``evenspread serve`` and ``evenspread certs``. The webhook configurations
name the Service, and begin without a ``caBundle``.
"""

import base64
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import create_connection
from ssl import SSLSocket
from typing import Any, Self, TypeAlias

from cryptography import x509

from certs.pem import read_certificates
from tests.certs.world import strict_client
from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.forwarding import Forwarder
from tests.e2e.replica import CONFIG, PATIENCE_S, Registered, Replica, configurations

EVENSPREAD = Path(sys.executable).with_name("evenspread")
LONGEST_COMMAND_S = 90.0  # of a command that calls an API server; usually 1 s

Certificates: TypeAlias = tuple[x509.Certificate, ...]

ROTATION_S = 120.0  # patience for one of an authority: 5 + 15 + 5 s, and what a busy machine adds


class Certified:
    """
    Servers and what calls them; a context manager.

    A rotation of the authority takes an overlap, then the lifetime of a leaf, then an overlap.

    Args:
        name: Of everything: Service, Secret, webhook configurations.
        mark: Labels of the namespaces whose objects the webhooks are called for.
        count: How many servers are started.
        leaf_s: Life of a leaf, in seconds.
        overlap_s: What ``caOverlap`` is, in seconds.
        late_secret: Whether the Secret is only created when every server misses it.

    Attributes:
        namespace: Of Service and Secret.
        replicas: The servers.
        service: What stands for kube-proxy; its endpoints are written by hand.
        revision: The resourceVersion at which the servers were started.
    """

    def __init__(
        self,
        plane: ControlPlane,
        folder: Path,
        name: str,
        mark: Mapping[str, str],
        *,
        count: int,
        leaf_s: int,
        overlap_s: int,
        late_secret: bool = False,
    ) -> None:
        self.plane, self.name = plane, name
        self._config = f"{CONFIG}caOverlap: {overlap_s}s\n"
        self._lifetimes = f"leaf={leaf_s}s"
        self.namespace = plane.create_namespace()
        self.service = Forwarder()
        self.replicas = [self._replica(folder / f"replica-{n}") for n in range(count)]
        self._mark, self._late_secret = mark, late_secret
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        with self._ends:
            self._ends.enter_context(self.service)
            for obj in self._fixed():
                self._create(obj)
            self._ends.enter_context(Registered(self.plane, self._hooks()))
            self.revision = self.plane.etcd.revision()
            for replica in self.replicas:
                self._ends.enter_context(replica)
            if self._late_secret:
                until(self._miss_secret, "all servers to miss the Secret", patience_s=ROTATION_S)
                self._create(self._empty_secret())
            for replica in self.replicas:
                replica.wait()
                self.service.add(replica.port)
            webhooks.settle(self.plane.api)
            self._ends = self._ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    @property
    def host(self) -> str:
        """The name by which the API server calls the Service."""
        return f"{self.name}.{self.namespace}.svc"

    @property
    def secret(self) -> Json:
        metadata = {"name": f"{self.name}-ca", "namespace": self.namespace}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}

    @property
    def hooks(self) -> list[Json]:
        """Both webhook configurations, as the API server returns them now."""
        named = {"apiVersion": webhooks.VERSION, "metadata": {"name": self.name}}
        return [self.plane.api.read({**named, "kind": kind}) for kind in webhooks.KINDS]

    @property
    def published(self) -> list[Certificates]:
        """The bundle of each webhook."""
        pem = [hook["webhooks"][0]["clientConfig"].get("caBundle", "") for hook in self.hooks]
        return [read_certificates(base64.b64decode(bundle)) if bundle else () for bundle in pem]

    @property
    def ever_published(self) -> set[str]:
        """Every ``caBundle`` that a webhook had since the servers were started, base64."""
        found = set[str]()
        for kind in webhooks.KINDS:
            path = self.plane.api.collection(webhooks.VERSION, kind)
            query = {"watch": "true", "resourceVersion": f"{self.revision}", "timeoutSeconds": "1"}
            reply = self.plane.api.request("GET", path, query=query)
            events = reply.body.get("text") or json.dumps(reply.body)
            for line in filter(None, events.splitlines()):
                for webhook in json.loads(line)["object"]["webhooks"]:
                    found.add(webhook["clientConfig"].get("caBundle", ""))
        return found

    def fetch_leaf(self, replica: Replica, trusted: Certificates) -> x509.Certificate:
        """
        Shake hands with a replica by the name of the Service.

        Raises:
            OSError: It cannot be reached, or is not to be trusted.
        """
        return fetch_leaf(replica, trusted, self.host)

    def call(self, replica: Replica, trusted: Certificates, body: bytes) -> Json:
        """
        Send a review to the mutating webhook of a replica past the API server; gives its response.

        Raises:
            OSError: It cannot be reached, or is not to be trusted.
        """
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_S)
        with connecting(replica, trusted, self.host) as connection.sock:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/mutate?timeout=30s", body, headers)
            response: Json = json.load(connection.getresponse())["response"]
            return response

    def run(self, *arguments: str, name: str = "") -> subprocess.CompletedProcess[str]:
        """Run ``evenspread certs`` for this namespace, and this name or another one."""
        kubeconfig = str(self.plane.apiserver.kubeconfig)
        return subprocess.run(
            [
                *(str(EVENSPREAD), "certs", *arguments, "--kubeconfig", kubeconfig),
                *("-n", self.namespace, "--name", name or self.name),
            ],
            capture_output=True,
            text=True,
            timeout=LONGEST_COMMAND_S,
            check=False,
        )

    def rotate(self, *flags: str) -> None:
        """Ask for a rotation."""
        done = self.run("rotate", *flags)
        assert done.returncode == 0, done.stderr

    def _replica(self, folder: Path) -> Replica:
        folder.mkdir(parents=True)
        settings: dict[str, Any] = {
            "tls": "self",
            "namespace": self.namespace,
            "name": self.name,
            "test_lifetimes": self._lifetimes,
        }
        made = Replica(folder, self.plane.apiserver.kubeconfig, self._config, **settings)
        temporary = folder / "tmp"
        temporary.mkdir()
        flags = _flags(made.settings)
        made.process.command = (
            "/usr/bin/env",
            f"TMPDIR={temporary}",
            str(EVENSPREAD),
            "serve",
            *flags,
        )
        return made

    def _create(self, obj: Json) -> None:
        self.plane.api.create(obj)
        self._ends.callback(self.plane.api.delete, obj)

    def _miss_secret(self) -> bool:
        return all("does not exist" in replica.log.read_text() for replica in self.replicas)

    def _empty_secret(self) -> Json:
        return {**self.secret, "type": "Opaque"}

    def _fixed(self) -> Iterator[Json]:
        """What the manifests hold besides: the empty Secret, and the Service."""
        if not self._late_secret:
            yield self._empty_secret()
        metadata = {"name": self.name, "namespace": self.namespace}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}
        yield webhooks.external_name(service)

    def _hooks(self) -> list[Json]:
        made = configurations(self.name, self._mark)
        for configuration in made:
            for webhook in configuration["webhooks"]:
                service = {"name": self.name, "namespace": self.namespace}
                webhook["clientConfig"]["service"] |= service
        return [
            webhooks.by_service(configuration, self.service.address.port) for configuration in made
        ]


def _flags(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        yield f"--{name.replace('_', '-')}"
        yield str(value)


def fetch_leaf(replica: Replica, trusted: Certificates, host: str) -> x509.Certificate:
    """
    Shake hands as strictly as Python can: chain, dates, name.

    Raises:
        OSError: It cannot be reached, or is not to be trusted.
    """
    with connecting(replica, trusted, host) as wrapped:
        return x509.load_der_x509_certificate(wrapped.getpeercert(binary_form=True) or b"")


@contextmanager
def connecting(replica: Replica, trusted: Certificates, host: str) -> Iterator[SSLSocket]:
    """Connect to a replica as long as the context lasts; raises OSError as ``fetch_leaf`` does."""
    context = strict_client(trusted)
    with (
        create_connection(("127.0.0.1", replica.port), PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as wrapped,
    ):
        yield wrapped
