"""A forecast in one sentence."""

from typing import Any

import pytest
from msgspec.structs import replace

from webhook.explain.keynames import SHORT_NAMES
from webhook.explain.nodeedits import Cordon
from webhook.explain.rollingupdate.report import (
    RolloutForecast,
    RolloutSkew,
    RolloutStep,
    StopBounds,
    summarize_forecast,
)
from webhook.policy.model import ZONE

STEP = RolloutStep("new 0 -> 1", 3, 1, 1, ())
FORECAST = RolloutForecast(
    sentence="",
    edits=(),
    strategy="maxSurge 1, maxUnavailable 0",
    replicas=3,
    topology_key=ZONE,
    start=RolloutStep("", 3, 0, 0, ()),
    steps=(STEP, STEP),
    finishes=True,
    can_finish=True,
    can_stop=False,
    all_tried=True,
    reason="",
    stops_with=None,
    skews=(RolloutSkew(0, ZONE, 1, 2, 2, 2, 1, 2),),
)
STOPS = {
    "finishes": False,
    "can_finish": False,
    "can_stop": True,
    "reason": "no place",
    "stops_with": StopBounds(1, 1),
}
ROLLOUT = "a rollout of 3 replicas (maxSurge 1, maxUnavailable 0)"

TRIED = ", as with all other choices that were tried"
APART = "skew of its own pods by zone 3 -> 2, of the counted pods 0 -> 0"
OTHER = ", but finishes with other choices"

SENTENCES: dict[str, tuple[dict[str, Any], str]] = {
    "finishes": ({}, f"{ROLLOUT} finishes in 2 steps; skew of zone 1 -> 2"),
    "a range": (
        {"skews": (RolloutSkew(0, ZONE, 1, 2, 0, 3),)},
        f"{ROLLOUT} finishes in 2 steps; skew of zone 1 -> 2 (0 to 3)",
    ),
    "own pods that are not counted": (
        {"skews": (RolloutSkew(0, ZONE, 0, 0, 0, 0, 3, 2),)},
        f"{ROLLOUT} finishes in 2 steps; {APART}",
    ),
    "may stop": (
        {"can_stop": True},
        f"{ROLLOUT} finishes in 2 steps, but stops with other choices; skew of zone 1 -> 2",
    ),
    "not all were tried": (
        {"all_tried": False},
        f"{ROLLOUT} finishes in 2 steps{TRIED}; skew of zone 1 -> 2",
    ),
    "stops": (STOPS, f"{ROLLOUT} stops at step 2, with 1 of 3 new pods: no place"),
    "stops with more or fewer pods": (
        STOPS | {"stops_with": StopBounds(0, 2)},
        f"{ROLLOUT} stops at step 2, with 1 (0 to 2) of 3 new pods: no place",
    ),
    "may finish": (
        STOPS | {"can_finish": True},
        f"{ROLLOUT} stops at step 2, with 1 of 3 new pods{OTHER}: no place",
    ),
    "does not start": (
        STOPS | {"steps": ()}, f"{ROLLOUT} does not start, with 0 of 3 new pods: no place"
    ),
    "edits": (
        {"edits": (Cordon("n1"),), "skews": ()},
        f"if you cordon node n1: {ROLLOUT} finishes in 2 steps",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "sentence"), SENTENCES.values(), ids=SENTENCES.keys())
def test_sentence(changes: dict[str, Any], sentence: str) -> None:
    assert summarize_forecast(replace(FORECAST, **changes), SHORT_NAMES) == sentence
