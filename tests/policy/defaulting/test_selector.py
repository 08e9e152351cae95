from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    default,
    owned_by,
    pod,
    requirement,
    selector,
    template,
)
from webhook.policy.api.rules import ValidationOptions, check
from webhook.policy.defaulting.selector import (
    MOST_SOURCES,
    SMALL,
    derive_scheduler_selector,
    derive_selector,
)
from webhook.policy.facts import ServiceSelector
from webhook.policy.model import LabelSelector, LabelSelectorRequirement, PodTemplate
from webhook.policy.selectors import matches

LABELS = {"app": "web", "env": "prod"}


def cluster(*services: Mapping[str, str], **owners: LabelSelector) -> FakeFacts:
    """A cluster with Services s0, s1, … and owners by kind, all named web-54f7."""
    versions = {"ReplicationController": "v1", "Rollout": "example.io/v1"}
    return FakeFacts(
        services_of={
            NAMESPACE: [ServiceSelector(f"s{i}", dict(pairs)) for i, pairs in enumerate(services)],
            "elsewhere": [ServiceSelector("other", {"app": "web"})],
        },
        owners={
            (NAMESPACE, versions.get(kind, "apps/v1"), kind, "web-54f7"): found
            for kind, found in owners.items()
        },
    )


def contradicting(value: str) -> LabelSelectorRequirement:
    return requirement("app", "In", value)


Case = tuple[FakeFacts, str, LabelSelector | None, tuple[str, ...]]

CASES: dict[str, Case] = {
    "from nothing comes nothing": (cluster(), "ReplicaSet", None, ()),
    "Services join their pairs, sorted by key": (
        cluster({"env": "prod"}, {"app": "web"}),
        "",
        selector(app="web", env="prod"),
        ("Service/s0", "Service/s1"),
    ),
    "a Service of other pods adds nothing": (cluster({"app": "db"}), "", None, ()),
    "a Service of all pods adds nothing": (cluster({}), "", None, ()),
    "a Service that adds nothing is no source": (
        cluster({}, {"app": "web"}),
        "",
        selector(app="web"),
        ("Service/s1",),
    ),
    "an owner is joined": (
        cluster({"env": "prod"}, ReplicaSet=selector(requirement("x", "Exists"), app="web")),
        "ReplicaSet",
        selector(requirement("x", "Exists"), app="web", env="prod"),
        ("Service/s0", "ReplicaSet/web-54f7"),
    ),
    "an owner need not select the pod": (
        cluster(StatefulSet=selector(app="db")),
        "StatefulSet",
        selector(app="db"),
        ("StatefulSet/web-54f7",),
    ),
    "a contradiction stands in both": (
        cluster({"app": "web"}, ReplicaSet=selector(app="db")),
        "ReplicaSet",
        selector(contradicting("web"), app="db"),
        ("Service/s0", "ReplicaSet/web-54f7"),
    ),
    "an agreement stands once": (
        cluster({"app": "web"}, ReplicaSet=selector(app="web")),
        "ReplicaSet",
        selector(app="web"),
        ("Service/s0", "ReplicaSet/web-54f7"),
    ),
    "expressions stand once": (
        cluster(ReplicaSet=selector(*[requirement("a", "Exists")] * 2)),
        "ReplicaSet",
        selector(requirement("a", "Exists")),
        ("ReplicaSet/web-54f7",),
    ),
    "a ReplicationController's pairs replace those of Services": (
        cluster({"app": "web", "env": "prod"}, ReplicationController=selector(app="db")),
        "ReplicationController",
        selector(app="db", env="prod"),
        ("Service/s0", "ReplicationController/web-54f7"),
    ),
    "an owner that selects all adds nothing": (
        cluster(ReplicaSet=selector()),
        "ReplicaSet",
        None,
        (),
    ),
    "an owner of a custom kind is joined like others": (
        cluster({"app": "web"}, Rollout=selector(app="db")),
        "Rollout",
        selector(contradicting("web"), app="db"),
        ("Service/s0", "Rollout/web-54f7"),
    ),
}


def owned(kind: str) -> PodTemplate:
    return template(pod(labels=LABELS, owner=owned_by(kind) if kind else None))


@pytest.mark.parametrize(("facts", "kind", "expected", "sources"), CASES.values(), ids=CASES.keys())
def test_a_selector_is_gathered(
    facts: FakeFacts, kind: str, expected: LabelSelector | None, sources: tuple[str, ...]
) -> None:
    derived = derive_selector(owned(kind), NAMESPACE, facts)

    assert (derived.selector if derived else None) == expected
    assert (derived.expressions if derived else ()) == (
        expected.match_expressions if expected else ()
    )
    assert (derived.sources if derived else ()) == sources


@pytest.mark.parametrize(("facts", "kind"), [case[:2] for case in CASES.values()], ids=CASES.keys())
def test_kube_scheduler_knows_no_owner_of_a_custom_kind(facts: FakeFacts, kind: str) -> None:
    known = "" if kind == "Rollout" else kind

    derived = derive_scheduler_selector(owned(kind), NAMESPACE, facts)

    assert derived == derive_selector(owned(known), NAMESPACE, facts)


def test_a_custom_kind_may_be_called_replication_controller() -> None:
    """Only that of the core API has a map, whose pairs replace those of Services."""
    owner = owned_by("ReplicationController", apiVersion="example.io/v1")
    facts = FakeFacts(
        services_of={NAMESPACE: [ServiceSelector("s0", {"app": "web"})]},
        owners={
            (NAMESPACE, "example.io/v1", "ReplicationController", "web-54f7"): selector(
                requirement("x", "Exists"), app="db"
            )
        },
    )

    derived = derive_selector(template(pod(labels=LABELS, owner=owner)), NAMESPACE, facts)

    assert derived is not None
    assert derived.selector == selector(contradicting("web"), requirement("x", "Exists"), app="db")


def test_an_owner_that_is_no_controller_is_not_looked_up() -> None:
    owner = owned_by("ReplicaSet", controller=False)
    facts = cluster(ReplicaSet=selector(app="web"))

    assert derive_selector(template(pod(owner=owner)), NAMESPACE, facts) is None


def test_a_pod_without_metadata_has_no_owner() -> None:
    assert derive_selector(PodTemplate(), NAMESPACE, cluster({"app": "web"})) is None


def test_a_selector_is_the_same_bytes_whatever_the_order_of_its_sources() -> None:
    services = cluster({"env": "prod"}, {"app": "web"}, ReplicaSet=selector(env="x", app="y"))

    derived = derive_selector(owned("ReplicaSet"), NAMESPACE, services)

    assert derived is not None
    assert derived.pairs == (("app", "y"), ("env", "x"))
    assert [item.key for item in derived.expressions] == ["app", "env"]


def test_a_selector_of_many_expressions_is_not_small() -> None:
    many = [requirement(f"key-{i}", "Exists") for i in range(SMALL)]
    derived = derive_selector(
        owned("ReplicaSet"), NAMESPACE, cluster(ReplicaSet=selector(*many, app="web"))
    )

    assert derived is not None
    assert not derived.is_small


def test_the_keys_of_a_selector_are_those_it_contains() -> None:
    facts = cluster({"app": "web"}, ReplicaSet=selector(requirement("x", "Exists"), app="web"))

    derived = derive_selector(owned("ReplicaSet"), NAMESPACE, facts)

    assert derived is not None
    assert derived.keys == {"app", "x"}


Predicate = Callable[[Mapping[str, str]], bool]


def default_selector(obj: Json, facts: FakeFacts) -> Predicate | None:
    """
    What kube-scheduler's ``DefaultSelector`` selects, written down from its description alone.

    None if it is empty.
    """
    own: dict[str, str] = obj["metadata"]["labels"]
    merged: dict[str, str] = {}
    for service in facts.services_of[NAMESPACE]:
        if service.selector.items() <= own.items():
            merged |= service.selector
    (owner,) = obj["metadata"].get("ownerReferences") or [None]
    found = None
    if owner:
        named = (NAMESPACE, owner["apiVersion"], owner["kind"], owner["name"])
        found = facts.owners.get(named)
    if found and owner and owner["kind"] == "ReplicationController":
        merged |= found.match_labels
        found = None
    if not merged and (not found or found == LabelSelector()):
        return None

    def selects(labels: Mapping[str, str]) -> bool:
        return merged.items() <= labels.items() and (not found or holds(found, labels))

    return selects


def holds(found: LabelSelector, labels: Mapping[str, str]) -> bool:
    return found.match_labels.items() <= labels.items() and all(
        {
            "In": labels.get(match_expression.key) in match_expression.values,
            "NotIn": labels.get(match_expression.key) not in match_expression.values,
            "Exists": match_expression.key in labels,
            "DoesNotExist": match_expression.key not in labels,
        }[match_expression.operator]
        for match_expression in found.match_expressions
    )


owners = st.none() | st.builds(
    owned_by,
    st.sampled_from(["ReplicaSet", "StatefulSet", "ReplicationController", "Job"]),
    st.just("web"),
)
owned_pods = st.builds(
    lambda labels, owner: pod(labels=labels, owner=owner), strategies.labels, owners
)


@given(owned_pods, strategies.clusters(), st.lists(strategies.labels, min_size=20, max_size=40))
def test_the_selector_selects_exactly_what_the_scheduler_s_would(
    obj: Json, facts: FakeFacts, others: list[dict[str, str]]
) -> None:
    expected = default_selector(obj, facts)

    derived = derive_selector(template(obj), NAMESPACE, facts)

    assert (derived is None) == (expected is None)
    if derived and expected:
        for labels in [*others, obj["metadata"]["labels"]]:
            assert matches(derived.selector, labels) == expected(labels)


@given(owned_pods, strategies.clusters())
def test_the_selector_is_valid_in_a_pod(obj: Json, facts: FakeFacts) -> None:
    derived = derive_selector(template(obj), NAMESPACE, facts)

    if derived:
        constraints = (default(label_selector=derived.selector),)
        assert check(constraints, "", ValidationOptions(merged=False)) == []
        assert check(constraints, "", ValidationOptions(merged=True)) == []
        assert hash(derived) == hash(derive_selector(template(obj), NAMESPACE, facts))


@pytest.mark.parametrize(("more", "rest"), [(0, ()), (1, ("1 more",)), (2, ("2 more",))])
def test_the_sources_of_a_selector_are_limited(more: int, rest: tuple[str, ...]) -> None:
    facts = cluster(*[{"app": "web"}] * (MOST_SOURCES + more))
    derived = derive_selector(template(pod(labels=LABELS)), NAMESPACE, facts)

    assert derived is not None
    assert derived.sources[:2] == ("Service/s0", "Service/s1")
    assert derived.sources[MOST_SOURCES:] == rest


@pytest.mark.parametrize(("pairs", "is_small"), [(SMALL, True), (SMALL + 1, False)])
def test_a_selector_is_small_up_to_a_number_of_pairs(pairs: int, *, is_small: bool) -> None:
    labels = {f"key-{i}": "x" for i in range(pairs)}
    derived = derive_selector(template(pod(labels=labels)), NAMESPACE, cluster(labels))

    assert derived is not None
    assert derived.is_small is is_small
