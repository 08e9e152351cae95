"""The flags of Kyverno's admission controller."""

from pathlib import Path

from tests.bench.kyverno.server import flags


def test_the_webhooks_call_the_port_that_the_server_listens_on() -> None:
    made = flags(Path("/plane/kubeconfig"), 20_001)

    assert "--kubeconfig=/plane/kubeconfig" in made
    assert {"--serverIP=127.0.0.1:20001", "--webhookServerPort=20001"} <= set(made)


def test_no_port_is_reachable_from_another_machine() -> None:
    made = flags(Path("kubeconfig"), 20_001)

    assert {"--webhookServerHost=127.0.0.1", "--metricsHost=127.0.0.1"} <= set(made)
    assert "--controllerRuntimeMetricsAddress=0" in made
