"""
Cost of creating a pod through kube-apiserver: alone, with evenspread, and with its peer.

evenspread is registered as the chart renders it. The peer is a MutatingAdmissionPolicy, which
writes the same constraints inside the API server. The three take turns, so that what others on the
machine do is the same for all.
"""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from tests.bench import cpu, servers
from tests.bench.live import LiveCluster
from tests.bench.load import LoadError
from tests.bench.servers import Server
from tests.controlplane import webhooks
from tests.controlplane.api import Api, Json
from tests.controlplane.waiting import until
from tests.deploy.manifests import Helm, by_name
from tests.e2e.objects import constraints, controlled_by, service, workload
from tests.e2e.replica import Registered

STEADY = 50  # creations a second while their times are taken
CLIENTS = 4  # that create pods at once while they are counted: more than two cores can serve
LABELS = {"app": "checkout"}  # of the pods, and of the Service that selects them
POLICY = "evenspread-bench"
VERSION = "admissionregistration.k8s.io/v1"


class Turn(NamedTuple):
    """
    One turn of creations.

    Attributes:
        took: Seconds of each, at a steady rate.
        cpu: Seconds of the API server for each of these.
        rate: Creations a second as fast as a few clients can.
    """

    took: list[float]
    cpu: float
    rate: float


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
    hooks = _hooks(server)
    with Registered(live.plane, hooks):
        wanted = creator.expect(injected=True)
    felt = Felt([], [], [])
    for _ in range(turns):
        creator.expect(injected=False)
        felt.alone.append(creator.take_turn())
        with _policy_in_force(creator, wanted):
            felt.policy.append(creator.take_turn())
        with Registered(live.plane, hooks):
            creator.expect(injected=True)
            felt.called.append(creator.take_turn())
    creator.remove_owner()
    server.stop()
    return felt


class Creator:
    """Creates pods of one ReplicaSet, each with a name of its own."""

    def __init__(self, live: LiveCluster, seconds: float) -> None:
        """Make their namespace, with a Service and the ReplicaSet."""
        self.api: Api = live.plane.api
        self._apiserver = live.plane.apiserver.process.pid
        self._seconds = seconds / 2
        self._created = 0
        self._namespace = live.plane.create_namespace()
        self.api.create(service("checkout", self._namespace, LABELS))
        self._owner = self.api.create(workload("ReplicaSet", "checkout", self._namespace, LABELS))

    def take_turn(self) -> Turn:
        """Create pods at a steady rate, then as fast as possible."""
        before = cpu.spent(self._apiserver)
        took = [*self._at_a_steady_rate()]
        used = cpu.spent(self._apiserver).since(before).running
        return Turn(took, used / len(took), self._at_once())

    def expect(self, *, injected: bool) -> list[Json]:
        """
        Wait until a pod that is tried gets constraints, or none; returns them.

        It also opens the connections of the API server to a webhook.
        """
        found: list[list[Json]] = [[]]

        def is_so() -> bool:
            found[0] = constraints(self.api.create(self._pod(), dryRun="All"))
            return bool(found[0]) is injected

        until(is_so, "pods to be treated as they should be")
        return found[0]

    def remove_owner(self) -> None:
        """Delete the ReplicaSet, so that the cluster has those alone that it is filled with."""
        self.api.delete(self._owner)

    def _at_a_steady_rate(self) -> Iterator[float]:
        start = time.perf_counter()
        for number in range(max(1, int(self._seconds * STEADY))):
            # Only the clock is waited for, so that the rate is the configured one.
            time.sleep(max(0.0, start + number / STEADY - time.perf_counter()))
            pod, begun = self._pod(), time.perf_counter()
            self.api.create(pod)
            yield time.perf_counter() - begun

    def _at_once(self) -> float:
        start = time.perf_counter()

        def create(_client: int) -> int:
            count = 0
            while time.perf_counter() < start + self._seconds:
                self.api.create(self._pod())
                count += 1
            return count

        with ThreadPoolExecutor(CLIENTS) as clients:
            created = sum(clients.map(create, range(CLIENTS)))
        return created / (time.perf_counter() - start)

    def _pod(self) -> Json:
        self._created += 1
        pod = workload("Pod", "", self._namespace, LABELS)
        metadata = {
            "generateName": f"checkout-{self._created}-",
            "ownerReferences": [controlled_by(self._owner)],
        }
        del pod["metadata"]["name"]
        return {**pod, "metadata": {**pod["metadata"], **metadata}}


def _hooks(server: Server) -> list[Json]:
    """Both webhook configurations as the chart renders them by default, calling one server."""
    objects = by_name(Helm.located().objects({}))
    trusted = servers.authority_of(server)
    url = f"https://127.0.0.1:{server.port}"
    return [webhooks.by_url(objects[f"{kind}/evenspread"], url, trusted) for kind in webhooks.KINDS]


@contextmanager
def _policy_in_force(creator: Creator, wanted: list[Json]) -> Iterator[None]:
    """Let a policy of the API server write these constraints into every pod."""
    made = (_policy(wanted), _binding())
    for obj in made:
        creator.api.create(obj)
    if creator.expect(injected=True) != wanted:
        raise LoadError("the policy in the API server writes other constraints")
    yield
    for obj in reversed(made):
        creator.api.delete(obj)
    creator.expect(injected=False)


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


def _binding() -> Json:
    return _registration("MutatingAdmissionPolicyBinding", {"policyName": POLICY})


def _registration(kind: str, spec: Json) -> Json:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": POLICY}, "spec": spec}
