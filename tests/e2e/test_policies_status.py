"""The status of SpreadPolicies on the control plane: right, rare, and by one replica."""

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import Helm
from tests.e2e.objects import rounds, service, workload
from tests.e2e.replica import Registered, Replica, by_url
from tests.e2e.spreadpolicies import PATH, defined, definition, spread_policy
from webhook.policy.defaulting.policystatus import PolicyStatus
from webhook.policy.model import ZONE
from webhook.server.policystatus import PERIOD_S

CHANGES = rounds(5, 50)
AT_ONCE = rounds(5, 10)  # changes between two looks at all statuses
NAMES = ("a", "b", "c", "d", "e")
NAME = "evenspread"
RIGHTS = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount", "Lease"}
HOOKED = {"evenspread.test/status": "yes", "tier": "prod"}
SETTLED_S = 3 * PERIOD_S  # a change waits a minute at most, and a new leader as long
LONGEST_S = 1800  # for the whole test: it mostly waits for minutes to pass
CLOCK_S = 0.5  # between the clock of a replica and the times of the API server's log
SOFT = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
HARD = {"maxSkew": 1, "topologyKey": "example.com/rack", "whenUnsatisfiable": "DoNotSchedule"}

CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: of-file
  match: {schedulerNames: [of-file]}
  defaultConstraints: []
"""

ALL: Json = {}
PROD: Json = {"namespaceSelector": {"matchLabels": {"tier": "prod"}}}
WEB: Json = {"objectSelector": {"matchLabels": {"app": "web"}}}
NONE: Json = {
    "objectSelector": {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "app", "operator": "DoesNotExist"}],
    }
}
MATCHES = (ALL, PROD, PROD, WEB, WEB, NONE)


class Written(NamedTuple):
    """A policy as a user wrote it last, and the last version of it that can be used."""

    order: int
    match: Json
    broken: bool
    used: tuple[int, Json] | None


class StatusFleet(NamedTuple):
    """Two replicas with the rights of the chart."""

    plane: ControlPlane
    namespace: str
    replicas: tuple[Replica, ...]

    def leader(self) -> Replica | None:
        alive = (replica for replica in self.replicas if replica.process.alive)
        return next((one for one in alive if one.metric("audit_leader") == 1), None)

    def status(self, name: str) -> Json:
        found: Json = self.plane.api.request("GET", f"{PATH}/{name}").body.get("status", {})
        return found

    def numbers(self, name: str) -> tuple[int | None, int | None, int | None]:
        """Its pods with defaults, uneven workloads and pending pods; None if absent."""
        found = self.status(name)
        return (
            found.get("podsWithDefaults"),
            found.get("unevenWorkloads"),
            found.get("pendingPods"),
        )

    def have_conditions(self, expected: dict[str, dict[str, tuple[str, str]]]) -> bool:
        """Whether the policies have these conditions."""
        return {name: self.conditions(name) for name in expected} == expected

    def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        found = self.status(name).get("conditions", ())
        return {one["type"]: (one["status"], one["reason"]) for one in found}


def lenient() -> Json:
    """The definition of the chart, with the schema of the status alone."""
    made = definition()
    (version,) = made["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    return made


@pytest.fixture
def fleet(new_control_plane: NewControlPlane, helm: Helm, tmp_path: Path) -> Iterator[StatusFleet]:
    plane = new_control_plane(audit=True)
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
    for made in helm.objects({"audit": {"interval": "5s"}}):
        if made["kind"] in RIGHTS:
            plane.api.create(made)
    namespace = plane.create_namespace(HOOKED)
    with ExitStack() as running:
        running.enter_context(defined(plane, lenient()))
        replicas: list[Replica] = []
        for number in range(2):
            folder = tmp_path / f"replica-{number}"
            folder.mkdir()
            settings = {"namespace": NAME, "audit_interval": "5s", "replica": f"r{number}"}
            replica = Replica(folder, plane.kubeconfig_of(NAME, NAME), CONFIG, **settings)
            replicas.append(running.enter_context(replica))
        for replica in replicas:
            replica.wait()
        hooks = by_url(replicas[0], "status", HOOKED)
        running.enter_context(Registered(plane, hooks))
        yield StatusFleet(plane, namespace, tuple(replicas))


@pytest.mark.timeout(LONGEST_S)
def test_the_status_of_policies(fleet: StatusFleet) -> None:
    check_conditions(fleet)
    check_counts(fleet)
    changed = check_random_changes(fleet)
    check_change_of_leader(fleet)
    check_writes(fleet, changed)


def check_conditions(fleet: StatusFleet) -> None:
    """A new policy has its conditions at once, and a client can wait for them."""
    plane = fleet.plane
    until(fleet.leader, "a replica to hold the Lease")
    plane.api.create(spread_policy("first", order=-9, match={"schedulerNames": ["first"]}))
    plane.kubectl("wait", "--for=condition=Accepted", "sprp/first", "--timeout=60s")
    plane.kubectl("wait", "--for=condition=Effective", "sprp/first", "--timeout=60s")
    plane.api.create(spread_policy("of-file", match={"schedulerNames": ["of-file"]}))
    plane.kubectl("wait", "--for=condition=Effective=False", "sprp/of-file", "--timeout=60s")

    assert fleet.conditions("of-file") == {
        "Accepted": ("True", "Valid"),
        "Effective": ("False", "NameTaken"),
    }
    status = fleet.status("first")
    assert status.keys() <= set(PolicyStatus.__struct_encode_fields__)
    assert status["observedGeneration"] == 1
    namespaces = {one["metadata"]["name"] for one in plane.api.items("v1", "Namespace")}
    assert status["matchedNamespaces"] == len(namespaces - {"kube-system"})
    columns = plane.kubectl("get", "sprp", "first").stdout.splitlines()[0].split()
    assert columns == ["NAME", "ORDER", "ACCEPTED", "EFFECTIVE", "UNEVEN", "AGE"]


def check_counts(fleet: StatusFleet) -> None:
    """Pods that got the defaults of a policy are counted, where the scheduler left them."""
    plane, namespace = fleet.plane, fleet.namespace
    for zone in "ab":
        kubelet.join(plane.api, f"node-{zone}", {ZONE: zone})
    matches: Json = {"objectSelector": {"matchLabels": {"app": "racked"}}}
    plane.api.create(spread_policy("racked", match=matches, defaultConstraints=[HARD], order=-8))
    matches = {"schedulerNames": ["manual"]}
    plane.api.create(spread_policy("zoned", match=matches, defaultConstraints=[SOFT], order=-7))
    replicate(fleet, "racked", 2)
    for name in replicate(fleet, "zoned", 3, schedulerName="manual"):
        target = {"apiVersion": "v1", "kind": "Node", "name": "node-a"}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
        reply = plane.api.request("POST", path, {**binding, "target": target})
        assert reply.status == 201, reply.body

    until(
        lambda: (fleet.numbers("racked"), fleet.numbers("zoned")) == ((2, 0, 2), (3, 1, 0)),
        "the pods to be counted",
        patience_s=SETTLED_S,
    )


def replicate(fleet: StatusFleet, name: str, number: int, **spec: Any) -> list[str]:
    """Create a ReplicaSet whose pods get defaults, and return their names."""
    plane, namespace, labels = fleet.plane, fleet.namespace, {"app": name}
    plane.api.create(service(name, namespace, labels))
    probe = workload("Pod", "probe", namespace, labels, **spec)
    until(lambda: is_defaulted(plane, probe), "the policy to be in force")
    made = workload("ReplicaSet", name, namespace, labels, **spec)
    made["spec"]["replicas"] = number
    plane.api.create(made)

    def created() -> list[str]:
        pods = plane.api.items("v1", "Pod", namespace, labelSelector=f"app={name}")
        names = [pod["metadata"]["name"] for pod in pods]
        return names if len(names) == number else []

    return until(created, "the pods of a ReplicaSet")


def is_defaulted(plane: ControlPlane, pod: Json) -> bool:
    made = plane.api.create(pod, dryRun="All")
    return "evenspread.io/defaults" in made["metadata"].get("annotations", {})


def check_random_changes(fleet: StatusFleet) -> set[str]:
    """After changes of specifications every status becomes right; returns the policies."""
    chance = random.Random(18)
    written: dict[str, Written] = {}
    late = list[float]()
    for number in range(1, CHANGES + 1):
        name = chance.choice(NAMES)
        written[name] = change(fleet.plane, name, written.get(name), chance)
        if number % AT_ONCE == 0:
            began = time.monotonic()
            expected = {one: expect(one, written) for one in written}
            right = partial(fleet.have_conditions, expected)
            until(right, "the statuses to be right", patience_s=SETTLED_S)
            late.append(time.monotonic() - began)
            for one in written:
                obj = fleet.plane.api.request("GET", f"{PATH}/{one}").body
                assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
    print(f"{CHANGES} changes; statuses right after {max(late):.1f} s at the latest")
    return set(written)


def change(
    plane: ControlPlane, name: str, before: Written | None, chance: random.Random
) -> Written:
    order, match, broken = chance.randrange(3), chance.choice(MATCHES), chance.random() < 0.25
    constraints = [{**HARD, "maxSkew": 0}] if broken else []
    spec: Json = {"order": order, "match": match, "defaultConstraints": constraints}
    if before is None:
        plane.api.create(spread_policy(name, **spec))
    else:
        obj = plane.api.request("GET", f"{PATH}/{name}").body
        replaced = plane.api.request("PUT", f"{PATH}/{name}", {**obj, "spec": spec})
        while replaced.status == 409:  # the status was written meanwhile
            obj = plane.api.request("GET", f"{PATH}/{name}").body
            replaced = plane.api.request("PUT", f"{PATH}/{name}", {**obj, "spec": spec})
        assert replaced.status == 200, replaced.body
    used = (before.used if before else None) if broken else (order, match)
    return Written(order, match, broken, used)


def expect(name: str, written: dict[str, Written]) -> dict[str, tuple[str, str]]:
    """The conditions of a policy, by rules that hold for these few matches alone."""
    accepted = ("False", "Invalid") if written[name].broken else ("True", "Valid")
    return {"Accepted": accepted, "Effective": expect_effect(name, written)}


def expect_effect(name: str, written: dict[str, Written]) -> tuple[str, str]:
    used = written[name].used
    if used is None:
        return ("False", "NotAccepted")
    order, match = used
    if match == NONE:
        return ("False", "SelectorMatchesNothing")
    earlier = [
        other.used[1]
        for one, other in written.items()
        if other.used is not None and (other.used[0], one) < (order, name)
    ]
    is_covered = ALL in earlier or match in earlier
    return ("False", "EarlierProfileApplies") if is_covered else ("True", "InForce")


def check_change_of_leader(fleet: StatusFleet) -> None:
    """Another replica goes on: with the counts of before, and with the versions in force."""
    leader = until(fleet.leader, "a replica to hold the Lease")
    before = fleet.numbers("zoned")
    leader.process.kill()
    changed = spread_policy("first", order=-9, match={"schedulerNames": ["other"]})["spec"]
    merge = "application/merge-patch+json"
    path = f"{PATH}/first"
    reply = fleet.plane.api.request("PATCH", path, {"spec": changed}, content_type=merge)
    generation = reply.body["metadata"]["generation"]
    until(
        lambda: fleet.status("first")["observedGeneration"] == generation,
        "another replica to write the status",
        patience_s=SETTLED_S,
    )
    assert fleet.leader() not in (None, leader)
    assert fleet.numbers("zoned") == before == (3, 1, 0)


def check_writes(fleet: StatusFleet, changed: set[str]) -> None:
    """No status was written twice within a minute, and only with the right that there is."""
    times = defaultdict[str, list[float]](list)
    for event in fleet.plane.apiserver.audit_events():
        of: dict[str, Any] = event.get("objectRef") or {}
        if of.get("resource") == "spreadpolicies" and of.get("subresource") == "status":
            code = event["responseStatus"]["code"]
            assert (event["verb"], code) in (("patch", 200), ("patch", 409)), event
            if code == 200:
                received = datetime.fromisoformat(event["requestReceivedTimestamp"])
                times[of["name"]].append(received.timestamp())
    gaps = [b - a for of_policy in times.values() for a, b in pairwise(sorted(of_policy))]
    print(f"{sum(map(len, times.values()))} writes; shortest gap {min(gaps):.1f} s")
    assert times.keys() == {"first", "of-file", "racked", "zoned", *changed}
    assert min(gaps) >= PERIOD_S - CLOCK_S
