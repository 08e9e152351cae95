"""Replicas, parallelism and update strategies that kube-apiserver refuses, in its words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.api.fieldcases import (
    ACCEPTED_JOBS,
    ACCEPTED_STRATEGIES,
    JOBS,
    NOT_NEGATIVE,
    NUMBERS,
    STRATEGIES,
    Json,
    RefusedSpec,
    rolling,
    updating,
)
from webhook.policy import kinds
from webhook.policy.api.scalefields import find_scale_errors
from webhook.policy.kinds import DEPLOYMENT, ROLLOUT, STATEFUL_SET
from webhook.policy.model import GroupKind

# in addition to those that a real kube-apiserver judges
ERRORS: dict[str, RefusedSpec] = {
    "a string": RefusedSpec(
        DEPLOYMENT, {"replicas": "3"},
        [("spec.replicas", 'the string "3" is no int32: write 3, without quotes')],
    ),
    "a negative number of a ReplicationController": RefusedSpec(
        kinds.REPLICATION_CONTROLLER, {"replicas": -3},
        [("spec.replicas", f"Invalid value: -3: {NOT_NEGATIVE}")],
    ),
    "a fraction": RefusedSpec(
        ROLLOUT, {"replicas": 2.5},
        [("spec.replicas", "the number 2.5 is no int32: write an integer")],
    ),
    "a limit of a Rollout": RefusedSpec(
        ROLLOUT, {"strategy": {"canary": {"maxSurge": 1.5}}},
        [("spec.strategy.canary.maxSurge", "the number 1.5 is no int32: write an integer")],
    ),
    "another limit of a Rollout": RefusedSpec(
        ROLLOUT, {"strategy": {"canary": {"maxUnavailable": {}}}},
        [("spec.strategy.canary.maxUnavailable", "an object is no int32: write an integer")],
    ),
    "a policy that Go formats as JSON": RefusedSpec(
        STATEFUL_SET, {"podManagementPolicy": "<a>"},
        [
            (
                "spec.podManagementPolicy",
                (
                    'Invalid value: "\\u003ca\\u003e": must be '
                    "'OrderedReady' or 'Parallel': write OrderedReady, or remove it"
                ),
            )
        ],
    ),
    "an array of limits": RefusedSpec(
        DEPLOYMENT, {"strategy": {"rollingUpdate": [1]}},
        [("spec.strategy.rollingUpdate", "an array is no object: write its fields, or remove it")],
    ),
    "a canary": RefusedSpec(
        ROLLOUT, {"strategy": {"canary": []}},
        [("spec.strategy.canary", "an array is no object: write its fields, or remove it")],
    ),
    "a Job of a CronJob": RefusedSpec(
        kinds.CRON_JOB, {"jobTemplate": {"spec": {"completions": -1}}},
        [("spec.jobTemplate.spec.completions", f"Invalid value: -1: {NOT_NEGATIVE}")],
    ),
}  # fmt: skip
REFUSED = NUMBERS | STRATEGIES | JOBS | ERRORS


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(case: RefusedSpec) -> None:
    assert list(find_scale_errors(case.kind, {"spec": case.spec})) == case.errors


OTHERS: dict[str, tuple[GroupKind, Json]] = {
    "nothing": (DEPLOYMENT, {}),
    "nulls": (DEPLOYMENT, {"replicas": None, "strategy": None}),
    "no replicas": (STATEFUL_SET, {"replicas": 0}),
    "a policy": (STATEFUL_SET, {"podManagementPolicy": "Parallel"}),
    "no policy": (STATEFUL_SET, {"podManagementPolicy": ""}),
    "a Rollout, which its controller judges": (
        ROLLOUT, {"replicas": -1, "strategy": {"canary": {"maxSurge": "25"}}}
    ),
    "another kind": (kinds.JOB, {"replicas": "3"}),
    "a JobSet": (kinds.JOB_SET, {"parallelism": -1}),
}  # fmt: skip
ACCEPTED = ACCEPTED_STRATEGIES | ACCEPTED_JOBS | OTHERS


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
    for kind in (DEPLOYMENT, STATEFUL_SET, ROLLOUT, kinds.DAEMON_SET, kinds.JOB):
        for spec in (value, {"replicas": value}, {"strategy": value, "updateStrategy": value}):
            list(find_scale_errors(kind, {"spec": spec}))
        list(find_scale_errors(kind, {"spec": rolling(maxSurge=value) | updating(partition=value)}))


@pytest.mark.parametrize(
    "kind", [DEPLOYMENT, kinds.REPLICA_SET, kinds.REPLICATION_CONTROLLER, STATEFUL_SET]
)
def test_every_kind_with_replicas_is_checked(kind: GroupKind) -> None:
    (error,) = find_scale_errors(kind, {"spec": {"replicas": -1}})

    assert error == ("spec.replicas", f"Invalid value: -1: {NOT_NEGATIVE}")
