from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from webhook.policy.defaulting.effective import IneffectiveProfile
from webhook.policy.defaulting.policystatus import (
    ACCEPTED,
    EFFECTIVE,
    MOST_MESSAGE_CHARS,
    PolicyCounts,
    PolicyFacts,
    PolicyStatus,
    StatusCondition,
    compute_status,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
COUNTS = PolicyCounts(12, 1, 0)
VALID = PolicyFacts(generation=3, namespaces=4, counts=COUNTS)
EARLIER = IneffectiveProfile("web", ("all",))
NOTHING = IneffectiveProfile("web", selector="objectSelector")
FOREIGN = StatusCondition("Synced", "True", 1, "2026-01-01T00:00:00Z", "Synced", "by GitOps")


def conditions(status: PolicyStatus) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in status.conditions}


def test_a_policy_in_force_has_both_conditions_and_all_numbers() -> None:
    status = compute_status(VALID, None, NOON)

    assert msgspec.json.decode(msgspec.json.encode(status)) == {
        "observedGeneration": 3,
        "conditions": [
            {
                "type": "Accepted",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-03-01T12:00:00Z",
                "reason": "Valid",
                "message": "the policy is valid",
            },
            {
                "type": "Effective",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-03-01T12:00:00Z",
                "reason": "InForce",
                "message": "new pods that it matches get its defaults",
            },
        ],
        "matchedNamespaces": 4,
        "podsWithDefaults": 12,
        "unevenWorkloads": 1,
        "pendingPods": 0,
    }


@pytest.mark.parametrize(
    ("members", "accepted", "effective"),
    [
        ({}, ("True", "Valid"), ("True", "InForce")),
        ({"recommends": True}, ("True", "Valid"), ("True", "Recommends")),
        ({"problem": "spec: bad"}, ("False", "Invalid"), ("True", "InForce")),
        (
            {"problem": "spec: bad", "in_force": False},
            ("False", "Invalid"),
            ("False", "NotAccepted"),
        ),
        ({"conflict": "taken"}, ("True", "Valid"), ("False", "NameTaken")),
        (
            {"problem": "spec: bad", "conflict": "taken"},
            ("False", "Invalid"),
            ("False", "NameTaken"),
        ),
        ({"ineffective": EARLIER}, ("True", "Valid"), ("False", "EarlierProfileApplies")),
        ({"ineffective": NOTHING}, ("True", "Valid"), ("False", "SelectorMatchesNothing")),
        (
            {"ineffective": EARLIER, "recommends": True},
            ("True", "Valid"),
            ("False", "EarlierProfileApplies"),
        ),
    ],
)
def test_conditions(
    members: dict[str, Any], accepted: tuple[str, str], effective: tuple[str, str]
) -> None:
    status = compute_status(replace(VALID, **members), None, NOON)

    assert conditions(status) == {ACCEPTED: accepted, EFFECTIVE: effective}


@pytest.mark.parametrize(
    ("members", "accepted", "effective"),
    [
        (
            {"problem": "spec.a: bad\nspec.b: worse"},
            "spec.a: bad; spec.b: worse; the version before it stays in force",
            "new pods that it matches get its defaults",
        ),
        (
            {"problem": "spec: bad", "in_force": False},
            "spec: bad; it is not used",
            "no version of the policy can be read",
        ),
        ({"conflict": "taken"}, "the policy is valid", "taken"),
        (
            {"ineffective": EARLIER},
            "the policy is valid",
            "applies to no pod, as profile 'all' before it fits every pod that it fits",
        ),
        (
            {"ineffective": NOTHING},
            "the policy is valid",
            "applies to no pod, as no labels satisfy match.objectSelector",
        ),
    ],
)
def test_messages(members: dict[str, Any], accepted: str, effective: str) -> None:
    status = compute_status(replace(VALID, **members), None, NOON)

    assert [one.message for one in status.conditions] == [accepted, effective]


def test_a_long_message_keeps_its_end() -> None:
    facts = replace(VALID, problem="x" * 5000)

    message = compute_status(facts, None, NOON).conditions[0].message

    assert len(message) == MOST_MESSAGE_CHARS
    assert message.endswith("x...; the version before it stays in force")
    assert (
        len(compute_status(replace(VALID, conflict="y" * 5000), None, NOON).conditions[1].message)
        == MOST_MESSAGE_CHARS
    )


def test_the_time_of_a_condition_changes_only_with_its_status() -> None:
    first = compute_status(VALID, None, NOON)
    invalid = replace(VALID, generation=4, problem="spec: bad")

    second = compute_status(invalid, first, LATER)
    third = compute_status(replace(invalid, problem="other"), second, LATER + timedelta(hours=1))

    times = [
        [one.last_transition_time for one in status.conditions] for status in (first, second, third)
    ]
    assert times == [
        ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"],
        ["2026-03-01T13:00:00Z", "2026-03-01T12:00:00Z"],
        ["2026-03-01T13:00:00Z", "2026-03-01T12:00:00Z"],
    ]
    assert [one.observed_generation for one in third.conditions] == [4, 4]


def test_times_are_in_utc() -> None:
    status = compute_status(VALID, None, NOON.astimezone(timezone(timedelta(hours=5))))

    assert status.conditions[0].last_transition_time == "2026-03-01T12:00:00Z"


def test_a_condition_without_a_time_gets_one() -> None:
    before = PolicyStatus(conditions=(StatusCondition(ACCEPTED, "True"),))

    status = compute_status(VALID, before, NOON)

    assert status.conditions[0].last_transition_time == "2026-03-01T12:00:00Z"


def test_conditions_of_other_clients_stay_in_their_place() -> None:
    accepted = StatusCondition(ACCEPTED, "Unknown")
    before = PolicyStatus(conditions=(FOREIGN, accepted))

    status = compute_status(VALID, before, NOON)

    assert [one.type for one in status.conditions] == ["Synced", ACCEPTED, EFFECTIVE]
    assert status.conditions[0] == FOREIGN


@pytest.mark.parametrize(
    ("facts", "counts", "namespaces"),
    [
        (VALID, COUNTS, 4),
        (replace(VALID, namespaces=None), COUNTS, None),
        (replace(VALID, counts=PolicyCounts()), PolicyCounts(), 4),
        (replace(VALID, counts=PolicyCounts(), keeps_counts=True), PolicyCounts(7, 7, 7), 4),
        (replace(VALID, conflict="taken", keeps_counts=True), PolicyCounts(), None),
        (replace(VALID, problem="bad", in_force=False), COUNTS, None),
        (replace(VALID, problem="bad"), COUNTS, 4),
    ],
)
def test_a_number_that_is_not_known_is_absent(
    facts: PolicyFacts, counts: PolicyCounts, namespaces: int | None
) -> None:
    before = PolicyStatus(
        pods_with_defaults=7, uneven_workloads=7, pending_pods=7, matched_namespaces=7
    )

    status = compute_status(facts, before, NOON)

    assert asdict(status).items() >= asdict(counts).items()
    assert status.matched_namespaces == namespaces


@pytest.mark.parametrize(
    ("status", "ours"),
    [
        (PolicyStatus(), False),
        (PolicyStatus(conditions=(FOREIGN,)), False),
        (compute_status(VALID, None, NOON), True),
    ],
)
def test_a_status_shows_whether_a_server_wrote_it(status: PolicyStatus, ours: bool) -> None:
    assert status.is_ours is ours


numbers = st.none() | st.integers(0, 9)
counts_of = st.builds(PolicyCounts, numbers, numbers, numbers)
facts_of = st.builds(
    PolicyFacts,
    generation=st.integers(1, 5),
    problem=st.sampled_from(["", "spec: bad", "a\nb"]),
    in_force=st.booleans(),
    conflict=st.sampled_from(["", "taken"]),
    ineffective=st.sampled_from([None, EARLIER, NOTHING]),
    recommends=st.booleans(),
    namespaces=numbers,
    counts=counts_of,
    keeps_counts=st.booleans(),
)
histories = st.lists(facts_of, min_size=1, max_size=8)


@given(histories)
def test_random_histories(history: list[PolicyFacts]) -> None:
    """Each status says the newest facts, a time changes with a status, and nothing else writes."""
    now = NOON
    status: PolicyStatus | None = None
    for facts in history:
        before, now = status, now + timedelta(minutes=1)
        status = compute_status(facts, before, now)

        assert compute_status(facts, status, now + timedelta(days=1)) == status
        assert status.observed_generation == facts.generation
        assert conditions(status)[ACCEPTED][0] == ("False" if facts.problem else "True")
        for condition in status.conditions:
            former = before.conditions if before is not None else ()
            old = next((one for one in former if one.type == condition.type), None)
            is_same = old is not None and old.status == condition.status
            expected = old.last_transition_time if old and is_same else f"{now:%Y-%m-%dT%H:%M:%SZ}"
            assert condition.last_transition_time == expected
            assert condition.reason.isalpha()


@given(histories)
def test_a_status_is_the_same_after_json(history: list[PolicyFacts]) -> None:
    status: PolicyStatus | None = None
    for facts in history:
        status = compute_status(facts, status, NOON)
    data = msgspec.json.encode(status)

    assert msgspec.json.decode(data, type=PolicyStatus) == status
