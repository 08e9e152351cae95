"""Steps of a rolling update are shown in a table, shortened if they are many."""

from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from tests.cli.views.explanations import ZONE, explanation
from webhook.cli.terminal import Terminal
from webhook.cli.views.explanationpage import render_page
from webhook.cli.views.rollout import (
    MOST_ROLLOUT_DOMAINS,
    MOST_ROLLOUT_STEPS,
    choose_domains,
    show_forecast,
)
from webhook.explain.keynames import SHORT_NAMES
from webhook.explain.rollingupdate.report import (
    RolloutDomain,
    RolloutForecast,
    RolloutStep,
    StopBounds,
)


def step(old: int, new: int, action: str = "", domains: str = "ab") -> RolloutStep:
    shown = tuple(RolloutDomain(value, old, new) for value in domains)
    return RolloutStep(action, old, new, 0, shown)


FORECAST = RolloutForecast(
    sentence="a rollout stops",
    edits=(),
    strategy="maxSurge 1, maxUnavailable 0",
    replicas=3,
    topology_key=ZONE,
    start=step(3, 0),
    steps=(step(3, 1, "new 0 -> 1"),),
    finishes=False,
    can_finish=False,
    can_stop=True,
    all_tried=True,
    reason="no place",
    stops_with=StopBounds(1, 1),
    skews=(),
    notes=("it is paused",),
)


@dataclass(frozen=True)
class Written:
    """What a view writes."""

    lines: list[str]


def show(forecast: RolloutForecast, capsys: pytest.CaptureFixture[str]) -> Written:
    show_forecast(forecast, Terminal(), SHORT_NAMES)
    return Written(capsys.readouterr().out.splitlines())


def test_a_forecast_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.rstrip() for line in show(FORECAST, capsys).lines] == [
        "a rollout stops",
        "",
        "  step              old  new  pending  a      b",
        "                    3    0    0        3 + 0  3 + 0",
        "  1     new 0 -> 1  3    1    0        3 + 1  3 + 1",
        "  zone: old + new pods of each domain",
        "  note     it is paused",
        "",
    ]


def test_a_workload_without_constraints_has_no_domains(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bare = replace(FORECAST, start=step(3, 0, domains=""), steps=(), topology_key="", notes=())

    assert show(bare, capsys).lines[2].split() == ["step", "old", "new", "pending"]
    assert "domain" not in "".join(show(bare, capsys).lines)


def test_many_steps_are_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    steps = tuple(step(9, number, f"new {number}") for number in range(1, MOST_ROLLOUT_STEPS + 3))

    lines = show(replace(FORECAST, steps=steps), capsys).lines

    numbers = [line.split()[0] for line in lines[4:-3]]
    assert numbers == ["1", "2", "3", "4", "5", "6", "...", "9", "10", "11", "12", "13", "14"]


def test_of_many_domains_the_fullest_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    domains = tuple(RolloutDomain(f"d{number}", number, 0) for number in range(9))
    forecast = replace(FORECAST, start=RolloutStep("", 9, 0, 0, domains), steps=())

    assert choose_domains(forecast) == ["d5", "d6", "d7", "d8"]
    assert len(choose_domains(forecast)) == MOST_ROLLOUT_DOMAINS
    assert len(choose_domains(forecast, 20)) == 9
    written = show(forecast, capsys).lines
    assert "  zone: old + new pods of 4 of 9 domains; -o json has all" in written


def test_a_page_has_the_steps() -> None:
    page = render_page([(explanation(), FORECAST)])

    assert '<p class="sentence bad">a rollout stops</p>' in page
    assert "<td>new 0 -&gt; 1</td>" in page
    assert page.count('<td class="number">3 + 1</td>') == 2
    assert "Note: it is paused." in page
