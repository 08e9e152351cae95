"""The limits of rollouts, as they are written for each kind."""

import pytest

from tests.build import Json, kind_of
from tests.policy.advice.subjects import ROLLOUT, subject, workload
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT_CONFIG, STATEFUL_SET
from webhook.policy.rolloutlimits import DOUBLING, RolloutLimits

LIMITS: dict[str, tuple[Json, RolloutLimits | None]] = {
    "a Deployment": (workload(), RolloutLimits("25%", "25%")),
    "numbers": (
        workload(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}),
        RolloutLimits(0, 2),
    ),
    "recreate": (workload(strategy={"type": "Recreate"}), None),
    "a canary": (
        workload(kind=ROLLOUT, strategy={"canary": {"maxSurge": 3}}), RolloutLimits(3, "25%")
    ),
    "a traffic router": (
        workload(kind=ROLLOUT, strategy={"canary": {"trafficRouting": {}}}), DOUBLING
    ),
    "a traffic router, and fewer stable pods with each step": (
        workload(
            kind=ROLLOUT, strategy={"canary": {"trafficRouting": {}, "dynamicStableScale": True}}
        ),
        None,
    ),
    "a DeploymentConfig": (
        workload(kind=DEPLOYMENT_CONFIG, strategy={"rollingParams": {"maxUnavailable": 0}}),
        RolloutLimits("25%", 0),
    ),
    "a DeploymentConfig with a strategy of its own": (
        workload(kind=DEPLOYMENT_CONFIG, strategy={"type": "Custom"}), None
    ),
    "a Rollout without a strategy": (workload(kind=ROLLOUT, strategy={}), None),
    "no traffic router": (
        workload(kind=ROLLOUT, strategy={"canary": {"trafficRouting": None}}),
        RolloutLimits("25%", "25%"),
    ),
    "blue and green": (workload(kind=ROLLOUT, strategy={"blueGreen": {}}), DOUBLING),
    "a DaemonSet": (workload(kind=DAEMON_SET), RolloutLimits(0, 1)),
    "a DaemonSet with a surge": (
        workload(kind=DAEMON_SET, updateStrategy={"rollingUpdate": {"maxSurge": 1}}),
        RolloutLimits(1, 1),
    ),
    "a DaemonSet on delete": (
        workload(kind=DAEMON_SET, updateStrategy={"type": "OnDelete"}), None
    ),
    "a StatefulSet": (workload(kind=STATEFUL_SET), RolloutLimits(0, 1)),
    "a StatefulSet with missing pods": (
        workload(kind=STATEFUL_SET, updateStrategy={"rollingUpdate": {"maxUnavailable": "9%"}}),
        RolloutLimits(0, "9%"),
    ),
    "a StatefulSet on delete": (
        workload(kind=STATEFUL_SET, updateStrategy={"type": "OnDelete"}), None
    ),
}  # fmt: skip


@pytest.mark.parametrize(("written", "expected"), LIMITS.values(), ids=LIMITS.keys())
def test_limits_of_rollouts(written: Json, expected: RolloutLimits | None) -> None:
    custom = kind_of(written) in (ROLLOUT, DEPLOYMENT_CONFIG)
    path = ("spec", "template") if custom else None

    assert subject(written, path).limits == expected
