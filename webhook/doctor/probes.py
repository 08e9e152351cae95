"""
The objects that are tried to see what becomes of them, and what an API server says when it fails.

Nothing is ever stored: every request is a dry run.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from webhook.policy.probe import LABEL

Json = dict[str, Any]

TRIES = 3  # for each hook: an API server keeps several connections, which may lead to two replicas

OWN_CONSTRAINT: Json = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": "evenspread-doctor"}},
}

_answered = re.compile(r"evenspread (?P<version>\S+) (?P<replica>\S.*) answered").fullmatch


class ReplicaIdentity(NamedTuple):
    """Who answered a probe."""

    version: str
    replica: str


class ProbeResult(NamedTuple):
    """
    What became of the probes of one hook.

    Attributes:
        by: Who answered, each once.
        refusal: What the API server said instead of taking the pod; empty if it took it.
        lacks: The right that whoever asks does not have; empty: none.
    """

    by: tuple[ReplicaIdentity, ...] = ()
    refusal: str = ""
    lacks: str = ""


def read_replicas(warnings: Iterable[str]) -> list[ReplicaIdentity]:
    """Read who answered out of the warnings of a request."""
    found = filter(None, map(_answered, warnings))
    return [ReplicaIdentity(each["version"], each["replica"]) for each in found]


def build_probe(value: str) -> Json:
    """
    Make a probe: a PodTemplate, which both webhooks are sent in every installation.

    The right to create PodTemplates is no power, since no pod ever comes of one.

    Args:
        value: The hook that is to answer, or ``true`` for both.
    """
    pod = _pod({LABEL: value})
    head = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": pod["metadata"]}
    return {**head, "template": {"metadata": {}, "spec": pod["spec"]}}


def build_pod(constraints: list[Json]) -> Json:
    """Make a pod that is like any other."""
    made = _pod({"app": "evenspread-doctor"})
    if constraints:
        made["spec"]["topologySpreadConstraints"] = constraints
    return made


def _pod(labels: dict[str, str]) -> Json:
    """Make a pod that Pod Security's ``restricted`` and every quota let pass."""
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


class CallFailure(NamedTuple):
    """
    A way in which calling a webhook fails.

    Attributes:
        pattern: What the API server's sentence contains then.
        means: The same, in words for whoever is on call.
        advice: What to do; ``{place}`` and ``{name}`` stand for namespace flag and name.
    """

    pattern: str
    means: str
    advice: str


FAILURES = (
    CallFailure(
        r"no endpoints available",
        "the Service has no ready endpoint",
        "see why no replica is ready: kubectl {place} describe deployment {name}",
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
        "nothing listens where the Service leads",
        "compare targetPort of the Service with --port of the container, and see whether a replica "
        "runs: kubectl {place} get pods,endpointslices",
    ),
    CallFailure(
        r"\bEOF\b|connection reset|broken pipe",
        "the connection is cut before an answer comes",
        "see whether the replicas restart, and what stands before them: kubectl {place} get pods",
    ),
    CallFailure(
        r"unknown authority|certificate signed by|failed to verify certificate: x509: certificate "
        r"is not trusted",
        "the caBundle is not of the authority that signed the served certificate",
        "compare both: evenspread certs {place} --name {name}; in mode self delete no Secret, but "
        "restart a replica: kubectl {place} rollout restart deployment {name}",
    ),
    CallFailure(
        r"has expired or is not yet valid",
        "the served certificate has expired, or a clock is wrong",
        "renew it: evenspread certs rotate {place} --name {name}, or whoever issues it",
    ),
    CallFailure(
        r"certificate is (?:valid for|not valid for)|doesn't contain any IP SANs",
        "the served certificate is for another name",
        "issue it for {name}.NAMESPACE.svc, the name by which the API server calls",
    ),
    CallFailure(
        r"certificate required|bad certificate|unknown certificate",
        "the server wants a certificate of its caller, and the API server shows none",
        "give the API server one, or take --client-ca away: docs/operate.md, callers with a "
        "certificate",
    ),
    CallFailure(
        r"unable to load root certificates|unable to parse bytes as PEM",
        "the caBundle holds no certificate that can be read",
        "empty it, so that a replica writes it anew, or have whoever issues the certificate do so",
    ),
    CallFailure(
        r"deadline exceeded|i/o timeout|Client\.Timeout|TLS handshake timeout|request canceled",
        "nobody answered in time: packets are dropped on the way, or the replicas are overloaded",
        "let the API servers reach the pods on their admission port (firewall, NetworkPolicy, "
        "hostNetwork), and look at the latency of the replicas",
    ),
)
"""In this order: the first that fits tells."""

OTHER_FAILURE = CallFailure(
    "", "", "look into the log of the replicas: kubectl {place} logs deployment/{name}"
)


def interpret(message: str) -> CallFailure:
    """Return the failure that an API server's message matches; ``OTHER_FAILURE`` if none."""
    return next((each for each in FAILURES if re.search(each.pattern, message)), OTHER_FAILURE)
