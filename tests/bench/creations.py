"""
Cost of creating a pod through kube-apiserver: alone, with evenspread, and with its peer.

evenspread is registered as the chart renders it. The peer is a MutatingAdmissionPolicy, which
writes the same constraints inside the API server. Each has a namespace of its own, where pods are
created one by one in turn, so that what others on the machine do is the same for all.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from tests.bench import reviews, servers
from tests.bench.creator import NO_LABELS, Creator, Turn, create_alternately, in_force
from tests.bench.live import LiveCluster
from tests.bench.servers import Server
from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.deploy.manifests import Helm, by_name
from tests.e2e.replica import Registered

POLICY = "evenspread-bench"
VERSION = "admissionregistration.k8s.io/v1"

POLICED = {"evenspread.test/creations": "policy"}  # labels of namespaces
CALLED = {"evenspread.test/creations": "webhooks"}


class CreationTurns(NamedTuple):
    """Creations by turn: by the API server alone, with the policy in it, with evenspread."""

    alone: list[Turn]
    policy: list[Turn]
    called: list[Turn]


def measure_creations(live: LiveCluster, turns: int, seconds: float) -> CreationTurns:
    """
    Create pods of 9 KB alone, with the policy and with the webhooks; they are dry runs.

    Args:
        live: The cluster.
        turns: Of each.
        seconds: Of a turn, half of it at a steady rate; as long again for each creation by itself.

    Raises:
        LoadError: Pods get other constraints than they should.
        ToolError: Helm, which renders the chart, has not been built.
    """
    server, pod = live.serve(), reviews.reference_pod()
    alone, policed, called = creators = [
        Creator(live, seconds, labels=labels, pod=pod, dry_run=True)
        for labels in (NO_LABELS, POLICED, CALLED)
    ]
    hooks = [_select(hook, CALLED) for hook in configurations_for(server)]
    measured = CreationTurns([], [], [])
    with Registered(live.plane, hooks):
        wanted = called.expect(injected=True)
        with in_force(policed, admission_policy(wanted, POLICED), wanted):
            alone.expect(injected=False)
            for _ in range(turns):
                for known, turn in zip(measured, _take_turns(creators, seconds), strict=True):
                    known.append(turn)
    for creator in creators:
        creator.remove_owner()
    server.stop()
    return measured


def _take_turns(creators: list[Creator], seconds: float) -> list[Turn]:
    """Take a turn of each; while creations alternate, only their latencies are known apart."""
    together = create_alternately(creators, seconds * len(creators))
    turns = [creator.take_turn() for creator in creators]
    return [turn._replace(took=took) for turn, took in zip(turns, together, strict=True)]


def _select(configuration: Json, labels: Mapping[str, str]) -> Json:
    """Let a webhook configuration apply to namespaces with these labels alone."""
    hooks = [
        {**hook, "namespaceSelector": {**hook["namespaceSelector"], "matchLabels": labels}}
        for hook in configuration["webhooks"]
    ]
    return {**configuration, "webhooks": hooks}


def configurations_for(server: Server) -> list[Json]:
    """Both webhook configurations as the chart renders them, the mutating one first."""
    objects = by_name(Helm.located().objects({}))
    trusted = servers.authority_of(server)
    url = f"https://127.0.0.1:{server.port}"
    return [webhooks.by_url(objects[f"{kind}/evenspread"], url, trusted) for kind in webhooks.KINDS]


def admission_policy(
    wanted: list[Json], namespaces: Mapping[str, str] = NO_LABELS
) -> tuple[Json, Json]:
    """
    Make a policy of the API server that writes these constraints, and its binding.

    Args:
        namespaces: Labels of the namespaces that it applies to; by default all.
    """
    binding = _registration("MutatingAdmissionPolicyBinding", {"policyName": POLICY})
    return _policy(wanted, namespaces), binding


def _policy(wanted: list[Json], namespaces: Mapping[str, str]) -> Json:
    """
    Make the policy, as JSON Patch: an apply configuration may not set a labelSelector.

    The constraints are maps, since kube-apiserver 1.36.3 panics at a list of ``Object`` values.
    """
    at, value = json.dumps("/spec/topologySpreadConstraints"), _cel(wanted)
    expression = f'[JSONPatch{{op: "add", path: {at}, value: {value}}}]'
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    spec = {
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {**namespaces}},
            "resourceRules": [{**rule, "resources": ["pods"]}],
        },
        "failurePolicy": "Fail",  # so that a mistake in it is noticed
        "reinvocationPolicy": "IfNeeded",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
    return _registration("MutatingAdmissionPolicy", spec)


def _cel(value: object) -> str:
    """Write JSON in CEL, in which the members of a map are of one type: here, of any."""
    match value:
        case dict():
            members = (f"{json.dumps(key)}: dyn({_cel(member)})" for key, member in value.items())
            return f"{{{', '.join(members)}}}"
        case list():
            return f"[{', '.join(map(_cel, value))}]"
        case _:
            return json.dumps(value)


def _registration(kind: str, spec: Json) -> Json:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": POLICY}, "spec": spec}
