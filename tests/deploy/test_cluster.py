"""
The manifests on a real API server, in a namespace that enforces Pod Security's ``restricted``.

No container can run there. So the server is a child process, with the arguments of the Deployment,
the files of its mounts, and the rights of its ServiceAccount alone.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Process, free_port
from tests.controlplane.waiting import until
from tests.deploy.conftest import Kustomize
from tests.deploy.manifests import CHART, NAMESPACE, Helm, by_name
from tests.deploy.test_manifests import EVERYTHING, MATRIX, OVERLAYS, known

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:evenspread"

RESTRICTED = {**EVERYTHING, "hostNetwork": False}

READ_ONE_BY_ONE = {
    ("", "namespaces"),
    ("", "replicationcontrollers"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("argoproj.io", "rollouts"),
}
FOLLOWED = READ_ONE_BY_ONE | {("", "nodes"), ("", "services")}

SELDOM = (
    {(*each, "get") for each in READ_ONE_BY_ONE}  # when a pod comes sooner than its owner's news
    | {(*each, "list") for each in FOLLOWED}  # before 1.32, and where a stream of them is refused
    | {("", "events", "create")}  # when the configuration changes
)
"""Rights that are not needed as long as all is well."""


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, kustomize: Kustomize) -> Iterator[ControlPlane]:
    with ControlPlane(control_plane_assets, Options(scheduler=False, audit=True)) as started:
        (namespace,) = kustomize("kustomize/namespace")
        labels = namespace["metadata"]["labels"]
        labels["pod-security.kubernetes.io/warn"] = labels["pod-security.kubernetes.io/enforce"]
        started.api.create(namespace)
        rollouts = definition("argoproj.io", "Rollout")
        started.api.create(rollouts)
        version = rollouts["spec"]["versions"][0]["name"]
        path = f"/apis/argoproj.io/{version}/rollouts"
        until(lambda: started.api.request("GET", path).status == 200, "Rollouts")
        yield started


def definition(group: str, kind: str) -> Json:
    """A custom kind of somebody else's, whose objects may look like anything."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


SERVER_SIDE: dict[str, dict[str, Any]] = {**MATRIX, **OVERLAYS, "everything at once": RESTRICTED}


@pytest.mark.parametrize("values", SERVER_SIDE.values(), ids=SERVER_SIDE)
def test_the_api_server_takes_every_object(
    plane: ControlPlane, helm: Helm, values: dict[str, Any]
) -> None:
    objects = [each for each in helm.objects(values) if known(each)]

    done = plane.kubectl(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        stdin=yaml.safe_dump_all(objects),
    )

    assert done.stdout.count("serverside-applied") == len(objects)
    assert done.stderr == ""  # no warning, such as one of Pod Security


def test_kustomize_can_be_applied(plane: ControlPlane) -> None:
    folder = CHART.parent / "kustomize" / "overlays" / "enforce"

    done = plane.kubectl("apply", "--server-side", "--dry-run=server", "-k", str(folder))

    assert "validatingwebhookconfiguration" in done.stdout


class Installed:
    """
    The chart, installed; its webhooks call a port of this machine.

    Attributes:
        objects: What was installed, by ``Kind/name``.
        port: That the webhooks call.
    """

    def __init__(self, plane: ControlPlane, helm: Helm) -> None:
        self._plane = plane
        self._helm = helm.at(plane.apiserver.kubeconfig)
        self.objects = by_name(helm.objects({}))
        self.port = free_port()

    def install(self) -> None:
        self._run("install")
        service = self.objects["Service/evenspread"]
        self._plane.api.delete(service)
        self._plane.api.create(webhooks.external_name(service))
        patch = [{"op": "add", "path": "/webhooks/0/clientConfig/service/port", "value": self.port}]
        for kind in webhooks.KINDS:
            path = self._plane.api.path_of(self.objects[f"{kind}/evenspread"])
            self._plane.api.request("PATCH", path, patch, content_type=JSON_PATCH)

    def upgrade(self, values: dict[str, Any]) -> None:
        self._run("upgrade", values)

    def uninstall(self) -> None:
        self._helm.run("uninstall", "evenspread", "--namespace", NAMESPACE)

    def bundles(self) -> list[str]:
        """The caBundles in force; empty where there is none yet."""
        read = (self._plane.api.read(self.objects[f"{kind}/evenspread"]) for kind in webhooks.KINDS)
        return [each["webhooks"][0]["clientConfig"].get("caBundle", "") for each in read]

    def server(self, folder: Path) -> Process:
        """The container of the Deployment as a process of this machine."""
        pod = self.objects["Deployment/evenspread"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        for name, text in self.objects["ConfigMap/evenspread"]["data"].items():
            (folder / name).write_text(text)
        own = {
            "--config": f"--config={folder / 'config.yaml'}",
            "--port": f"--port={self.port}",
            "--health-port": f"--health-port={free_port()}",
        }
        args = [own.get(flag.partition("=")[0], flag) for flag in container["args"]]
        rights = self._plane.kubeconfig_of(NAMESPACE, pod["serviceAccountName"])
        outside = [f"--kubeconfig={rights}", f"--namespace={NAMESPACE}", "--bind=127.0.0.1"]
        return Process(
            "evenspread",
            (sys.executable, "-m", "webhook", *args, *outside),
            log=folder / "evenspread.log",
        )

    def _run(self, verb: str, values: dict[str, Any] | None = None) -> None:
        where = ("--namespace", NAMESPACE)
        self._helm.run(verb, "evenspread", str(CHART), *where, values=values or {})


JSON_PATCH = "application/json-patch+json"


@pytest.fixture
def installed(plane: ControlPlane, helm: Helm) -> Installed:
    return Installed(plane, helm)


def test_it_is_installed_serves_with_its_rights_is_upgraded_and_removed(
    plane: ControlPlane, installed: Installed, tmp_path: Path
) -> None:
    installed.install()
    pods = until_found(lambda: plane.api.items("v1", "Pod", NAMESPACE), 2)
    assert {pod["spec"]["priority"] for pod in pods} == {2_000_000_000}

    process = installed.server(tmp_path)
    process.start()
    try:
        process.wait_until(lambda: all(installed.bundles()))
        webhooks.settle(plane.api)
        assert constraints(plane) == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
        before = installed.bundles()
        secret = plane.api.read(installed.objects["Secret/evenspread-ca"])["data"]

        installed.upgrade({"replicas": 3, "failurePolicy": {"validating": "Fail"}})
    finally:
        process.kill()

    assert installed.bundles() == before
    assert plane.api.read(installed.objects["Secret/evenspread-ca"])["data"] == secret
    used, refused = asked(plane)
    assert refused == set()
    assert granted(installed) - used == SELDOM

    installed.uninstall()
    assert removed(plane) == [*HOOK_PLURALS, "deployments"]
    for kind in webhooks.KINDS:
        assert plane.api.items(webhooks.VERSION, kind) == []


def test_it_can_be_removed_when_somebody_has_deleted_its_webhooks(
    plane: ControlPlane, installed: Installed
) -> None:
    installed.install()
    for kind in webhooks.KINDS:
        plane.api.delete(installed.objects[f"{kind}/evenspread"])

    installed.uninstall()

    gone = plane.api.request("GET", plane.api.path_of(installed.objects["Deployment/evenspread"]))
    assert gone.status == 404
    for kind in webhooks.KINDS:
        assert plane.api.items(webhooks.VERSION, kind) == []


HOOK_PLURALS = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]


def until_found(find: Callable[[], list[Json]], count: int) -> list[Json]:
    until(lambda: len(find()) == count, f"{count} objects")
    return find()


def constraints(plane: ControlPlane) -> list[str]:
    """The topology keys that a new pod behind a Service is given."""
    namespace = plane.create_namespace()
    metadata = {"name": "web", "namespace": namespace}
    selector = {"app": "web"}
    plane.api.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": selector, "ports": [{"port": 80}]},
        }
    )
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "labels": selector},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    }

    def injected() -> list[Json]:
        found: list[Json] = plane.api.create(pod, dryRun="All")["spec"].get(
            "topologySpreadConstraints", []
        )
        return found

    until(injected, "defaults")
    return [each["topologyKey"] for each in injected()]


Right = tuple[str, str, str]


def asked(plane: ControlPlane) -> tuple[set[Right], set[Right]]:
    """What the server asked for: all of it, and what it was refused."""
    used, refused = set[Right](), set[Right]()
    for event in plane.apiserver.audit_events():
        of = event.get("objectRef")
        if event["user"]["username"] == ACCOUNT and of:
            right = (of.get("apiGroup", ""), of["resource"], event["verb"])
            used.add(right)
            if event["responseStatus"]["code"] == 403:
                refused.add(right)
    return used, refused


def granted(installed: Installed) -> set[Right]:
    """What the roles allow."""
    rules = (installed.objects[f"{kind}/evenspread"]["rules"] for kind in ("ClusterRole", "Role"))
    return {
        (group, resource, verb)
        for role in rules
        for rule in role
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def removed(plane: ControlPlane) -> list[str]:
    """What was deleted of the webhook configurations and the Deployment, each once, in order."""
    deleted = (
        event["objectRef"]["resource"]
        for event in plane.apiserver.audit_events()
        if event["verb"] == "delete"
        and event["responseStatus"]["code"] == 200
        and event["objectRef"].get("name") == "evenspread"
    )
    return [each for each in dict.fromkeys(deleted) if each in {*HOOK_PLURALS, "deployments"}]
