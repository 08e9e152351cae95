"""In a cluster as it is installed: its own authority, called by its Service, with no right more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.customkinds import define, definition
from tests.e2e.objects import constraints, service, workload
from tests.e2e.replica import CONFIG, MARK, Replica, configurations

NAME = "evenspread"
RBAC = "rbac.authorization.k8s.io"
READ = ["get", "list", "watch"]
HOOKS = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]


def rule(group: str, resources: list[str], verbs: list[str], *names: str) -> Json:
    made: Json = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    return {**made, "resourceNames": list(names)} if names else made


CLUSTER = [
    rule("", ["services", "nodes", "namespaces", "replicationcontrollers"], READ),
    rule("apps", ["replicasets", "statefulsets"], READ),
    rule("argoproj.io", ["rollouts"], READ),
    rule("admissionregistration.k8s.io", HOOKS, [*READ, "patch"], NAME),
]
OWN = [
    rule("", ["secrets"], [*READ, "update", "patch"], f"{NAME}-ca"),
    rule("", ["events"], ["create", "patch"]),
]


def role(kind: str, rules: list[Json]) -> Iterator[Json]:
    """A role, and its binding to the ServiceAccount."""
    inside = {} if kind == "ClusterRole" else {"namespace": NAME}
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": NAME, **inside}}
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": NAME}
    yield {**head, "kind": kind, "rules": rules}
    yield {
        **head,
        "kind": f"{kind}Binding",
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": NAME},
        "subjects": [subject],
    }


def installation(port: int) -> Iterator[Json]:
    """All that is shipped, but for the Deployment."""
    inside = {"name": NAME, "namespace": NAME}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": inside}
    yield from role("ClusterRole", CLUSTER)
    yield from role("Role", OWN)
    secret = {"name": f"{NAME}-ca", "namespace": NAME}
    yield {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": secret}
    yield webhooks.external_name(service(NAME, NAME, {"app": NAME}))
    for each in configurations(NAME):
        yield webhooks.by_service(each, port)


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    made = new_control_plane(audit=True, scheduler=False)
    define(made, definition("argoproj.io", "Rollout", "rollouts"))
    made.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
    return made


@pytest.fixture
def installed(plane: ControlPlane, tmp_path: Path) -> Iterator[Replica]:
    """A replica that runs as its ServiceAccount, ready."""
    settings = {"tls": "self", "namespace": NAME}
    account = plane.folder / f"{NAME}.kubeconfig"
    started = Replica(tmp_path, account, CONFIG, **settings)
    for obj in installation(started.port):
        plane.api.create(obj)
    account.write_bytes(plane.kubeconfig_of(NAME, NAME).read_bytes())
    with started:
        yield started.wait()


def asked(plane: ControlPlane) -> list[Json]:
    """The requests of the server, as the API server recorded them."""
    user = f"system:serviceaccount:{NAME}:{NAME}"
    return [each for each in plane.apiserver.audit_events() if each["user"]["username"] == user]


def resources(requests: list[Json]) -> set[tuple[str, str]]:
    """What they were about."""
    return {
        (each["objectRef"].get("apiGroup", ""), each["objectRef"]["resource"])
        for each in requests
        if "objectRef" in each
    }


def granted(rules: list[Json]) -> set[tuple[str, str]]:
    return {
        (group, each) for one in rules for group in one["apiGroups"] for each in one["resources"]
    }


def test_the_rights_that_are_shipped_suffice_and_are_used(
    plane: ControlPlane, installed: Replica
) -> None:
    webhooks.settle(plane.api)
    namespace = plane.create_namespace(MARK)
    plane.api.create(workload("ReplicaSet", "web", namespace, {"app": "web"}))
    (pod,) = until(lambda: plane.api.items("v1", "Pod", namespace), "a pod")
    broken = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    denied = workload(
        "Rollout", "web", namespace, {"app": "web"}, topologySpreadConstraints=[broken]
    )
    reply = plane.api.request("POST", plane.api.collection_of(denied), denied)
    installed.configure(f"{CONFIG}\nmode: sometimes\n")
    until(lambda: plane.api.items("v1", "Event", NAME), "an Event of the bad configuration")

    assert [each["labelSelector"] for each in constraints(pod)] == [
        {"matchLabels": {"app": "web"}}
    ] * 2
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (
        422,
        "spec.template.spec.topologySpreadConstraints[0].maxSkew",
    )
    assert installed.metric("ca_bundle_in_sync") == 1
    assert installed.metric("watch_restarts_total") == 0
    requests = asked(plane)
    codes = {each.get("responseStatus", {}).get("code", 200) for each in requests}
    assert codes.isdisjoint({401, 403})
    assert resources(requests) == granted([*CLUSTER, *OWN])
