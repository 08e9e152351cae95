"""Exceptions in force: seen at once by all replicas, in their namespace alone, until their end."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests.certs.world import real_clock
from tests.controlplane.api import Json, Reply
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.customkinds import definition as lenient
from tests.e2e.exceptions import defined, definition, path, policy_exception
from tests.e2e.objects import LONG, constraints, rounds, service, workload
from tests.e2e.replica import Registered, Replica, by_url
from webhook.__main__ import main
from webhook.policy.policyexceptions import MOST_EXCEPTIONS

CHANGES = rounds(5, 50)
SEEN_S = 2.0  # in the long form; alone it takes 20 ms
DISCOVERY_S = 180.0  # while a kind is absent, servers look for it every half minute
HOOKED = {"evenspread.test/exceptions": "yes"}
REPLICAS = ("first", "second")
KIND = "SpreadPolicyException.evenspread.io"

CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
rules: {TSC101: deny}
profiles:
- name: strict
  match: {objectSelector: {matchLabels: {profile: strict}}}
  exemptible: false
  rules: {TSC101: {exemptible: false}}
  defaultConstraints:
  - {maxSkew: 7, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
- name: cluster
  defaultConstraints:
  - {maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""

ELSEWHERE: Json = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": "other"}},
}
"""A constraint that selects none of the pods: TSC101."""


@pytest.fixture(scope="module")
def kind(control_plane: ControlPlane) -> Iterator[ExitStack]:
    """The definition of the chart; a test may close the stack to remove it."""
    with ExitStack() as stack:
        stack.enter_context(defined(control_plane))
        yield stack


@pytest.fixture(scope="module")
def replicas(
    control_plane: ControlPlane, kind: ExitStack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Replica]]:
    """Two servers with a clock of the tests; the label ``replica`` of objects chooses one."""
    del kind
    own = control_plane.create_namespace()
    with ExitStack() as stack:
        started = []
        for name in REPLICAS:
            settings = {"namespace": own, "replica": name}
            folder, kubeconfig = tmp_path_factory.mktemp(name), control_plane.apiserver.kubeconfig
            replica = Replica(folder, kubeconfig, CONFIG, **settings)
            replica.control_clock()
            started.append(stack.enter_context(replica))
        for name, one in zip(REPLICAS, started, strict=True):
            made = by_url(one.wait(), f"exceptions-{name}", HOOKED)
            for configuration in made:
                for hook in configuration["webhooks"]:
                    hook["objectSelector"] = {"matchLabels": {"replica": name}}
            stack.enter_context(Registered(control_plane, made))
        yield started


@pytest.fixture
def namespace(control_plane: ControlPlane, replicas: list[Replica]) -> str:
    del replicas
    made = control_plane.create_namespace(HOOKED)
    control_plane.api.create(service("all", made, {"app": "web"}))
    return made


@pytest.fixture
def other(control_plane: ControlPlane, namespace: str) -> str:
    """Another namespace."""
    del namespace
    made = control_plane.create_namespace(HOOKED)
    control_plane.api.create(service("all", made, {"app": "web"}))
    return made


def tried(plane: ControlPlane, obj: Json, replica: str) -> Reply:
    """A dry run by one replica."""
    obj["metadata"]["labels"] = {**obj["metadata"].get("labels", {}), "replica": replica}
    return plane.api.request("POST", plane.api.collection_of(obj), obj, query={"dryRun": "All"})


def skews(plane: ControlPlane, namespace: str, replica: str = "first", **labels: str) -> list[int]:
    """The skews of the defaults that a new pod gets from one replica."""
    pod = workload("Pod", "web", namespace, {"app": "web", **labels})
    return [item["maxSkew"] for item in constraints(tried(plane, pod, replica).body)]


def has_skews(
    plane: ControlPlane, namespace: str, expected: list[int], replica: str = "first"
) -> bool:
    return skews(plane, namespace, replica) == expected


def is_denied(plane: ControlPlane, namespace: str, replica: str = "first", **labels: str) -> bool:
    """Whether a Deployment that breaks TSC101 is denied by one replica."""
    obj = workload(
        "Deployment", "web", namespace, {"app": "web", **labels},
        topologySpreadConstraints=[ELSEWHERE],
    )  # fmt: skip
    reply = tried(plane, obj, replica)
    assert reply.status in (201, 422), reply.body
    return reply.status == 422


def change(plane: ControlPlane, namespace: str, name: str, **spec: Any) -> None:
    reply = plane.api.request(
        "PATCH",
        f"{path(namespace)}/{name}",
        {"spec": spec},
        content_type="application/merge-patch+json",
    )
    assert reply.status == 200, reply.body


def test_a_change_is_seen_by_all_replicas_at_once(
    control_plane: ControlPlane, namespace: str
) -> None:
    late = list[float]()
    made = policy_exception("changing", namespace, defaults=True)
    control_plane.api.create(made)
    for replica in REPLICAS:
        until(partial(has_skews, control_plane, namespace, [], replica), "the exception")
    for number in range(CHANGES):
        is_exempt = number % 2 == 1
        changed = time.monotonic()
        change(control_plane, namespace, "changing", defaults=is_exempt)
        for replica in REPLICAS:
            expected = [] if is_exempt else [3]
            until(partial(has_skews, control_plane, namespace, expected, replica), "the change")
        late.append(time.monotonic() - changed)
    control_plane.api.delete(made)
    until(lambda: skews(control_plane, namespace) == [3], "the exception to be gone")
    print(f"{CHANGES} changes, the latest seen by both replicas after {max(late):.3f} s")
    assert not LONG or max(late) < SEEN_S


def test_only_the_pods_that_it_selects_in_its_own_namespace_are_exempt(
    control_plane: ControlPlane, namespace: str, other: str
) -> None:
    selector = {"matchLabels": {"app": "web", "tier": "old"}}
    control_plane.api.create(
        policy_exception("old", namespace, defaults=True, rules=["TSC101"], selector=selector)
    )
    until(lambda: skews(control_plane, namespace, tier="old") == [], "the exception")

    assert not is_denied(control_plane, namespace, tier="old")
    assert skews(control_plane, namespace) == [3]
    assert is_denied(control_plane, namespace)
    assert skews(control_plane, other, tier="old") == [3]
    assert is_denied(control_plane, other, tier="old")


def test_it_has_no_effect_where_the_operator_forbids_it(
    control_plane: ControlPlane, replicas: list[Replica], namespace: str
) -> None:
    control_plane.api.create(
        policy_exception("all", namespace, defaults=True, rules=["TSC101", "TSC110"])
    )
    until(lambda: skews(control_plane, namespace) == [], "the exception")

    assert not is_denied(control_plane, namespace)
    assert skews(control_plane, namespace, profile="strict") == [7]
    assert is_denied(control_plane, namespace, profile="strict")
    counted = partial(replicas[0].metric, "rule_findings_total", rule="TSC101", action="exempt")
    before = counted()
    obj = workload(
        "Deployment", "web", namespace, {"app": "web"}, topologySpreadConstraints=[ELSEWHERE]
    )
    obj["metadata"]["labels"] = {"replica": "first"}
    control_plane.api.create(obj)
    until(lambda: counted() > before, "the exemption to be counted")


def in_an_hour() -> str:
    return (real_clock() + timedelta(hours=1)).isoformat(timespec="seconds")


def test_it_ends_without_a_change_and_audits_of_the_cluster_list_it(
    control_plane: ControlPlane,
    replicas: list[Replica],
    namespace: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hour, over = in_an_hour(), "2020-01-31T00:00:00Z"
    api, ends = control_plane.api, policy_exception("ends", namespace, defaults=True, expires=hour)
    for made in (ends, policy_exception("over", namespace, expires=over, reason="a\nb")):
        api.create(made)
    for replica in REPLICAS:
        until(partial(has_skews, control_plane, namespace, [], replica), "the exception")

    kubeconfig = str(control_plane.apiserver.kubeconfig)
    command = ["audit", "--kubeconfig", kubeconfig, "-n", namespace]
    assert main([*command, "-o", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["exceptions"]
    assert [(one["name"], one["expired"], one["defaults"]) for one in listed] == [
        ("ends", False, True),
        ("over", True, False),
    ]
    assert main(command) == 0
    written = capsys.readouterr().out
    assert f"SpreadPolicyException {namespace}/ends  until " in written
    assert f"SpreadPolicyException {namespace}/over  expired {over}" in written
    assert r"exempts from TSC110: a\nb" in written

    for one in replicas:
        one.set_clock(2 * 3600)
    try:
        for replica in REPLICAS:
            until(partial(has_skews, control_plane, namespace, [3], replica), "the end")
    finally:
        for one in replicas:
            one.set_clock(0)


def test_of_many_exceptions_the_first_count_and_other_namespaces_do_not_notice(
    control_plane: ControlPlane, replicas: list[Replica], namespace: str, other: str
) -> None:
    api = control_plane.api
    name = f"{'z' * 240}.last"
    api.create(policy_exception(name, namespace, defaults=True))
    until(lambda: skews(control_plane, namespace) == [], "the exception")
    for number in range(MOST_EXCEPTIONS):
        api.create(policy_exception(f"a-{number:03}", namespace))
    until(lambda: skews(control_plane, namespace) == [3], "the limit")
    skipped = partial(
        replicas[0].metric, "objects_skipped_total", kind=KIND, reason="namespace-size"
    )
    until(lambda: skipped() >= 1, "the limit to be reported")
    api.create(policy_exception("only", other, defaults=True))
    until(lambda: skews(control_plane, other) == [], "an exception elsewhere")

    api.delete(policy_exception("a-000", namespace))
    until(lambda: skews(control_plane, namespace) == [], "the last exception to count again")


def stripped() -> Json:
    """A definition without a schema, as another tool may have installed it."""
    made = definition()
    made["spec"] = lenient("evenspread.io", "SpreadPolicyException", "spreadpolicyexceptions")[
        "spec"
    ]
    return made


def test_of_one_that_cannot_be_read_the_version_before_it_counts(
    control_plane: ControlPlane, replicas: list[Replica], kind: ExitStack, namespace: str
) -> None:
    kind.close()
    api = control_plane.api
    with defined(control_plane, stripped()):
        api.create(policy_exception("kept", namespace, defaults=True))
        api.create(policy_exception("broken", namespace, rules=["TSC999"]))
        for replica in REPLICAS:
            exempt = partial(has_skews, control_plane, namespace, [], replica)
            until(exempt, "the valid exception", patience_s=DISCOVERY_S)

        change(control_plane, namespace, "kept", expires="tomorrow")
        for one in replicas:
            until(partial(is_named, one, "kept"), "a log line")
            until(partial(is_named, one, "broken"), "a log line")
        for replica in REPLICAS:
            assert skews(control_plane, namespace, replica) == []
        assert replicas[0].metric("objects_skipped_total", kind=KIND, reason="shape") >= 2
        event = until(lambda: find_event(control_plane, f"{namespace}/broken"), "an Event")
        assert event["type"] == "Warning"
        assert '"TSC999" is no policy rule: write some of TSC101' in event["message"]

        change(control_plane, namespace, "kept", expires="2020-01-31T00:00:00Z")
        until(lambda: skews(control_plane, namespace) == [3], "the fixed version, which has ended")
    until(
        lambda: "0 objects" in cache_line(replicas[0]),
        "the kind to be gone",
        patience_s=DISCOVERY_S,
    )


def is_named(replica: Replica, name: str) -> bool:
    return any(
        line["event"] == "skipped" and (line["kind"], line["name"]) == (KIND, name)
        for line in replica.lines
    )


def cache_line(replica: Replica) -> str:
    lines = replica.page("/readyz?verbose").splitlines()
    return next(line for line in lines if KIND in line)


def find_event(plane: ControlPlane, named: str) -> Json | None:
    events = plane.api.items("v1", "Event")
    return next(
        (
            item
            for item in events
            if item["reason"] == "SpreadPolicyExceptionSkipped" and f" {named}: " in item["message"]
        ),
        None,
    )
