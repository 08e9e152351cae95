"""
``evenspread serve`` as a child process, and the webhook configurations that call it.

It runs as a user would run it, but for shorter pauses: the configuration is looked at five times a
second, and a stop waits for no caller. A call may take longer, since any process may stand still.
"""

import base64
import json
import sys
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Process, free_port, whole_lines

MARK = {"evenspread.test/hooked": "yes"}
"""Labels of the namespaces whose objects the webhooks are called for."""

POLL_S = 0.2
PATIENCE_S = 60.0  # for an answer of a server on the same machine

CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
fieldDefaults: none  # what the API server refuses is refused here too
profiles:
- name: production
  match:
    namespaceSelector: {matchLabels: {tier: prod}}
  defaultConstraints:
  - {maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
- name: cluster
  defaultConstraints:
  - {maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 5, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
"""

PROGRAM = """
import json, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from webhook.config.settings import read_settings
from webhook.server.http.limits import Limits
from webhook.server.run import run
poll = float(sys.argv[2])
limits = Limits(
    config_poll=poll, certificate_poll=poll, drain_least=0, drain_quiet=0, drain_most=0,
    audit_lease=10, request=30.0,
)
def now():
    ahead = Path(sys.argv[3]).read_text() if len(sys.argv) > 3 else 0
    return datetime.now(UTC) + timedelta(seconds=float(ahead))
run(read_settings(json.loads(sys.argv[1])), print, limits=limits, now=now)
"""
"""Arguments: settings, seconds between two polls, and a file with how far the clock is ahead."""

TEMPLATES = {
    "": ["replicationcontrollers", "podtemplates"],
    "apps": ["deployments", "replicasets", "statefulsets", "daemonsets"],
    "batch": ["jobs", "cronjobs"],
    "argoproj.io": ["rollouts"],
}


class Replica:
    """
    One server.

    Attributes:
        config: The configuration file that it follows.
        settings: Further settings, by the names of flags with underscores.
        log: What it wrote.
        port: Of the admission listener; ``health_port`` of the health listener.
    """

    def __init__(self, folder: Path, kubeconfig: Path, config: str, **settings: Any) -> None:
        self.folder = folder
        self.config = folder / "config.yaml"
        self.configure(config)
        self.port, self.health_port = free_port(), free_port()
        self.log = folder / "evenspread.log"
        self.settings = {
            "kubeconfig": str(kubeconfig),
            "config": str(self.config),
            "tls": "standalone",
            "state": str(folder / "state"),
            "bind": "127.0.0.1",
            "port": self.port,
            "health_port": self.health_port,
            **settings,
        }
        command = [sys.executable, "-c", PROGRAM, json.dumps(self.settings), str(POLL_S)]
        self.process = Process("evenspread", command, log=self.log)
        self._ahead = folder / "ahead"

    def __enter__(self) -> Self:
        self.process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_bundle(self) -> str:
        """Once it serves: what to trust."""
        return base64.b64encode((self.folder / "state/ca.crt").read_bytes()).decode()

    @property
    def lines(self) -> list[Json]:
        """Its log, without what is not JSON."""
        return [json.loads(line) for line in whole_lines(self.log) if line.startswith("{")]

    @property
    def ready(self) -> bool:
        with suppress(OSError):
            return self.page("/readyz").startswith("ok")
        return False

    def wait(self) -> Self:
        self.process.wait_until(lambda: self.ready)
        return self

    def page(self, path: str) -> str:
        """A page of the health listener, whatever its status."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.health_port}{path}")
        opener = urllib.request.build_opener(Lenient())
        with opener.open(request, timeout=PATIENCE_S) as answer:
            text: str = answer.read().decode()
        return text

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels."""
        return total(self.page("/metrics"), name, **labels)

    def control_clock(self) -> None:
        """Before it starts: let ``set_clock`` decide its wall clock."""
        self.set_clock(0)
        command = [sys.executable, "-c", PROGRAM, json.dumps(self.settings), str(POLL_S)]
        self.process.command = (*command, str(self._ahead))

    def set_clock(self, ahead_s: float) -> None:
        """Let its wall clock be ahead of ours from now on, or behind; seconds."""
        fresh = self._ahead.with_name("fresh-ahead")
        fresh.write_text(f"{ahead_s}")
        fresh.replace(self._ahead)

    def configure(self, text: str) -> None:
        """Change the configuration as a kubelet does: another file takes the place of the old."""
        fresh = self.folder / "fresh.yaml"
        fresh.write_text(text)
        fresh.replace(self.config)


def total(exposition: str, name: str, **labels: str) -> float:
    """The sum of a metric's samples that carry these labels."""
    wanted = {f'{key}="{value}"' for key, value in labels.items()}
    found = 0.0
    for line in exposition.splitlines():
        sample, _, value = line.rpartition(" ")
        named, _, pairs = sample.partition("{")
        if named == f"evenspread_{name}" and wanted <= set(pairs.rstrip("}").split(",")):
            found += float(value)
    return found


class Lenient(urllib.request.HTTPErrorProcessor):
    """Takes each status for an answer."""

    def http_response(self, request: Any, response: Any) -> Any:
        del request
        return response


def configurations(name: str = "evenspread", selector: Mapping[str, str] = MARK) -> list[Json]:
    """
    Both webhook configurations as the chart renders them with ``validatePods: true``.

    They are by Service, for namespaces with a label.
    """
    service = {"name": "evenspread", "namespace": "evenspread"}
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": resources,
            "scope": "Namespaced",
        }
        for group, resources in TEMPLATES.items()
    ]
    pods = {**rules[0], "operations": ["CREATE"], "resources": ["pods"]}
    made: list[Json] = []
    for kind, verb in (("Mutating", "mutate"), ("Validating", "validate")):
        hook: Json = {
            "name": f"{verb}.evenspread.io",
            "clientConfig": {"service": {**service, "path": f"/{verb}"}},
            "rules": [pods, *rules],
            "namespaceSelector": {"matchLabels": dict(selector)},
            "failurePolicy": "Fail",  # shipped as Ignore, but a test must not miss a fault
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 15,  # shipped as 3, for which a busy machine may stand still
        }
        if verb == "mutate":
            hook["reinvocationPolicy"] = "IfNeeded"
        made.append(
            {
                "apiVersion": webhooks.VERSION,
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [hook],
            }
        )
    return made


class Registered:
    """Webhook configurations in force as long as the context lasts."""

    def __init__(self, plane: ControlPlane, made: list[Json]) -> None:
        self._plane = plane
        self._made = made

    def __enter__(self) -> None:
        for configuration in self._made:
            self._plane.api.create(configuration)
        webhooks.settle(self._plane.api)

    def __exit__(self, *_: object) -> None:
        for configuration in self._made:
            self._plane.api.delete(configuration)
        webhooks.settle(self._plane.api)


def by_url(
    replica: Replica, name: str = "evenspread", selector: Mapping[str, str] = MARK
) -> list[Json]:
    """Both configurations, calling one replica on this machine."""
    return [
        webhooks.by_url(configuration, replica.url, replica.ca_bundle)
        for configuration in configurations(name, selector)
    ]
