"""
Two replicas, a tenant who attacks them, and another tenant whose pods must not be affected.

The API server calls one replica; the other is sent bodies directly. Both follow the cluster.
"""

import copy
import http.client
import json
import ssl
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from tests.controlplane import webhooks
from tests.controlplane.api import Api, Json, Reply
from tests.controlplane.plane import ControlPlane
from tests.e2e.cgroup import MemoryCgroup, memory_cgroup
from tests.e2e.health import LivezSampler, forget_peak, memory, peak
from tests.e2e.hostile import MIB, Attack
from tests.e2e.load import Load
from tests.e2e.objects import constraints, service
from tests.e2e.ranks import BIND
from tests.e2e.replica import CONFIG, MARK, Registered, Replica, configurations
from tests.e2e.tenantkinds import WITH_PODS, hook_rules, ordinary, resources

LONGEST_LIVEZ_MS = 200.0
MOST_MEMORY = 400 * MIB
MEMORY_LIMIT = 512 * MIB  # of the chart
MOST_GROWTH = 64 * MIB  # of the peak, by one body
API_TIMEOUT = "10s"  # of a request to the API server, which some objects keep busy for minutes
PATIENCE_S = 60.0  # for an answer
SHOWN = 3  # steps with the slowest /livez

KEEPS = CONFIG.replace("- name: cluster", "- name: cluster\n  scaleDown: KeepSpread")
REPAIRS = f"{KEEPS}scaleDownRepair: true\n"

RATE = 10.0  # ordinary pods a second: enough to meet what lasts 200 ms

_VERBS = ["get", "list", "create", "update", "patch", "delete", "deletecollection"]
_RBAC = "rbac.authorization.k8s.io"


class Received(NamedTuple):
    """What a replica answered to a body that it was sent; the status 0: nothing."""

    status: int
    body: bytes


class Step(NamedTuple):
    """
    One attack, and what became of one replica meanwhile.

    Attributes:
        began: By ``time.monotonic``, as ``ended``.
        peak: The most bytes of memory that it held.
        growth: By how much that is more than before.
    """

    title: str
    began: float
    ended: float
    peak: int
    growth: int


class Siege:
    """
    A context manager; Afterwards, ``troubles`` lists the failures.

    Attributes:
        tenant: A client with rights in ``namespace`` alone.
        called: The replica that the API server calls.
        direct: The replica that send() sends to.
        figures: Once it is over: what a reader wants to know, a line for each replica.
        troubles: Once it is over: sentences.
    """

    def __init__(
        self,
        plane: ControlPlane,
        folder: Path,
        config: str = CONFIG,
        called: str = CONFIG,
        **settings: str,
    ) -> None:
        """
        Prepare a tenant and two replicas; nothing runs yet.

        Args:
            folder: Where replicas have their files.
            config: Of the replica that send() sends to.
            called: Configuration of the replica that the API server calls, also for Bindings if a
                profile keeps the spread.
            settings: Further settings of that replica.
        """
        self.plane = plane
        self.namespace = plane.create_namespace(MARK)
        self.tenant = _tenant(plane, self.namespace)
        self.figures: list[str] = []
        self.troubles: list[str] = []
        self._folder = folder
        self._groups: dict[Replica, MemoryCgroup] = {}
        self._steps: dict[Replica, list[Step]] = {}
        self._elsewhere = plane.create_namespace(MARK)
        plane.api.create(service("it", self._elsewhere, {"app": "it"}))
        self.called = self.another("called", called, **settings)
        self.direct = self.another("direct", config)
        self._further = [BIND] if "KeepSpread" in called else []
        self._ends = ExitStack()

    def another(self, name: str, config: str = CONFIG, **settings: str) -> Replica:
        """A replica with a folder of its own; not started."""
        folder = self._folder / name
        folder.mkdir()
        return Replica(folder, self.plane.apiserver.kubeconfig, config, **settings)

    def __enter__(self) -> Self:
        with self._ends:
            self._ends.callback(self._clean)
            for replica in (self.called, self.direct):
                self._confine(replica)
                self._ends.enter_context(replica).wait()
                self._steps[replica] = []
            self._ends.enter_context(Registered(self.plane, self._hooks()))
            self._samplers = {replica: LivezSampler(replica) for replica in self._steps}
            self._load = Load(self.plane.api, self._elsewhere, rate=RATE, least=10)
            self._observation = ExitStack()
            for sampler in self._samplers.values():
                self._observation.enter_context(sampler)
            self._observation.enter_context(self._load)
            self._ends.push(self._observation)
            self._ends = self._ends.pop_all()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._ends:
            self._observation.close()
            for replica, sampler in self._samplers.items():
                self._inspect(replica, sampler)
            if kind is None:
                self._inspect_pods()
                self._inspect_calls()

    def _confine(self, replica: Replica) -> None:
        """Let the kernel kill a replica that exceeds the memory limit of the chart."""
        group = self._ends.enter_context(memory_cgroup(MEMORY_LIMIT))
        if group is None:
            self.figures.append("no memory cgroup can be made here")
            return
        self._groups[replica] = group
        replica.process.command = group.wrap(replica.process.command)

    @contextmanager
    def step(self, title: str) -> Generator[None]:
        """Run a step of the attack and record its effects on the replicas."""
        before: dict[Replica, int] = {}
        for replica, steps in self._steps.items():
            last = steps[-1].title if steps else "its start"
            assert replica.process.alive, f"after {last} a replica ended\n{replica.process.tail()}"
            forget_peak(replica.process.pid)
            before[replica] = memory(replica.process.pid)
        began = time.monotonic()
        yield
        for replica, steps in self._steps.items():
            assert replica.process.alive, f"{title} ended a replica\n{replica.process.tail()}"
            most = peak(replica.process.pid)
            steps.append(Step(title, began, time.monotonic(), most, most - before[replica]))

    def create(self, attack: Attack, kind: str, name: str) -> Reply:
        """Create a hostile object as the tenant; the status 0 stands for no answer."""
        collection = self.tenant.collection_of(ordinary(kind, self.namespace, name))
        return self._ask("POST", collection, attack.body(kind, self.namespace, name))

    def update(self, attack: Attack, kind: str, name: str) -> Reply:
        """Create an ordinary object as the tenant, and make it as it is stored a hostile one."""
        stored = self.tenant.create(ordinary(kind, self.namespace, name))
        path = self.tenant.path_of(stored)
        return self._ask("PUT", path, attack.into(kind, stored))

    def remove(self, kind: str, name: str) -> None:
        """Delete an object as the tenant, if it is stored."""
        self._ask("DELETE", self.tenant.path_of(ordinary(kind, self.namespace, name)), b"")

    def _ask(self, method: str, path: str, body: bytes) -> Reply:
        try:
            timed = f"{path}{'&' if '?' in path else '?'}timeout={API_TIMEOUT}"
            return self.tenant.request(method, timed, body)
        except (OSError, http.client.HTTPException) as error:
            return Reply(0, {"message": str(error)})

    def dry_run(self, obj: Json) -> Reply:
        """Try to create an object as the tenant, so that nothing is stored."""
        collection = self.tenant.collection_of(obj)
        return self._ask("POST", f"{collection}?dryRun=All", json.dumps(obj).encode())

    def send(self, hook: str, body: bytes) -> Received:
        """Send a body to the replica that the API server does not call."""
        trusted = ssl.create_default_context(cafile=self.direct.folder / "state/ca.crt")
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.direct.port, timeout=PATIENCE_S, context=trusted
        )
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"/{hook}?timeout=10s", body, headers)
            answer = connection.getresponse()
            return Received(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as error:
            return Received(0, str(error).encode())
        finally:
            connection.close()

    def _inspect(self, replica: Replica, sampler: LivezSampler) -> None:
        steps, name = self._steps[replica], f"replica {replica.folder.name}"
        if not replica.process.alive:
            self.troubles.append(f"{name} has ended")
            return
        most = max([peak(sampler.pid), *(step.peak for step in steps)])
        limited = ""
        if group := self._groups.get(replica):
            limited = f"; {group.peak // MIB} of {MEMORY_LIMIT // MIB} MiB in its cgroup"
        self.figures.append(f"{name}: {sampler.summary}; at most {most // MIB} MiB{limited}")
        times = [(sampler.worst(step.began, step.ended), step) for step in steps]
        for worst, step in sorted(times, reverse=True)[:SHOWN]:
            self.figures.append(f"{name}: /livez took {worst:.0f} ms during {step.title}")
        for worst, step in times:
            if worst > LONGEST_LIVEZ_MS or step.growth > MOST_GROWTH or step.peak > MOST_MEMORY:
                self.troubles.append(
                    f"{step.title}: {name}: /livez {worst:.0f} ms, "
                    f"{step.peak // MIB} MiB, {step.growth // MIB} MiB of them new"
                )
        if not replica.ready:
            self.troubles.append(f"{name} is not ready: {replica.page('/readyz')}")

    def _inspect_pods(self) -> None:
        """Check the pods of the other tenant."""
        self.troubles += [
            f"an ordinary pod failed: {failure}" for failure in self._load.failures[:3]
        ]
        pods = self.plane.api.items("v1", "Pod", self._elsewhere)
        if bare := sum(len(constraints(pod)) != 2 for pod in pods):
            self.troubles.append(f"{bare} of {len(pods)} ordinary pods have no default constraints")

    def _inspect_calls(self) -> None:
        """
        Find objects that were stored without a review, in the API server's audit log.

        Objects that the API server rejects anyway may fail open too: 3 MB of ``{}`` become a review
        of 54 MB, which exceeds every limit on bodies. They are counted, and have no effect.
        """
        refused = 0
        for event in self.plane.apiserver.audit_events():
            about = event.get("objectRef", {})
            opened = any(key.startswith("failed-open.") for key in event.get("annotations", {}))
            if not opened or about.get("namespace") not in (self.namespace, self._elsewhere):
                continue
            if event["responseStatus"]["code"] < http.client.BAD_REQUEST:
                named = f"{about['resource']}/{about.get('name', '')}"
                self.troubles.append(f"{event['verb']} of {named} was not judged, and succeeded")
            else:
                refused += 1
        self.figures.append(f"{refused} objects failed open, and the API server refused them")

    def _hooks(self) -> list[Json]:
        url, bundle = self.called.url, self.called.ca_bundle
        made = configurations("hostile")
        for configuration in made:
            for webhook in configuration["webhooks"]:
                webhook["rules"] = list(hook_rules())
        made[0]["webhooks"] += copy.deepcopy(self._further)
        for configuration in made:
            for webhook in configuration["webhooks"]:
                webhook["failurePolicy"] = "Ignore"  # as shipped: what fails open is counted
        return [webhooks.by_url(configuration, url, bundle) for configuration in made]

    def _clean(self) -> None:
        """Leave none of the tenant's objects to what comes next."""
        for kind in WITH_PODS:
            self.plane.api.call(
                "DELETE", self.plane.api.collection_of(ordinary(kind, self.namespace, ""))
            )
        for made in self.plane.kubectl(
            "get", "services", "-n", self.namespace, "-o", "name"
        ).stdout.split():
            path = self.plane.api.collection("v1", "Service", self.namespace)
            self.plane.api.call("DELETE", f"{path}/{made.partition('/')[2]}")


def besiege_ranks(plane: ControlPlane, folder: Path) -> Siege:
    """Prepare replicas that rank pods, of which the one that is called also corrects ranks."""
    head = {"name": "evenspread-audit", "namespace": plane.create_namespace()}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": head}
    plane.api.create(lease)
    return Siege(plane, folder, KEEPS, REPAIRS, namespace=head["namespace"])


def _tenant(plane: ControlPlane, namespace: str) -> Api:
    """A user with rights on what is watched or hooked, in one namespace."""
    head = {"name": "tenant", "namespace": namespace}
    plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": head})
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": _VERBS}
        for group, resources in resources()
    ]
    role: Json = {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": head, "rules": rules}
    plane.api.create(role)
    plane.api.create(
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": head,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": "tenant"},
            "subjects": [{"kind": "ServiceAccount", **head}],
        }
    )
    return plane.api_of(namespace, "tenant")
