"""SpreadPolicies in force: seen at once, in order, and never lost by an invalid one."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.customkinds import definition as lenient
from tests.e2e.dryruns import DryRunLoad, try_creation
from tests.e2e.objects import LONG, constraints, rounds, service, workload
from tests.e2e.replica import Registered, Replica, by_url
from tests.e2e.spreadpolicies import SOFT, VERSION, defined, definition, remove, spread_policy

CALLS = rounds(200, 6000)  # while policies change
SEEN_S = 2.0  # in the long form; alone it takes 20 ms
DISCOVERY_S = 180.0  # while a kind is absent, servers look for it every half minute

CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: of-file
  match: {schedulerNames: [of-file]}
  defaultConstraints:
  - {maxSkew: 9, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""
REPLICAS = ("first", "second")


@pytest.fixture(scope="module")
def namespaces(control_plane: ControlPlane) -> list[str]:
    """For each replica a namespace that it is called for."""
    made = [control_plane.create_namespace(hooked(name)) for name in REPLICAS]
    for namespace in made:
        control_plane.api.create(service("all", namespace, {"app": "web"}))
    return made


@pytest.fixture(scope="module")
def namespace(namespaces: list[str]) -> str:
    """The namespace that the first replica is called for."""
    return namespaces[0]


def hooked(name: str) -> dict[str, str]:
    return {"evenspread.test/policies": name}


@pytest.fixture(scope="module")
def replicas(
    control_plane: ControlPlane, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Replica]]:
    """Two servers, which start without the CustomResourceDefinition."""
    with ExitStack() as stack:
        started = []
        for name in REPLICAS:
            folder = tmp_path_factory.mktemp(name)
            kubeconfig = control_plane.apiserver.kubeconfig
            settings = {"namespace": namespace, "replica": name}
            started.append(stack.enter_context(Replica(folder, kubeconfig, CONFIG, **settings)))
        for name, one in zip(REPLICAS, started, strict=True):
            made = by_url(one.wait(), f"policies-{name}", hooked(name))
            stack.enter_context(Registered(control_plane, made))
        yield started


def skewed(name: str, skew: int, order: int = 0) -> Json:
    return spread_policy(name, order=order, defaultConstraints=[{**SOFT, "maxSkew": skew}])


def a_pod(namespace: str, **spec: Any) -> Json:
    return workload("Pod", "web", namespace, {"app": "web"}, **spec)


def skews(plane: ControlPlane, namespace: str, **spec: Any) -> list[int]:
    """The skews of the defaults that a new pod gets."""
    reply = try_creation(plane, a_pod(namespace, **spec))
    return [item["maxSkew"] for item in constraints(reply.body)]


def have_skew(plane: ControlPlane, namespace: str, skew: int) -> bool:
    return skews(plane, namespace) == [skew]


def in_force(replica: Replica) -> str:
    """The names of the profiles in the last line about a change."""
    lines = [line["profiles"] for line in replica.lines if line["event"] == "policies"]
    return lines[-1] if lines else ""


def is_in_force(replica: Replica, names: str) -> bool:
    return in_force(replica) == names


def change(plane: ControlPlane, obj: Json) -> None:
    path = f"/apis/{VERSION}/spreadpolicies/{obj['metadata']['name']}"
    reply = plane.api.request(
        "PATCH", path, {"spec": obj["spec"]}, content_type="application/merge-patch+json"
    )
    assert reply.status == 200, reply.body


def test_without_the_definition_the_server_runs_as_before_and_finds_it_later(
    control_plane: ControlPlane, replicas: list[Replica], namespace: str
) -> None:
    assert skews(control_plane, namespace) == []
    assert skews(control_plane, namespace, schedulerName="of-file") == [9]
    assert "cache SpreadPolicy.evenspread.io ok: 0 objects" in replicas[0].page("/readyz?verbose")

    with defined(control_plane):
        control_plane.api.create(skewed("later", 4))
        for replica in replicas:
            expected = "of-file, later"
            until(partial(is_in_force, replica, expected), "a policy", patience_s=DISCOVERY_S)
        assert skews(control_plane, namespace) == [4]

    until(lambda: in_force(replicas[0]) == "of-file", "the policy to be gone with its kind")
    assert skews(control_plane, namespace) == []


def test_a_server_of_policies_alone_reports_once_that_the_definition_is_absent(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    settings = {"namespace": namespace, "replica": "alone", "policies": "resource"}
    kubeconfig = control_plane.apiserver.kubeconfig
    with Replica(tmp_path, kubeconfig, CONFIG, **settings) as alone:
        alone.wait()
        assert in_force(alone) == ""
        with defined(control_plane):
            control_plane.api.create(skewed("later", 4))
            found = partial(is_in_force, alone, "later")
            until(found, "a policy", patience_s=DISCOVERY_S)

        messages = [line["message"] for line in alone.lines if line["event"] == "policy"]

    (message,) = messages
    assert message.startswith("no profile is in force: the API server does not have SpreadPolicies")


@pytest.fixture(scope="module")
def kind(control_plane: ControlPlane, replicas: list[Replica]) -> Iterator[None]:
    """The definition of the chart; servers look for it every half minute while it is absent."""
    with defined(control_plane):
        yield


@pytest.mark.usefixtures("kind")
def test_changes_under_load_lose_no_call_and_are_seen_at_once(
    control_plane: ControlPlane, replicas: list[Replica], namespaces: list[str]
) -> None:
    load, other = DryRunLoad(control_plane, a_pod(namespaces[0])), namespaces[1]
    late = list[float]()
    with ThreadPoolExecutor(2) as threads:
        control_plane.api.create(skewed("a", 2))
        for namespace in namespaces:
            seen = partial(have_skew, control_plane, namespace, 2)
            until(seen, "the first policy", patience_s=DISCOVERY_S)
        running = [threads.submit(load.run) for _ in range(2)]
        began = time.monotonic()
        try:
            while len(load.replies) < CALLS:
                skew, changed = 10 + len(late), time.monotonic()
                change(control_plane, skewed("a", skew))
                until(partial(load.has_seen, skew), f"a skew of {skew}")
                until(partial(have_skew, control_plane, other, skew), "the same skew")
                late.append(time.monotonic() - changed)
        finally:
            load.enough.set()
        for task in running:
            task.result()
    took = time.monotonic() - began
    control_plane.api.delete(skewed("a", 2))
    most = max(late)
    print(
        f"{len(load.replies)} calls, {len(load.replies) / took:.0f} a second, "
        f"{len(load.failed)} failed; {len(late)} changes, the latest seen after {most:.3f} s, "
        f"half of them after {median(late):.3f} s"
    )
    assert load.failed == []
    assert not LONG or most < SEEN_S


@pytest.mark.usefixtures("kind")
def test_policies_apply_by_order_and_name(
    control_plane: ControlPlane, replicas: list[Replica], namespace: str
) -> None:
    api = control_plane.api
    made = [skewed("b", 5), skewed("a", 6, 1), skewed("c", 7, -1), skewed("of-file", 8)]
    for policy in made:
        api.create(policy)
    until(lambda: in_force(replicas[0]) == "of-file, c, b, a", "the policies in order")
    assert skews(control_plane, namespace) == [7]

    api.delete(skewed("c", 7, -1))
    until(lambda: skews(control_plane, namespace) == [5], "the next policy")
    message = "SpreadPolicy 'of-file' is not used: a profile of the configuration has its name"
    assert any(message in line.get("message", "") for line in replicas[0].lines)
    for policy in made:
        api.delete(policy)


@pytest.mark.usefixtures("kind")
def test_pods_are_watched_once_a_policy_keeps_their_spread(
    control_plane: ControlPlane, replicas: list[Replica]
) -> None:
    def watched() -> bool:
        return replicas[0].metric("cache_synced", kind="Pod") == 1

    assert not watched()
    control_plane.api.create(spread_policy("keeping", scaleDown="KeepSpread"))
    until(watched, "pods to be watched")
    control_plane.api.delete(spread_policy("keeping"))
    until(lambda: not watched(), "pods to be watched no longer")


@pytest.fixture(scope="module")
def gone(control_plane: ControlPlane, kind: None) -> None:
    """After the tests with the definition of the chart."""
    remove(control_plane)


def stripped(*names: str) -> Json:
    """A definition of some versions without a schema, as another tool may have installed it."""
    made = definition()
    (version,) = lenient("evenspread.io", "SpreadPolicy", "spreadpolicies")["spec"]["versions"]
    stored = {"storage": False}
    made["spec"]["versions"] = [
        {**version, **(stored if number else {}), "name": name} for number, name in enumerate(names)
    ]
    return made


@pytest.mark.usefixtures("gone")
def test_a_policy_that_cannot_be_read_leaves_the_version_before_it_in_force(
    control_plane: ControlPlane, replicas: list[Replica], namespaces: list[str]
) -> None:
    api, namespace = control_plane.api, namespaces[0]
    with defined(control_plane, stripped("v1", "v1alpha1")):  # v1 is the preferred one
        api.create(skewed("a", 3))
        api.create(skewed("broken", 0, -5))
        for called in namespaces:
            valid = partial(have_skew, control_plane, called, 3)
            until(valid, "the valid policy", patience_s=DISCOVERY_S)

        change(control_plane, skewed("a", 0))
        change(control_plane, skewed("broken", 0, -6))
        for replica in replicas:
            until(partial(named, replica, "'a'", "the version before it stays"), "a log line")
            until(partial(named, replica, "'broken'", "it is not used"), "a log line")
        assert skews(control_plane, namespace) == [3]
        skipped = replicas[0].metric("objects_skipped_total", kind="SpreadPolicy.evenspread.io")
        assert skipped >= 2
        event = until(lambda: find_event(control_plane, namespace), "an Event")
        assert event["type"] == "Warning"
        assert "spec.defaultConstraints[0].maxSkew" in event["message"]

        change(control_plane, skewed("a", 8))
        until(lambda: skews(control_plane, namespace) == [8], "the fixed policy")
        api.delete(skewed("a", 8))
        until(lambda: skews(control_plane, namespace) == [], "the policy to be gone")


def named(replica: Replica, name: str, rest: str) -> bool:
    texts = [line.get("message", "") for line in replica.lines if line["event"] == "policy"]
    return any(f"SpreadPolicy {name}: spec." in text and rest in text for text in texts)


def find_event(plane: ControlPlane, namespace: str) -> Json | None:
    events = plane.api.items("v1", "Event", namespace)
    return next((item for item in events if item["reason"] == "SpreadPolicyInvalid"), None)


@pytest.mark.usefixtures("gone")
def test_another_version_alone_is_reported(
    control_plane: ControlPlane, replicas: list[Replica], namespace: str
) -> None:
    api, crd = control_plane.api, stripped("v1")
    api.create(crd)
    made = {**skewed("newer", 3), "apiVersion": "evenspread.io/v1"}
    path = "/apis/evenspread.io/v1/spreadpolicies"
    try:
        until(lambda: api.request("POST", path, made).status == 201, "the kind to be served")
        texts = "SpreadPolicy 'newer': apiVersion: cannot be 'evenspread.io/v1'"
        until(
            lambda: any(texts in line.get("message", "") for line in replicas[0].lines),
            "a log line",
            patience_s=DISCOVERY_S,
        )
        assert skews(control_plane, namespace) == []
    finally:
        api.delete(crd)
        until(lambda: api.request("GET", path).status == 404, "the kind to be gone")
