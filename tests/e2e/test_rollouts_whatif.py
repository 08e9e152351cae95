"""
``explain --what-if rollout`` against the real controllers and scheduler: what it foretells happens.

Random Deployments are restarted on random nodes. The test makes pods ready in random order, as
kubelets would, until nothing happens any more: every controller has seen its pods, and every
Pending pod is in the queue of those that the scheduler has tried in vain. The scheduler scores by
PodTopologySpread alone, so that the best nodes are those it chooses from. All filters run.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.fixtures import run_plane
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import POD_SPEC, rounds
from webhook.__main__ import main
from webhook.policy.model import HOSTNAME, ZONE

RUNS = rounds(5, 100)
CALM = 25  # equal looks at the cluster, 20 ms apart, after which nothing happens any more
HASH = "pod-template-hash"
ROOM = {"cpu": "2", "pods": "110"}

SPREADING_ALONE = {
    "schedulerName": "default-scheduler",
    "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "PodTopologySpread"}]}},
}

_pending = re.compile(r'scheduler_pending_pods\{queue="(?P<queue>[a-z]+)"\} (?P<pods>[0-9.e+]+)')


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    options = Options(scheduler_profiles=(SPREADING_ALONE,))
    with run_plane(ControlPlane(control_plane_assets, options), request.config) as started:
        yield started


class DrawnRollout(NamedTuple):
    """
    A Deployment and its nodes.

    Attributes:
        zones: A letter for the zone of each node.
        is_cordoned: Whether the first node is cordoned.
        spec: The rest of the specification of its pods.
    """

    zones: str
    is_cordoned: bool
    replicas: int
    strategy: Json
    constraints: list[Json]
    spec: Json = POD_SPEC


def constrain(key: str, **changes: Any) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **changes,
    }


def limit(surge: int | str, unavailable: int | str) -> Json:
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": limits}


def draw_spec(rng: random.Random) -> Json:
    """Draw pods of which a node has room for one or two, or, by half, for any number."""
    apart = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME}
    cpu = {"resources": {"requests": {"cpu": rng.choice(["600m", "1"])}}}
    port = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return rng.choice(
        [
            *[POD_SPEC] * 4,
            *[{"containers": [{**POD_SPEC["containers"][0], **cpu}]}] * 2,
            {"containers": [{**POD_SPEC["containers"][0], **port}]},
            {**POD_SPEC, "affinity": affinity},
        ]
    )


def draw_rollout(rng: random.Random) -> DrawnRollout:
    """Draw a rollout; more than a quarter of them can stop."""
    keys = rng.choice([[ZONE], [HOSTNAME], *[[ZONE, HOSTNAME]] * 3])
    apart = {"matchLabelKeys": [HASH]}
    is_together = rng.random() < 0.7
    limits = rng.choice([*[limit(1, 0)] * 3, limit(2, 0), limit(0, 1), limit(1, 1), {}])
    return DrawnRollout(
        zones=rng.choice(["aab", "aaab", "aaab", "aaaab", "abc", "aabbc", "ab", "aabb"]),
        is_cordoned=rng.random() < 0.3,
        replicas=rng.randint(2, 5),
        strategy={"type": "Recreate"} if rng.random() < 0.1 else limits,
        constraints=[
            constrain(
                key,
                maxSkew=rng.choice([1, 1, 1, 2]),
                whenUnsatisfiable=rng.choice([*["DoNotSchedule"] * 5, "ScheduleAnyway"]),
                **({} if is_together or rng.random() < 0.3 else apart),
            )
            for key in keys
        ],
        spec=draw_spec(rng),
    )


UNEVEN = DrawnRollout("aaab", False, 3, limit(1, 0), [constrain(ZONE), constrain(HOSTNAME)])
"""The rollout of the documentation, which stops with every choice."""


class RolledDeployment:
    """
    A Deployment on nodes of its own.

    Attributes:
        nodes: Name of each node -> its zone.
    """

    def __init__(self, plane: ControlPlane, rng: random.Random, drawn: DrawnRollout) -> None:
        self.api, self.rng, self._plane = plane.api, rng, plane
        self.namespace = plane.create_namespace()
        self.nodes = {f"{self.namespace}-{number}": zone for number, zone in enumerate(drawn.zones)}
        self._joined = [
            kubelet.join(self.api, name, {ZONE: zone}, allocatable=ROOM)
            for name, zone in self.nodes.items()
        ]
        if drawn.is_cordoned:
            self.api.merge(self._joined[0], {"spec": {"unschedulable": True}})
        self.replicas, self.constraints = drawn.replicas, drawn.constraints
        self.written = self._write(drawn.strategy, drawn.spec)
        self._calm, self._last = 0, ""

    def _write(self, strategy: Json, drawn: Json) -> Json:
        spec = {
            **drawn,
            "terminationGracePeriodSeconds": 0,
            "topologySpreadConstraints": self.constraints,
        }
        template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": self.namespace},
            "spec": {
                "replicas": self.replicas,
                "strategy": strategy,
                "selector": {"matchLabels": {"app": "web"}},
                "template": template,
            },
        }

    def pods(self) -> list[Json]:
        return self.api.items("v1", "Pod", self.namespace)

    def come_to_rest(self) -> None:
        """Make pods ready in random order, until nothing happens any more."""
        self._calm = 0
        until(self._rests, "the rollout to finish or to stop", patience_s=120.0)

    def _rests(self) -> bool:
        pods = self.pods()
        starting = [
            pod
            for pod in pods
            if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending"
        ]
        if starting:
            self._calm = 0
            for pod in self.rng.sample(starting, self.rng.randint(1, len(starting))):
                kubelet.run(self.api, pod)
            return False
        sets = self.api.items("apps/v1", "ReplicaSet", self.namespace)
        deployment = self.api.read(self.written)
        seen = json.dumps([pods, sets, deployment], sort_keys=True)
        is_calm = seen == self._last and self._is_seen(pods, sets, deployment)
        self._calm, self._last = self._calm + 1 if is_calm else 0, seen
        return self._calm >= CALM

    def _is_seen(self, pods: list[Json], sets: list[Json], deployment: Json) -> bool:
        """Whether the controllers and the scheduler have seen what there is."""
        status = deployment.get("status", {})
        if status.get("observedGeneration") != deployment["metadata"]["generation"]:
            return False
        ready = Counter(
            pod["metadata"]["ownerReferences"][0]["name"]
            for pod in pods
            if pod["status"]["phase"] == "Running"
        )
        for one in sets:
            seen, name = one.get("status", {}), one["metadata"]["name"]
            counts = seen.get("replicas", 0), seen.get("availableReplicas", 0)
            if counts != (one["spec"]["replicas"], ready[name]):
                return False
        waiting = sum(not pod["spec"].get("nodeName") for pod in pods)
        queues = {
            found["queue"]: float(found["pods"])
            for found in _pending.finditer(self._plane.metrics("kube-scheduler"))
        }
        return (queues["active"], queues["backoff"], queues["unschedulable"]) == (0, 0, waiting)

    def forecast(self, capsys: pytest.CaptureFixture[str]) -> Json:
        kubeconfig = str(self._plane.apiserver.kubeconfig)
        arguments = ("explain", "deploy/web", "-n", self.namespace, "--kubeconfig", kubeconfig)
        code = main((*arguments, "--what-if", "rollout", "-o", "json"))
        out, err = capsys.readouterr()
        assert err == ""
        answer: Json = json.loads(out)["rollout"]
        assert code == answer["canStop"]
        return answer

    def restart(self) -> None:
        annotations = {"annotations": {"restarted": "1"}}
        self.api.merge(self.written, {"spec": {"template": {"metadata": annotations}}})

    def new_pods(self) -> list[Json]:
        """List the pods of the newest ReplicaSet that have a node."""
        sets = self.api.items("apps/v1", "ReplicaSet", self.namespace)
        revision = "deployment.kubernetes.io/revision"
        newest = max(sets, key=lambda one: int(one["metadata"]["annotations"][revision]))
        return [
            pod
            for pod in self.pods()
            if pod["metadata"]["ownerReferences"][0]["name"] == newest["metadata"]["name"]
            and pod["spec"].get("nodeName")
        ]

    def skews(self) -> list[int]:
        """Measure what each constraint of a new pod counts."""
        found: list[int] = []
        for constraint in self.constraints:
            apart = HASH in constraint.get("matchLabelKeys", ())
            pods = self.new_pods() if apart else self.pods()
            values = {
                name: zone if constraint["topologyKey"] == ZONE else name
                for name, zone in self.nodes.items()
            }
            counts = Counter(
                values[pod["spec"]["nodeName"]] for pod in pods if pod["spec"].get("nodeName")
            )
            numbers = [counts[value] for value in set(values.values())]
            found.append(max(numbers) - min(numbers))
        return found

    def leave(self) -> None:
        """Delete the Deployment with its pods, and the nodes."""
        self.api.delete(self.written)
        until(lambda: not self.pods(), "the pods to be gone")
        for node in self._joined:
            self.api.delete(node)


@pytest.mark.parametrize("run", range(RUNS))
def test_a_rollout_ends_as_foretold(
    plane: ControlPlane, run: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(run)
    rolled = RolledDeployment(plane, rng, draw_rollout(rng) if run else UNEVEN)
    plane.api.create(rolled.written)
    rolled.come_to_rest()
    forecast = rolled.forecast(capsys)

    rolled.restart()
    rolled.come_to_rest()

    status = plane.api.read(rolled.written)["status"]
    new, skews = len(rolled.new_pods()), rolled.skews()
    finishes = new == rolled.replicas == status["replicas"]
    context = json.dumps({"forecast": forecast, "status": status, "written": rolled.written})
    assert forecast["allTried"], context
    assert forecast["canFinish" if finishes else "canStop"], context
    assert run or not (finishes or forecast["canFinish"]), context
    if not finishes:
        assert forecast["stopsWith"]["least"] <= new <= forecast["stopsWith"]["most"], context
    for foretold, skew in zip(forecast["skews"], skews, strict=True):
        assert foretold["least"] <= skew <= foretold["most"], context
    rolled.leave()
