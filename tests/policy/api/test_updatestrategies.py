"""Update strategies that kube-apiserver refuses, in its words."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.api.fieldcases import (
    ACCEPTED_STRATEGIES,
    ROLLING,
    STRATEGIES,
    UNKNOWN_TYPES,
    UPDATE,
    Json,
    RefusedSpec,
    rolling,
    updating,
)
from webhook.policy.api import updatestrategies
from webhook.policy.api.valuechecks import RefusedField
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import GroupKind

NO_OBJECT = "an array is no object: write its fields, or remove it"

# in addition to those that a real kube-apiserver judges
OTHERS: dict[str, RefusedSpec] = {
    "an array": RefusedSpec(DEPLOYMENT, {"strategy": []}, [("spec.strategy", NO_OBJECT)]),
    "an array of a DaemonSet": RefusedSpec(
        DAEMON_SET, {"updateStrategy": []}, [(UPDATE[:-1], NO_OBJECT)]
    ),
    "an array of limits": RefusedSpec(
        DAEMON_SET, {"updateStrategy": {"rollingUpdate": []}},
        [(f"{UPDATE}rollingUpdate", NO_OBJECT)],
    ),
    "a type that is no string": RefusedSpec(
        DEPLOYMENT, {"strategy": {"type": 1}},
        [("spec.strategy.type", "the number 1 is no string: write Recreate or RollingUpdate")],
    ),
    "a negative surge": RefusedSpec(
        DEPLOYMENT, rolling(maxSurge=-1),
        [(
            f"{ROLLING}maxSurge",
            "Invalid value: -1: must be greater than or equal to 0: write 0 or more",
        )],
    ),
    "a surge that is an array": RefusedSpec(
        DAEMON_SET, updating(maxSurge=[1]),
        [(f"{UPDATE}rollingUpdate.maxSurge", "an array is no int32: write an integer")],
    ),
    "no pod of a StatefulSet": RefusedSpec(
        STATEFUL_SET, updating(maxUnavailable=0),
        [(
            f"{UPDATE}rollingUpdate.maxUnavailable",
            "Invalid value: 0: cannot be 0: write 1 or more",
        )],
    ),
    "a partition in quotes": RefusedSpec(
        STATEFUL_SET, updating(partition="1"),
        [(
            f"{UPDATE}rollingUpdate.partition",
            'the string "1" is no int32: write 1, without quotes',
        )],
    ),
    "a partition of OnDelete": RefusedSpec(
        STATEFUL_SET, {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}},
        [(
            f"{UPDATE}rollingUpdate",
            "Forbidden: only allowed for updateStrategy 'RollingUpdate': remove it",
        )],
    ),
}  # fmt: skip
REFUSED = STRATEGIES | UNKNOWN_TYPES | OTHERS


def check(kind: GroupKind, spec: Json, *, has_limit: bool = True) -> Iterator[RefusedField]:
    if kind == DEPLOYMENT:
        return updatestrategies.check_deployment(spec.get("strategy"))
    if kind == DAEMON_SET:
        return updatestrategies.check_daemon_set(spec.get("updateStrategy"))
    written = spec.get("updateStrategy")
    return updatestrategies.check_stateful_set(written, has_limit=has_limit)


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(case: RefusedSpec) -> None:
    assert list(check(case.kind, case.spec)) == case.errors


@pytest.mark.parametrize(
    ("kind", "spec"), ACCEPTED_STRATEGIES.values(), ids=ACCEPTED_STRATEGIES.keys()
)
def test_what_is_accepted(kind: GroupKind, spec: Json) -> None:
    assert list(check(kind, spec)) == []


@pytest.mark.parametrize("kind", [DEPLOYMENT, STATEFUL_SET, DAEMON_SET])
def test_what_is_absent_is_accepted(kind: GroupKind) -> None:
    assert list(check(kind, {})) == []


def test_the_limit_of_a_stateful_set_is_dropped_without_its_gate() -> None:
    spec = updating(maxUnavailable="x")

    assert list(check(STATEFUL_SET, spec, has_limit=False)) == []
    assert len(list(check(STATEFUL_SET, spec))) == 2


LIMITS = st.none() | st.integers(-1, 2) | st.sampled_from(["0%", "00%", "5%", "100%", "101%", "x"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda items: st.lists(items, max_size=2) | st.dictionaries(st.text(), items, max_size=2),
    max_leaves=4,
)


@given(LIMITS, LIMITS)
def test_exactly_one_limit_of_a_daemon_set_is_not_zero(unavailable: Any, surge: Any) -> None:
    errors = list(check(DAEMON_SET, updating(maxUnavailable=unavailable, maxSurge=surge)))

    allowed = (None, 0, 1, 2, "0%", "00%", "5%", "100%")
    zeros = (0, "0%", "00%")
    if not errors:
        assert unavailable in allowed
        assert surge in allowed
        assert (unavailable in zeros) != (surge in (None, *zeros))


@given(values)
def test_any_value_can_be_read(value: Any) -> None:
    for kind in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET):
        list(check(kind, {"strategy": value, "updateStrategy": value}))
        list(check(kind, rolling(maxSurge=value) | updating(partition=value, maxSurge=value)))
        list(check(kind, {"updateStrategy": {"type": value}}))
