import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from tests import strategies
from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    constraint,
    default,
    gates,
    owned_by,
    pod,
    policy,
    profile,
    requirement,
    selector,
    spread,
    template,
)
from tests.policy.situations import ADDING, DEFAULTS, SYSTEM, WEB
from webhook.policy.defaulting.inject import Injection, SkipReason, complete_selectors, inject
from webhook.policy.defaulting.profiles import Merge, Policy
from webhook.policy.defaulting.selector import SMALL, derive_selector
from webhook.policy.facts import ServiceSelector
from webhook.policy.model import HOSTNAME, MAX_CONSTRAINTS, ZONE, Constraint, LabelSelector, Node


def injected(injection: Injection) -> tuple[Constraint, ...]:
    """What is injected, as it is written."""
    return tuple(msgspec.json.decode(entry.written, type=Constraint) for entry in injection.entries)


APP = selector(app="web")
SOFT_ZONE = constraint(when_unsatisfiable="ScheduleAnyway", label_selector=APP)
SOFT_NODE = replace(SOFT_ZONE, topology_key=HOSTNAME, max_skew=2)

Case = tuple[Json, Policy, tuple[Constraint, ...]]

INJECTED: dict[str, Case] = {
    "all of the profile, in its order": (pod(), DEFAULTS, (SOFT_ZONE, SOFT_NODE)),
    "only keys that the pod does not mention": (pod(spread()), ADDING, (SOFT_NODE,)),
    "both actions of one key": (
        pod(),
        policy(
            profile(constraints=(default(), default(when_unsatisfiable="DoNotSchedule"))),
        ),
        (SOFT_ZONE, replace(SOFT_ZONE, when_unsatisfiable="DoNotSchedule")),
    ),
    "every field of the profile": (
        pod(),
        policy(
            profile(
                constraints=(
                    default(
                        when_unsatisfiable="DoNotSchedule",
                        min_domains=3,
                        node_affinity_policy="Honor",
                        node_taints_policy="Honor",
                    ),
                )
            )
        ),
        (
            constraint(
                min_domains=3,
                node_affinity_policy="Honor",
                node_taints_policy="Honor",
                label_selector=APP,
            ),
        ),
    ),
    "nothing that a gate holds back": (
        pod(),
        policy(
            profile(constraints=(default(node_taints_policy="Honor"),)),
            gates=gates(NodeInclusionPolicyInPodTopologySpread=False),
        ),
        (SOFT_ZONE,),
    ),
    "keys that the selector does not pin": (
        pod(),
        policy(profile(constraints=(default(match_label_keys=("app", "pod-template-hash")),))),
        (replace(SOFT_ZONE, match_label_keys=("pod-template-hash",)),),
    ),
}


@pytest.mark.parametrize(("obj", "in_force", "expected"), INJECTED.values(), ids=INJECTED.keys())
def test_a_pod_is_given(obj: Json, in_force: Policy, expected: tuple[Constraint, ...]) -> None:
    injection = inject(template(obj), NAMESPACE, in_force, WEB)

    assert injected(injection) == expected
    assert injection.keys == tuple(entry.topology_key for entry in expected)
    assert injection.profile == "cluster"


def node(*, zone: bool, unschedulable: bool = False) -> Node:
    return Node("n", {ZONE: "a"} if zone else {}, unschedulable=unschedulable)


ZONES: dict[str, tuple[list[Node], list[str], bool]] = {
    "every node has a zone": ([node(zone=True)], [HOSTNAME, ZONE], False),
    "there are no nodes": ([], [HOSTNAME, ZONE], False),
    "a node lacks a zone": ([node(zone=True), node(zone=False)], [HOSTNAME], True),
    "a cordoned node lacks a zone": (
        [node(zone=True), node(zone=False, unschedulable=True)],
        [HOSTNAME, ZONE],
        False,
    ),
}


@pytest.mark.parametrize(("nodes", "keys", "left_out"), ZONES.values(), ids=ZONES.keys())
def test_system_spreads_over_zones_unless(
    nodes: list[Node], keys: list[str], left_out: bool
) -> None:
    injection = inject(template(pod()), NAMESPACE, policy(SYSTEM), replace_nodes(nodes))

    assert list(injection.keys) == keys
    assert injection.zone_left_out is left_out


def replace_nodes(nodes: list[Node]) -> FakeFacts:
    """A cluster whose Service selects the pod, with these nodes."""
    return FakeFacts(services_of=WEB.services_of, nodes=nodes)


def test_nothing_is_annotated_if_the_zone_is_all_that_there_was() -> None:
    system = replace(SYSTEM, constraints=(default(),))

    injection = inject(
        template(pod()), NAMESPACE, policy(system), replace_nodes([node(zone=False)])
    )

    assert (injection.skip, injection.entries) == (SkipReason.NOTHING_TO_ADD, ())
    assert injection.annotation == ""


class WithoutNamespaces(FakeFacts):
    """Facts of a server that follows no Namespaces."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        raise LookupError(namespace)


def test_a_profile_without_a_namespace_selector_looks_up_no_namespace() -> None:
    known = WithoutNamespaces(services_of=WEB.services_of)

    assert inject(template(pod()), NAMESPACE, DEFAULTS, known).skip is SkipReason.NONE


def test_pods_of_one_controller_share_one_injection() -> None:
    first, second = (inject(template(pod()), NAMESPACE, DEFAULTS, WEB) for _ in range(2))

    assert first is second


def test_an_injection_of_a_large_selector_is_not_shared() -> None:
    labels = {f"key-{number}": "x" for number in range(SMALL + 1)}
    known = FakeFacts(services_of={NAMESPACE: [ServiceSelector("s", labels)]})
    created = template(pod(labels=labels))

    first, second = (inject(created, NAMESPACE, DEFAULTS, known) for _ in range(2))

    assert first is not second
    assert (first.is_small, first.skip) == (False, SkipReason.NONE)


def test_injections_compare_by_identity_and_cannot_change() -> None:
    injection = Injection(skip=SkipReason.NONE)

    assert injection != Injection(skip=SkipReason.NONE)
    with pytest.raises(AttributeError, match="immutable"):
        injection.profile = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Injection(SkipReason.NONE)  # type: ignore[call-arg]


def test_a_zone_that_the_pod_has_itself_is_not_left_out() -> None:
    system = replace(SYSTEM, merge=Merge.PER_TOPOLOGY_KEY)

    injection = inject(
        template(pod(spread())), NAMESPACE, policy(system), replace_nodes([node(zone=False)])
    )

    assert injection.keys == (HOSTNAME,)
    assert not injection.zone_left_out


def test_nothing_is_left_of_system_without_zones() -> None:
    system = replace(SYSTEM, merge=Merge.PER_TOPOLOGY_KEY)
    own = template(pod(spread(topologyKey=HOSTNAME)))

    injection = inject(own, NAMESPACE, policy(system), replace_nodes([node(zone=False)]))

    assert injection.skip is SkipReason.NOTHING_TO_ADD
    assert injection.zone_left_out


@pytest.mark.parametrize(("room", "added"), [(2, (ZONE, HOSTNAME)), (1, ())])
def test_a_list_does_not_become_longer_than_may_be(room: int, added: tuple[str, ...]) -> None:
    own = [spread(topologyKey=f"rack-{i}") for i in range(MAX_CONSTRAINTS - room)]

    assert inject(template(pod(*own)), NAMESPACE, ADDING, WEB).keys == added


def test_a_profile_of_ours_spreads_over_zones_that_some_nodes_lack() -> None:
    injection = inject(template(pod()), NAMESPACE, DEFAULTS, replace_nodes([node(zone=False)]))

    assert injection.keys == (ZONE, HOSTNAME)


def test_what_was_injected_is_found_again_and_wanted_still() -> None:
    first = inject(template(pod()), NAMESPACE, DEFAULTS, WEB)
    written = [json.loads(bytes(entry.written)) for entry in first.entries]

    again = inject(
        template(pod(*written, annotations={"evenspread.io/defaults": first.annotation})),
        NAMESPACE,
        DEFAULTS,
        WEB,
    )

    assert list(again.previous.values()) == [entry.digest for entry in first.entries]
    assert again.entries == first.entries
    assert again.annotation == first.annotation


def test_defaults_are_applied_after_the_constraints_of_others_and_once() -> None:
    first = inject(template(pod(spread(topologyKey="rack"))), NAMESPACE, ADDING, WEB)
    own = template(pod(spread(topologyKey="rack"))).constraints

    applied = first.applied_to(own)
    assert applied[:1] == own
    assert [entry.topology_key for entry in applied[1:]] == list(first.keys)
    assert all(entry.label_selector == selector(app="web") for entry in applied)
    assert replace(first, previous={0: "old"}).applied_to(own) == applied[1:]
    in_place = dict(enumerate((entry.digest for entry in first.entries), start=1))
    assert replace(first, previous=in_place).applied_to(applied) is applied


NULL, EMPTY = constraint(label_selector=None), constraint(label_selector=selector())
PINNED = constraint(label_selector=None, match_label_keys=("app",))
KEYED = constraint(label_selector=None, match_label_keys=("env",))

COMPLETED: dict[str, tuple[Constraint, LabelSelector | None]] = {
    "a null selector": (NULL, APP),
    "no empty one": (EMPTY, selector()),
    "no other one": (constraint(label_selector=selector(x="y")), selector(x="y")),
    "none beside a key that it would name": (PINNED, None),
    "one beside another key": (KEYED, APP),
}


@pytest.mark.parametrize(("created", "expected"), COMPLETED.values(), ids=COMPLETED.keys())
def test_completing_fills_in(created: Constraint, expected: LabelSelector | None) -> None:
    completed = complete_selectors((created, NULL), template(pod()), NAMESPACE, WEB)

    assert [entry.label_selector for entry in completed] == [expected, APP]


def test_nothing_is_completed_if_nothing_selects_the_pod() -> None:
    assert complete_selectors((NULL,), template(pod()), NAMESPACE, FakeFacts()) == (NULL,)


def test_a_pod_s_owner_is_named_as_a_source() -> None:
    known = FakeFacts(
        services_of={
            NAMESPACE: [ServiceSelector("b", {"app": "web"}), ServiceSelector("a", {"app": "web"})]
        },
        owners={(NAMESPACE, "apps/v1", "ReplicaSet", "web-54f7"): selector(app="web")},
    )

    injection = inject(template(pod(owner=owned_by())), NAMESPACE, DEFAULTS, known)

    recorded: dict[str, Any] = json.loads(injection.annotation)
    assert recorded["selectorFrom"] == ["Service/a", "Service/b", "ReplicaSet/web-54f7"]


@given(strategies.situations)
def test_every_injected_constraint_selects_what_was_derived(
    situation: tuple[Json, Policy, FakeFacts],
) -> None:
    obj, in_force, known = situation
    created = template(obj)

    injection = inject(created, NAMESPACE, in_force, known)

    derived = derive_selector(created, NAMESPACE, known)
    for entry in injected(injection):
        assert derived is not None
        assert entry.label_selector == derived.selector
        assert derived.keys.isdisjoint(entry.match_label_keys)


@given(strategies.situations)
def test_defaults_never_repeat_a_key_of_the_pod_s_own(
    situation: tuple[Json, Policy, FakeFacts],
) -> None:
    obj, in_force, known = situation
    created = template(obj)

    injection = inject(created, NAMESPACE, in_force, known)

    own = {
        entry.topology_key
        for i, entry in enumerate(created.constraints)
        if i not in injection.previous
    }
    assert own.isdisjoint(injection.keys)
    assert bool(injection.entries) == (injection.skip is SkipReason.NONE)


def test_a_contradicting_owner_makes_a_selector_that_matches_nothing() -> None:
    known = FakeFacts(
        services_of=WEB.services_of,
        owners={(NAMESPACE, "apps/v1", "ReplicaSet", "web-54f7"): selector(app="db")},
    )

    injection = inject(template(pod(owner=owned_by())), NAMESPACE, DEFAULTS, known)

    (one, _) = injected(injection)
    assert one.label_selector == selector(requirement("app", "In", "web"), app="db")


def test_nothing_is_injected_by_default() -> None:
    nothing = Injection(skip=SkipReason.NO_PROFILE)

    assert (nothing.profile, nothing.annotation) == ("", "")
    assert not nothing.zone_left_out
    assert nothing.is_small
