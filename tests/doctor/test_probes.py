"""Probes are ordinary objects, and failed calls of a webhook are explained."""

import pytest

from webhook.doctor.probes import (
    FAILURES,
    OTHER_FAILURE,
    OWN_CONSTRAINT,
    ReplicaIdentity,
    build_pod,
    build_probe,
    interpret,
    read_replicas,
)
from webhook.policy.probe import LABEL

MESSAGES = {
    'no endpoints available for service "evenspread"': "the Service has no ready endpoint",
    'service "evenspread" not found': "the Service does not exist",
    "no service port 443 found for service": "the Service has no such port",
    "dial tcp 10.0.0.1:443: connect: connection refused": "nothing listens",
    'Post "https://a/?timeout=3s": EOF': "the connection closes",
    "certificate signed by unknown authority": "the caBundle is not from the authority",
    "x509: certificate has expired or is not yet valid: now": "has expired, or a clock",
    "x509: certificate is valid for a, not b": "is for another name",
    "remote error: tls: certificate required": "requires a client certificate",
    "unable to load root certificates: unable to parse bytes as PEM block": "no readable",
    "context deadline exceeded": "no response in time",
}


@pytest.mark.parametrize(("message", "meaning"), MESSAGES.items(), ids=MESSAGES)
def test_a_failed_call_has_a_meaning(message: str, meaning: str) -> None:
    assert meaning in interpret(message).meaning


def test_every_failure_has_a_message() -> None:
    assert {interpret(message) for message in MESSAGES} == set(FAILURES)


def test_an_unknown_failure_is_other() -> None:
    assert interpret("odd") is OTHER_FAILURE


def test_replicas_are_read_from_warnings() -> None:
    warnings = ["evenspread 0.1.0 evenspread-1 answered", "unknown field"]

    assert read_replicas(warnings) == [ReplicaIdentity("0.1.0", "evenspread-1")]


def test_a_probe_is_a_pod_template_with_the_label() -> None:
    probe = build_probe("mutate")

    assert (probe["kind"], probe["metadata"]["labels"]) == ("PodTemplate", {LABEL: "mutate"})
    assert probe["template"]["spec"] == build_pod([])["spec"]


def test_an_ordinary_pod_has_the_requested_constraints_only() -> None:
    assert "topologySpreadConstraints" not in build_pod([])["spec"]
    assert build_pod([OWN_CONSTRAINT])["spec"]["topologySpreadConstraints"] == [OWN_CONSTRAINT]
