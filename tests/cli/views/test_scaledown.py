"""Removed pods are shown in order, with their ranks, as text and on the page."""

from typing import Any

import pytest

from tests.cli.views.explanations import explanation
from webhook.cli.terminal import Terminal
from webhook.cli.views.explanation import show
from webhook.cli.views.explanationpage import render_page
from webhook.cli.views.scaledown import MOST_PODS, show_scale_down
from webhook.explain.rollout import RankedRemoval, RemovedPod, Rollout, ScaleDownReport
from webhook.policy.model import ZONE

READY = RemovedPod("web-1", "n1", "a", 2, goes_first=False)
UNREADY = RemovedPod("web-2", "", "", None, goes_first=True)


def report(*removed: RemovedPod, **changes: Any) -> ScaleDownReport:
    parts: dict[str, Any] = {
        "sentence": "1 of 3 pods has a rank by zone",
        "topology_key": ZONE,
        "configured": False,
        "pods": 3,
        "ranked": 1,
        "removed": removed,
    }
    return ScaleDownReport(**(parts | changes))


WITH_RANKS = report(
    UNREADY,
    notes=("1 of 1 removed pod is not ready",),
    with_ranks=RankedRemoval((READY,), (), ("it is not known",)),
)


def test_all_pods_are_shown_if_there_is_no_limit(capsys: pytest.CaptureFixture[str]) -> None:
    show_scale_down(report(*[READY] * (MOST_PODS + 3)), Terminal(), MOST_PODS + 3)

    out = capsys.readouterr().out
    assert "more" not in out
    assert len(out.splitlines()) == 4 + MOST_PODS + 3


def test_both_orders_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_scale_down(WITH_RANKS, Terminal())

    assert capsys.readouterr().out.splitlines() == [
        "  ranks    1 of 3 pods has a rank by zone",
        "  note     1 of 1 removed pod is not ready",
        "",
        "removed, as the pods are",
        "  pod    node  zone  rank",
        "  web-2  -     -     - (not ready)",
        "",
        "removed, with ranks for all",
        "  pod    node  zone  rank",
        "  web-1  n1    a     2",
        "  note     it is not known",
    ]


def test_if_all_pods_have_ranks_one_order_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_scale_down(report(*[READY] * (MOST_PODS + 3)), Terminal())

    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "  ... and 3 more"
    assert len(lines) == 5 + MOST_PODS


def test_a_rollout_shows_its_ranks_as_text_and_on_the_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rollout = Rollout("if you scale", (), 1, 1, {}, 0, (), ("web-2",), (), WITH_RANKS)

    show(explanation(), rollout, Terminal())
    page = render_page([(explanation(), rollout)])

    assert "  ranks    1 of 3 pods has a rank by zone" in capsys.readouterr().out.splitlines()
    for part in (
        "<p>1 of 3 pods has a rank by zone.</p>",
        '<p class="soft">Note: 1 of 1 removed pod is not ready.</p>',
        "<h3>Removed, as the pods are</h3>",
        "<tr><td>web-2</td><td>-</td><td>-</td>\n<td>- (not ready)</td></tr>",
        "<h3>Removed, with ranks for all</h3>",
        "<tr><td>web-1</td><td>n1</td><td>a</td>\n<td>2</td></tr>",
        '<p class="soft">Note: it is not known.</p>',
    ):
        assert part in page


def test_a_page_without_ranks_for_all_has_one_table() -> None:
    rollout = Rollout("if you scale", (), 1, 1, {}, 0, (), ("web-1",), (), report(READY))

    page = render_page([(explanation(), rollout)])

    assert page.count("<h3>Removed, ") == 1
