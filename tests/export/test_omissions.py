import pytest

from tests.build import FakeFacts, default, gates, policy, profile
from webhook.export.omissions import describe_policy, describe_profile
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import (
    SYSTEM_CONSTRAINTS,
    FieldDefaults,
    Mode,
    Policy,
    Profile,
    ScaleDown,
)
from webhook.policy.model import ZONE, Node

ZONED = Node("a", {ZONE: "z"})
SYSTEM = profile(constraints=SYSTEM_CONSTRAINTS, system=True)
ALWAYS = ["pods of other controllers", "selectors", "exceptions", "provenance"]
QUIET = FieldDefaults.NONE


@pytest.mark.parametrize(
    ("described", "nodes", "words"),
    [
        (profile(), (), ()),
        (profile(mode=Mode.RECOMMEND), (), ("mode recommend: has no binding",)),
        (profile(complete_selectors=True), (), ("completeSelectors has no effect",)),
        (profile(scale_down=ScaleDown.KEEP_SPREAD), (), ("KeepSpread has no effect",)),
        (profile(owner_kinds=frozenset({"Job"})), (), ("has no policy: match.ownerKinds names",)),
        (profile(constraints=()), (), ("has no policy: it has no constraints",)),
        (SYSTEM, (), ("has no policy: System defaults",)),
        (SYSTEM, (ZONED, Node("b", {})), ("has no zone constraint, because 1 of 2 Nodes lack",)),
        (SYSTEM, (ZONED,), ("has the zone constraint, because all 1 Nodes",)),
    ],
)
def test_a_profile_is_described(
    described: Profile, nodes: tuple[Node, ...], words: tuple[str, ...]
) -> None:
    found = list(describe_profile(described, "", FakeFacts(nodes=nodes)))

    assert [one.subject for one in found] == ["profile 'cluster'"] * len(words)
    assert all(word in one.reason for word, one in zip(words, found, strict=True))


def test_a_hidden_profile_has_no_policy() -> None:
    (found,) = describe_profile(profile(complete_selectors=True), "first", FakeFacts())

    assert str(found) == (
        "profile 'cluster': has no policy: the earlier profile 'first' fits all of its pods"
    )


@pytest.mark.parametrize(
    ("described", "subjects"),
    [
        (policy(field_defaults=QUIET), ALWAYS),
        (policy(field_defaults=FieldDefaults.ALL), [*ALWAYS[:3], "fieldDefaults all", ALWAYS[3]]),
        (policy(field_defaults=QUIET, mode=Mode.RECOMMEND), ["mode recommend", *ALWAYS]),
        (policy(field_defaults=QUIET, gates=gates(Version(1, 35))), ["Kubernetes 1.35", *ALWAYS]),
    ],
)
def test_a_policy_is_described(described: Policy, subjects: list[str]) -> None:
    found = describe_policy(described, is_exported=True)

    assert [one.subject for one in found] == subjects


def test_nothing_is_said_about_policies_that_are_not_exported() -> None:
    assert list(describe_policy(policy(profile(constraints=(default(),))), is_exported=False)) == []


def test_a_gate_switches_the_export_off() -> None:
    off = policy(gates=gates(EvenspreadDefaults=False))

    (found,) = describe_policy(off, is_exported=False)

    assert found.reason == "no profile is exported, because EvenspreadDefaults is off"
