"""The extension points at which a profile of kube-scheduler disables PodTopologySpread."""

from typing import Any

import pytest

from webhook.config.schedulerplugins import drop_disabled
from webhook.policy.model import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, Constraint

HARD = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable=DO_NOT_SCHEDULE)
SOFT = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable=SCHEDULE_ANYWAY)
BOTH = (HARD, SOFT)
ALL_POINTS = "preFilter and filter and preScore and score"

OURS = [{"name": "PodTopologySpread"}]
EVERY = [{"name": "*"}]
OTHER = [{"name": "NodeAffinity"}]


def disabled(*points: str, by: Any = OURS) -> dict[str, Any]:
    return {point: {"disabled": by} for point in points}


# plugins, the constraints that remain, the points that are disabled
PLUGINS: dict[str, tuple[Any, tuple[Constraint, ...], str]] = {
    "none": (None, BOTH, ""),
    "others": (disabled("multiPoint", "score", by=OTHER), BOTH, ""),
    "everywhere": (disabled("multiPoint"), (), ALL_POINTS),
    "every plugin": (disabled("multiPoint", by=EVERY), (), ALL_POINTS),
    "every plugin, and then ours enabled": (
        {"multiPoint": {"disabled": EVERY, "enabled": OURS}}, BOTH, ""
    ),
    "disabled and enabled again, to change its weight": (
        {"multiPoint": {"disabled": OURS, "enabled": OURS}}, BOTH, ""
    ),
    "when scoring": (disabled("score"), (HARD,), "score"),
    "before scoring": (disabled("preScore"), (HARD,), "preScore"),
    "every plugin when scoring": (disabled("score", by=EVERY), (HARD,), "score"),
    "when filtering": (disabled("filter", "preFilter"), (SOFT,), "preFilter and filter"),
    "everywhere, and enabled when scoring": (
        disabled("multiPoint") | {"preScore": {"enabled": OURS}, "score": {"enabled": OURS}},
        (SOFT,),
        "preFilter and filter",
    ),
    "at a point, and enabled there with another weight": (
        {"score": {"disabled": EVERY, "enabled": OURS}}, BOTH, ""
    ),
    "everywhere at once and at a point": (
        {"multiPoint": {"enabled": OURS}} | disabled("score"), (HARD,), "score"
    ),
    "at a point that does not matter": (disabled("reserve"), BOTH, ""),
    "a list of a wrong type": ([1], BOTH, ""),
    "entries of wrong types": (disabled("score", by=[1, {"name": 2}, "*"]), BOTH, ""),
}  # fmt: skip


@pytest.mark.parametrize(("plugins", "kept", "points"), PLUGINS.values(), ids=PLUGINS.keys())
def test_constraints_of_disabled_points_are_dropped(
    plugins: Any, kept: tuple[Constraint, ...], points: str
) -> None:
    assert drop_disabled(BOTH, plugins) == (kept, points)


@pytest.mark.parametrize("constraints", [(), (HARD,)])
def test_points_that_would_have_no_effect_are_not_named(
    constraints: tuple[Constraint, ...],
) -> None:
    assert drop_disabled(constraints, disabled("score")) == (constraints, "")
