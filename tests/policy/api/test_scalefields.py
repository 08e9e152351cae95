"""Replicas and update strategies that kube-apiserver refuses, in its words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy import kinds
from webhook.policy.api.scalefields import find_scale_errors
from webhook.policy.kinds import DEPLOYMENT, ROLLOUT, STATEFUL_SET
from webhook.policy.model import GroupKind

Json = dict[str, Any]
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%'): "
)
ROLLING = "spec.strategy.rollingUpdate."
UPDATE = "spec.updateStrategy."


def rolling(**limits: Any) -> Json:
    return {"strategy": {"rollingUpdate": limits}}


def updating(**members: Any) -> Json:
    return {"updateStrategy": {"rollingUpdate": members}}


# kind, specification, field, message
ERRORS: dict[str, tuple[GroupKind, Json, str, str]] = {
    "a string": (
        DEPLOYMENT, {"replicas": "3"}, "spec.replicas",
        'the string "3" is no int32: write 3, without quotes',
    ),
    "another string": (
        kinds.REPLICA_SET, {"replicas": "x"}, "spec.replicas",
        'the string "x" is no int32: write an integer',
    ),
    "a fraction": (
        ROLLOUT, {"replicas": 2.5}, "spec.replicas",
        "the number 2.5 is no int32: write an integer",
    ),
    "a boolean": (
        DEPLOYMENT, {"replicas": True}, "spec.replicas",
        "the boolean true is no int32: write an integer",
    ),
    "too many": (
        DEPLOYMENT, {"replicas": 2**31}, "spec.replicas",
        "the number 2147483648 is no int32: write at most 2147483647",
    ),
    "a negative number": (
        kinds.REPLICATION_CONTROLLER, {"replicas": -3}, "spec.replicas",
        "Invalid value: -3: must be greater than or equal to 0: write 0 or more",
    ),
    "a strategy that is an array": (
        DEPLOYMENT, {"strategy": []}, "spec.strategy",
        "an array is no object: write its fields, or remove it",
    ),
    "an unknown type": (
        DEPLOYMENT, {"strategy": {"type": "Foo"}}, "spec.strategy.type",
        'Unsupported value: "Foo": supported values: "Recreate", "RollingUpdate"',
    ),
    "a type that is no string": (
        DEPLOYMENT, {"strategy": {"type": 1}}, "spec.strategy.type",
        "the number 1 is no string: write Recreate or RollingUpdate",
    ),
    "limits of Recreate": (
        DEPLOYMENT, {"strategy": {"type": "Recreate", "rollingUpdate": {}}}, ROLLING[:-1],
        "Forbidden: may not be specified when strategy `type` is 'Recreate': remove it",
    ),
    "a percentage without its sign": (
        DEPLOYMENT, rolling(maxSurge="25"), f"{ROLLING}maxSurge",
        f'Invalid value: "25": {PERCENT}write 25 or "25%"',
    ),
    "a fraction of a percent": (
        DEPLOYMENT, rolling(maxSurge="10.5%"), f"{ROLLING}maxSurge",
        f'Invalid value: "10.5%": {PERCENT}write 1 or "25%"',
    ),
    "more digits than fit": (
        DEPLOYMENT, rolling(maxUnavailable=f"{'9' * 5000}%"), f"{ROLLING}maxUnavailable",
        f'Invalid value: "{"9" * 5000}%": must not be greater than 100%: write at most "100%"',
    ),
    "more than all": (
        DEPLOYMENT, rolling(maxUnavailable="150%"), f"{ROLLING}maxUnavailable",
        'Invalid value: "150%": must not be greater than 100%: write at most "100%"',
    ),
    "a negative surge": (
        DEPLOYMENT, rolling(maxSurge=-1), f"{ROLLING}maxSurge",
        "Invalid value: -1: must be greater than or equal to 0: write 0 or more",
    ),
    "an array": (
        DEPLOYMENT, rolling(maxUnavailable=[1]), f"{ROLLING}maxUnavailable",
        "an array is no int32: write an integer",
    ),
    "no pod may be moved": (
        DEPLOYMENT, rolling(maxSurge=0, maxUnavailable="0%"), f"{ROLLING}maxUnavailable",
        'Invalid value: "0%": may not be 0 when `maxSurge` is 0: write 1, or maxSurge: 1',
    ),
    "a negative partition": (
        STATEFUL_SET, updating(partition=-1), f"{UPDATE}rollingUpdate.partition",
        "Invalid value: -1: must be greater than or equal to 0: write 0 or more",
    ),
    "a partition in quotes": (
        STATEFUL_SET, updating(partition="1"), f"{UPDATE}rollingUpdate.partition",
        'the string "1" is no int32: write 1, without quotes',
    ),
    "no pod of a StatefulSet": (
        STATEFUL_SET, updating(maxUnavailable=0), f"{UPDATE}rollingUpdate.maxUnavailable",
        "Invalid value: 0: cannot be 0: write 1 or more",
    ),
    "the strategy of a Deployment": (
        STATEFUL_SET, {"updateStrategy": {"type": "Recreate"}}, f"{UPDATE}type",
        'Unsupported value: "Recreate": supported values: "RollingUpdate", "OnDelete"',
    ),
    "a partition of OnDelete": (
        STATEFUL_SET, {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}},
        f"{UPDATE}rollingUpdate",
        "Forbidden: only allowed for updateStrategy 'RollingUpdate': remove it",
    ),
    "the first ordinal": (
        STATEFUL_SET, {"ordinals": {"start": -1}}, "spec.ordinals.start",
        "Invalid value: -1: must be greater than or equal to 0: write 0 or more",
    ),
    "a limit of a Rollout": (
        ROLLOUT, {"strategy": {"canary": {"maxSurge": 1.5}}}, "spec.strategy.canary.maxSurge",
        "the number 1.5 is no int32: write an integer",
    ),
    "a canary": (
        ROLLOUT, {"strategy": {"canary": []}}, "spec.strategy.canary",
        "an array is no object: write its fields, or remove it",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "spec", "field", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_what_is_refused(kind: GroupKind, spec: Json, field: str, message: str) -> None:
    assert list(find_scale_errors(kind, {"spec": spec})) == [(field, message)]


ACCEPTED: dict[str, tuple[GroupKind, Json]] = {
    "nothing": (DEPLOYMENT, {}),
    "nulls": (DEPLOYMENT, {"replicas": None, "strategy": None}),
    "an empty type": (DEPLOYMENT, {"strategy": {"type": ""}}),
    "no replicas": (STATEFUL_SET, {"replicas": 0}),
    "a large surge": (DEPLOYMENT, rolling(maxSurge="150%", maxUnavailable=0)),
    "no surge": (DEPLOYMENT, rolling(maxSurge=0)),
    "Recreate": (DEPLOYMENT, {"strategy": {"type": "Recreate"}}),
    "OnDelete": (STATEFUL_SET, {"updateStrategy": {"type": "OnDelete"}}),
    "a partition": (STATEFUL_SET, updating(partition=2, maxUnavailable="50%")),
    "a Rollout, which its controller judges": (
        ROLLOUT, {"replicas": -1, "strategy": {"canary": {"maxSurge": "25"}}}
    ),
    "another kind": (kinds.JOB, {"replicas": "3"}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "spec"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_is_accepted(kind: GroupKind, spec: Json) -> None:
    assert list(find_scale_errors(kind, {"spec": spec})) == []


def test_the_limit_of_a_stateful_set_is_dropped_without_its_gate() -> None:
    spec = {"spec": updating(maxUnavailable="x")}

    assert list(find_scale_errors(STATEFUL_SET, spec, has_set_limit=False)) == []
    assert len(list(find_scale_errors(STATEFUL_SET, spec))) == 2


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda items: st.lists(items, max_size=2) | st.dictionaries(st.text(), items, max_size=2),
    max_leaves=4,
)


@given(values)
def test_any_value_can_be_read(value: Any) -> None:
    for kind in (DEPLOYMENT, STATEFUL_SET, ROLLOUT):
        for spec in (value, {"replicas": value}, {"strategy": value, "updateStrategy": value}):
            list(find_scale_errors(kind, {"spec": spec}))
        list(find_scale_errors(kind, {"spec": rolling(maxSurge=value) | updating(partition=value)}))
