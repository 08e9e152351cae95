"""Constraints of a template that running pods have."""

import msgspec
import pytest

from tests.build import Json, spread
from tests.policy.advice.subjects import running
from webhook.policy.advice.carriedconstraints import carries_constraint
from webhook.policy.model import HOSTNAME, Constraint

HOST = spread(topologyKey=HOSTNAME)
SOFT = "ScheduleAnyway"
BY_APP = spread(matchLabelKeys=["app"])
MERGED = spread(
    matchLabelKeys=["app"],
    labelSelector={
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}],
    },
)
MISSPELLED: Json = {"matchLabels": {"app": "wbe"}}

# constraint of the template, those of the running pods, whether these have it
CARRIED: dict[str, tuple[Json, tuple[Json, ...], bool]] = {
    "the same": (spread(), (HOST, spread()), True),
    "its selector completed by kube-apiserver": (BY_APP, (MERGED,), True),
    "a selector of other pods": (spread(), (spread(labelSelector=MISSPELLED),), False),
    "no selector": (spread(), (spread(labelSelector=None),), False),
    "none": (spread(), (), False),
    "another maxSkew": (spread(), (spread(maxSkew=3),), False),
    "a soft one": (spread(), (spread(whenUnsatisfiable=SOFT),), False),
    "another key": (spread(), (HOST,), False),
    "another node inclusion policy": (spread(nodeTaintsPolicy="Honor"), (spread(),), False),
    "the default node inclusion policies": (
        spread(nodeAffinityPolicy="Honor", nodeTaintsPolicy="Ignore"), (spread(),), True
    ),
    "another number of domains": (spread(minDomains=2), (spread(),), False),
    "other labels of each pod": (spread(matchLabelKeys=["app"]), (spread(),), False),
}  # fmt: skip


@pytest.mark.parametrize(("written", "constraints", "has"), CARRIED.values(), ids=CARRIED.keys())
def test_whether_pods_have_a_constraint(
    written: Json, constraints: tuple[Json, ...], has: bool
) -> None:
    pods = running("a1", constraints=constraints)

    assert carries_constraint(pods, msgspec.convert(written, Constraint)) is has
