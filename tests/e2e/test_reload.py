"""The configuration changes while calls come, and no call is lost."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.customkinds import define, definition
from tests.e2e.dryruns import DryRunLoad, try_creation
from tests.e2e.objects import LONG, constraints, controlled_by, rounds, workload
from tests.e2e.replica import CONFIG, POLL_S, Registered, Replica, by_url

CHANGES = rounds(10, 100)
SLACK_S = 3.0  # in the long form; alone it takes 20 ms

OWNER = """
ownerSelectors:
- {group: evenspread.test, kind: Fleet, selectorPath: spec.pods.selector}
"""
OTHER = {"evenspread.test/reloaded": "yes"}


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    return control_plane.create_namespace(OTHER)


@pytest.fixture
def follower(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Replica]:
    """A server of its own, called for the namespaces of this test."""
    plane = control_plane
    settings = {"namespace": namespace}
    with Replica(tmp_path, plane.apiserver.kubeconfig, CONFIG, **settings) as started:
        started.wait()
        with Registered(plane, by_url(started, "follower", OTHER)):
            yield started


def skewed(skew: int) -> str:
    return CONFIG.replace("maxSkew: 3", f"maxSkew: {skew}")


def a_pod(namespace: str, owner: Json) -> Json:
    pod = workload("Pod", "web", namespace, {"app": "web"})
    pod["metadata"]["ownerReferences"] = [controlled_by(owner)]
    return pod


def test_changes_under_load_lose_no_call_and_are_seen_at_once(
    control_plane: ControlPlane, follower: Replica, namespace: str
) -> None:
    owner = control_plane.api.create(workload("ReplicaSet", "web", namespace, {"app": "web"}))
    pod, late = a_pod(namespace, owner), list[float]()
    load = DryRunLoad(control_plane, pod)
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(load.run) for _ in range(2)]
        try:
            for skew in range(10, 10 + CHANGES):
                changed = time.monotonic()
                follower.configure(skewed(skew))
                until(partial(load.has_seen, skew), f"a skew of {skew}")
                late.append(time.monotonic() - changed)
                follower.configure(f"{skewed(skew)}\nmode: sometimes\n")
        finally:
            load.enough.set()
        for task in running:
            task.result()

    assert load.failed == []
    assert follower.metric("config_reloads_total", result="success") >= CHANGES
    assert not LONG or max(late) < POLL_S + SLACK_S


def test_a_bad_version_is_reported_in_log_metric_and_event(
    control_plane: ControlPlane, follower: Replica, namespace: str
) -> None:
    api = control_plane.api
    follower.configure(f"{CONFIG}\nmode: sometimes\n")

    event = until(
        lambda: next(
            (
                event
                for event in api.items("v1", "Event", namespace)
                if event["reason"] == "ConfigurationInvalid"
            ),
            None,
        ),
        "an Event",
    )

    assert event["type"] == "Warning"
    assert event["involvedObject"]["kind"] == "Deployment"
    assert event["involvedObject"]["name"] == "evenspread"
    assert "config.yaml:" in event["message"]
    assert "the old configuration stays in force" in event["message"]
    assert follower.metric("config_valid") == 0
    assert follower.metric("config_reloads_total", result="failure") == 1
    (line,) = [line for line in follower.lines if line["event"] == "reload"]
    assert (line["level"], line["result"]) == ("error", "failure")
    readiness = follower.page("/readyz?verbose")
    assert "[+]configuration degraded: " in readiness
    assert "UTC stays in force" in readiness

    follower.configure(CONFIG)
    until(lambda: follower.metric("config_valid") == 1, "the configuration to be valid again")


HELD_BACK = f"""{CONFIG}
featureGates:
  MatchLabelKeysInPodTopologySpread: false
  MatchLabelKeysInPodTopologySpreadSelectorMerge: false
"""


def test_a_field_is_held_back_and_given_back_without_a_restart(
    control_plane: ControlPlane, follower: Replica, namespace: str
) -> None:
    pod = workload("Pod", "web", namespace, {"app": "web"})
    pod["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
            "matchLabelKeys": ["pod-template-hash"],
        }
    ]

    def keeps_the_field() -> bool:
        return "matchLabelKeys" in constraints(try_creation(control_plane, pod).body)[0]

    assert keeps_the_field()

    follower.configure(HELD_BACK)
    until(lambda: not keeps_the_field(), "the field to be held back")

    follower.configure(CONFIG)
    until(keeps_the_field, "the field to be given back")


def test_a_custom_kind_that_is_added_is_followed(
    control_plane: ControlPlane, follower: Replica, namespace: str
) -> None:
    api, made = control_plane.api, definition("evenspread.test", "Fleet", "fleets")
    define(control_plane, made)
    fleet = api.create(
        {
            "apiVersion": "evenspread.test/v1alpha1",
            "kind": "Fleet",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"pods": {"selector": {"matchLabels": {"app": "web"}}}},
        }
    )
    pod = a_pod(namespace, fleet)
    load = DryRunLoad(control_plane, pod)
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(load.run) for _ in range(2)]
        try:
            until(lambda: len(load.replies) > 10, "calls")
            before = [constraints(reply.body) for reply in load.replies]
            follower.configure(CONFIG + OWNER)
            until(lambda: constraints(load.replies[-1].body), "defaults")
            follower.configure(CONFIG)
            until(lambda: not constraints(load.replies[-1].body), "no defaults again")
        finally:
            load.enough.set()
        for task in running:
            task.result()
    api.delete(made)

    assert load.failed == []
    assert before == [[]] * len(before)
    until(lambda: not follower.metric("cache_synced", kind="Fleet.evenspread.test"), "its end")
