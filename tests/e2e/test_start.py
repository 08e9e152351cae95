"""Before its caches are filled, a server is alive, not ready, and answers 503."""

import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.build import pod, review_body
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e import exceptions, spreadpolicies
from tests.e2e.replica import CONFIG, Replica

PATIENCE_S = 60.0
RBAC = spreadpolicies.CRD.with_name("rbac.yaml")


@pytest.fixture
def powerless(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Replica]:
    """A server whose ServiceAccount may read nothing."""
    namespace = control_plane.create_namespace()
    with Replica(tmp_path, control_plane.kubeconfig_of(namespace, "default"), CONFIG) as started:
        until(lambda: "watch" in {line["event"] for line in started.lines}, "a refusal")
        yield started


def test_without_facts_calls_are_refused_with_retry_after(powerless: Replica) -> None:
    until(lambda: "403" in powerless.page("/readyz"), "all kinds to be refused")
    tls = ssl.create_default_context(cafile=powerless.folder / "state/ca.crt")
    connection = http.client.HTTPSConnection(
        "127.0.0.1", powerless.port, timeout=PATIENCE_S, context=tls
    )
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/mutate?timeout=30s", review_body(pod()), headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()

    assert (reply.status, reply.headers["Retry-After"]) == (503, "1")
    assert text == "the cache of Namespace is not filled yet: call again in a second\n"
    assert powerless.metric("admission_rejected_total", reason="not-synced") == 1
    assert powerless.metric("cache_synced", kind="Service") == 0
    assert powerless.metric("watch_restarts_total", reason="forbidden") > 0
    assert powerless.page("/livez") == "ok\n"
    lines = powerless.page("/readyz").splitlines()
    refused = [line for line in lines if line.startswith("[-]cache ")]
    assert len(refused) >= 6
    assert all("failed: " in line for line in refused)
    assert lines[-1] == "not ready"


@pytest.fixture
def unprivileged(control_plane: ControlPlane, tmp_path: Path) -> Iterator[tuple[Replica, str]]:
    """A server without the rights of the kinds of evenspread, and the name of its ClusterRole."""
    (role,) = (one for one in yaml.safe_load_all(RBAC.read_text()) if one["kind"] == "ClusterRole")
    namespace = control_plane.create_namespace()
    role["metadata"] = {"name": namespace}
    role["rules"] = [rule for rule in role["rules"] if rule["apiGroups"] != ["evenspread.io"]]
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    group = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": namespace},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": namespace},
        "subjects": [subject],
    }
    control_plane.api.create(role)
    control_plane.api.create(binding)
    kubeconfig = control_plane.kubeconfig_of(namespace, "default")
    with (
        spreadpolicies.defined(control_plane),
        exceptions.defined(control_plane),
        Replica(tmp_path, kubeconfig, CONFIG) as started,
    ):
        yield started, namespace
    control_plane.api.delete(binding)
    control_plane.api.delete(role)


def test_a_server_without_the_rights_of_policies_is_ready_and_says_so(
    control_plane: ControlPlane, unprivileged: tuple[Replica, str]
) -> None:
    replica, role = unprivileged
    replica.wait()

    lines = replica.page("/readyz?verbose").splitlines()
    for kind in ("SpreadPolicy", "SpreadPolicyException"):
        (line,) = (line for line in lines if line.startswith(f"[+]cache {kind}.evenspread.io "))
        assert "degraded: " in line
        assert "is forbidden" in line
    assert lines[-1] == "ok"
    messages = [line["message"] for line in replica.lines if line["event"] == "policy"]
    assert [one for one in messages if one.startswith("SpreadPolicies do not count: ")]

    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}"
    granted = {"apiGroups": ["evenspread.io"], "resources": ["*"], "verbs": ["list", "watch"]}
    patch = [{"op": "add", "path": "/rules/-", "value": granted}]
    reply = control_plane.api.request(
        "PATCH", path, patch, content_type="application/json-patch+json"
    )
    assert reply.status == 200, reply.body
    until(
        lambda: replica.metric("cache_synced", kind="SpreadPolicy.evenspread.io") == 1,
        "the right to be used",
        patience_s=PATIENCE_S,
    )


def test_an_api_server_that_does_not_answer_is_waited_for(
    new_control_plane: NewControlPlane, tmp_path: Path
) -> None:
    plane = new_control_plane(controllers=False, scheduler=False, service_accounts=False)
    plane.process("kube-apiserver").kill()
    with Replica(tmp_path, plane.apiserver.kubeconfig, CONFIG) as started:
        until(lambda: "version" in {line["event"] for line in started.lines}, "a complaint")
        alive, waits = started.page("/livez"), started.page("/readyz").splitlines()
        plane.restart("kube-apiserver")
        started.wait()

    assert alive == "ok\n"
    assert waits == [
        "[-]server failed: waiting for the version of the API server",
        "not ready",
    ]


def test_a_signal_ends_the_wait(new_control_plane: NewControlPlane, tmp_path: Path) -> None:
    plane = new_control_plane(controllers=False, scheduler=False, service_accounts=False)
    plane.process("kube-apiserver").kill()
    with Replica(tmp_path, plane.apiserver.kubeconfig, CONFIG) as started:
        until(lambda: "version" in {line["event"] for line in started.lines}, "a complaint")
        started.process.terminate()

    assert json.loads(started.log.read_text().splitlines()[-1])["event"] == "stopped"
    assert "bug" not in {line["event"] for line in started.lines}
