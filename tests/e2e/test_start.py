"""Before its caches are filled, a server is alive, not ready, and answers 503."""

import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build import pod, review_body
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.replica import CONFIG, Replica

PATIENCE_S = 60.0


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
