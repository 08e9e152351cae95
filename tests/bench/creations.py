"""
Cost of creating a pod through kube-apiserver: alone, with evenspread, and with its peer.

evenspread is registered as the chart renders it. The peer is a MutatingAdmissionPolicy, which
writes the same constraints inside the API server. The three take turns, so that what others on the
machine do is the same for all.
"""

import json
from typing import NamedTuple

from tests.bench import servers
from tests.bench.creator import Creator, Turn, in_force
from tests.bench.live import LiveCluster
from tests.bench.servers import Server
from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.deploy.manifests import Helm, by_name
from tests.e2e.replica import Registered

POLICY = "evenspread-bench"
VERSION = "admissionregistration.k8s.io/v1"


class Felt(NamedTuple):
    """Creations by turn: by the API server alone, with the policy in it, with evenspread."""

    alone: list[Turn]
    policy: list[Turn]
    called: list[Turn]


def feel(live: LiveCluster, turns: int, seconds: float) -> Felt:
    """
    Create pods of a ReplicaSet alone, with the policy and with the webhooks, in turn.

    Args:
        live: The cluster.
        turns: Of each.
        seconds: Of a turn, half of it at a steady rate.

    Raises:
        LoadError: Pods get other constraints than they should.
        ToolError: Helm, which renders the chart, has not been built.
    """
    server, creator = live.serve(), Creator(live, seconds)
    hooks = configurations_for(server)
    with Registered(live.plane, hooks):
        wanted = creator.expect(injected=True)
    felt = Felt([], [], [])
    for _ in range(turns):
        creator.expect(injected=False)
        felt.alone.append(creator.take_turn())
        with in_force(creator, admission_policy(wanted), wanted):
            felt.policy.append(creator.take_turn())
        with Registered(live.plane, hooks):
            creator.expect(injected=True)
            felt.called.append(creator.take_turn())
    creator.remove_owner()
    server.stop()
    return felt


def configurations_for(server: Server) -> list[Json]:
    """Both webhook configurations as the chart renders them, the mutating one first."""
    objects = by_name(Helm.located().objects({}))
    trusted = servers.authority_of(server)
    url = f"https://127.0.0.1:{server.port}"
    return [webhooks.by_url(objects[f"{kind}/evenspread"], url, trusted) for kind in webhooks.KINDS]


def admission_policy(wanted: list[Json]) -> tuple[Json, Json]:
    """Make a policy of the API server that writes these constraints, and its binding."""
    return _policy(wanted), _registration("MutatingAdmissionPolicyBinding", {"policyName": POLICY})


def _policy(wanted: list[Json]) -> Json:
    """
    Make the policy, as JSON Patch: an apply configuration may not set a labelSelector.

    The constraints are maps, since kube-apiserver 1.36.3 panics at a list of ``Object`` values.
    """
    at, value = json.dumps("/spec/topologySpreadConstraints"), _cel(wanted)
    expression = f'[JSONPatch{{op: "add", path: {at}, value: {value}}}]'
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods"]}]},
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
