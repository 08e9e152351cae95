"""
Objects for dry runs, and the meaning of an API server's responses to them.

``build_probe`` and ``build_pod`` make the objects, ``read_replicas`` and ``interpret`` read the
responses. ``dryrun`` sends them; the API server stores nothing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.policy.probe import LABEL

Json = dict[str, Any]

PROBES_PER_HOOK = 3  # an API server keeps several connections, which may end at two replicas

OWN_CONSTRAINT: Json = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": "evenspread-doctor"}},
}

_answered = re.compile(r"evenspread (?P<version>\S+) (?P<replica>\S.*) answered").fullmatch


@dataclass(frozen=True)
class ProbeNamespace:
    """
    The namespace of probes.

    Attributes:
        labels: None if they could not be read.
    """

    name: str
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True)
class ReplicaIdentity:
    """The replica that answered a probe."""

    version: str
    replica: str


@dataclass(frozen=True)
class ProbeResult:
    """
    The result of the probes of one webhook.

    Attributes:
        replicas: The replicas that answered, without duplicates.
        refusal: The API server's message if it refused the object; else empty.
        problem: The right that the user lacks; empty if none.
    """

    replicas: tuple[ReplicaIdentity, ...] = ()
    refusal: str = ""
    problem: str = ""


def read_replicas(warnings: Iterable[str]) -> list[ReplicaIdentity]:
    """Read the replicas that answered from the warnings of a response."""
    found = filter(None, map(_answered, warnings))
    return [ReplicaIdentity(match["version"], match["replica"]) for match in found]


def build_probe(value: str) -> Json:
    """
    Build a probe: a PodTemplate, for which every installation calls both webhooks.

    A user can safely have the right to create PodTemplates: they never start a pod.

    Args:
        value: The webhook that must answer, or ``true`` for both.
    """
    pod = _build_pod({LABEL: value})
    head = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": pod["metadata"]}
    return {**head, "template": {"metadata": {}, "spec": pod["spec"]}}


def build_pod(constraints: list[Json]) -> Json:
    """Build an ordinary pod with these constraints."""
    pod = _build_pod({"app": "evenspread-doctor"})
    if constraints:
        pod["spec"]["topologySpreadConstraints"] = constraints
    return pod


def _build_pod(labels: dict[str, str]) -> Json:
    """Build a pod that Pod Security ``restricted`` and every quota allow."""
    amount = {"cpu": "1m", "memory": "1Mi"}
    container: Json = {
        "name": "probe",
        "image": "evenspread-doctor",  # never pulled
        "resources": {"requests": amount, "limits": amount},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    spec: Json = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    metadata = {"generateName": "evenspread-doctor-", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@dataclass(frozen=True)
class CallFailure:
    """
    A reason why the API server cannot call a webhook.

    Attributes:
        pattern: Regular expression for the API server's message.
        meaning: The reason in words for the person on call.
        advice: What to do; ``{flag}`` is the namespace flag, ``{name}`` the installation.
    """

    pattern: str
    meaning: str
    advice: str


FAILURES = (
    CallFailure(
        r"no endpoints available",
        "the Service has no ready endpoint",
        "see why no replica is ready: kubectl {flag} describe deployment {name}",
    ),
    CallFailure(
        r'service "[^"]*" not found',
        "the Service does not exist",
        "apply the manifests again: helm upgrade, or kubectl apply -k",
    ),
    CallFailure(
        r"(?:service port|no service port) \d+ (?:not )?found",
        "the Service has no such port",
        "apply the manifests again, so that Service and webhook configuration name the same port",
    ),
    CallFailure(
        r"connection refused",
        "nothing listens on the port that the Service targets",
        "compare targetPort of the Service with --port of the container, and see whether a replica "
        "runs: kubectl {flag} get pods,endpointslices",
    ),
    CallFailure(
        r"\bEOF\b|connection reset|broken pipe",
        "the connection closes before a response arrives",
        "see whether the replicas restart, and which proxies are in front of them: "
        "kubectl {flag} get pods",
    ),
    CallFailure(
        r"unknown authority|certificate signed by|failed to verify certificate: x509: certificate "
        r"is not trusted",
        "the caBundle is not from the authority that signed the served certificate",
        "compare both: evenspread certs {flag} --name {name}; in mode self delete no Secret, but "
        "restart a replica: kubectl {flag} rollout restart deployment {name}",
    ),
    CallFailure(
        r"has expired or is not yet valid",
        "the served certificate has expired, or a clock is not set correctly",
        "renew it: evenspread certs rotate {flag} --name {name}, or have its issuer renew it",
    ),
    CallFailure(
        r"certificate is (?:valid for|not valid for)|doesn't contain any IP SANs",
        "the served certificate is for another name",
        "issue it for {name}.NAMESPACE.svc, the name by which the API server calls",
    ),
    CallFailure(
        r"certificate required|bad certificate|unknown certificate",
        "the server requires a client certificate, and the API server presents none",
        "give the API server one, or remove --client-ca: docs/operate.md, Require client "
        "certificates",
    ),
    CallFailure(
        r"unable to load root certificates|unable to parse bytes as PEM",
        "the caBundle contains no readable certificate",
        "empty it, so that a replica writes it again, or have the certificate's issuer write it",
    ),
    CallFailure(
        r"deadline exceeded|i/o timeout|Client\.Timeout|TLS handshake timeout|request canceled",
        "no response in time: the network drops packets, or the replicas are overloaded",
        "let the API servers reach the admission port of the pods (firewall, NetworkPolicy, "
        "hostNetwork), and check the latency of the replicas",
    ),
)
"""The first match counts."""

OTHER_FAILURE = CallFailure(
    "", "", "read the log of the replicas: kubectl {flag} logs deployment/{name}"
)


def interpret(message: str) -> CallFailure:
    """Return the failure that an API server's message matches; ``OTHER_FAILURE`` if none."""
    return next(
        (failure for failure in FAILURES if re.search(failure.pattern, message)), OTHER_FAILURE
    )
