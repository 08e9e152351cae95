from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from tests.axe import find_violations
from tests.chromium import PATIENCE_MS, launched, needs_browser
from tests.cli.views.explanations import AT_LIMIT, ROLLOUT, constraint, explanation
from webhook.cli.views.explanation import NO_CHANGE
from webhook.cli.views.explanationpage import HEIGHT, MOST_COLUMNS, choose_tone, render_page
from webhook.explain.constraints import DomainRow
from webhook.explain.daemonreport import DaemonReport, MissingPod
from webhook.explain.rollout import Rollout


def domains(number: int) -> list[DomainRow]:
    """Domains with 0, 1, 2 and more pods."""
    return [DomainRow(f"d{i:03}", 1, 0, i, skew=i, fits=True) for i in range(number)]


def test_a_diagram_has_a_column_for_each_domain() -> None:
    page = render_page([(explanation(constraint(*domains(3))), None)])

    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 1
    assert page.count("<g") == 3
    assert f'height="{HEIGHT:.1f}"' in page  # of the fullest domain


def test_a_diagram_keeps_the_fullest_domains() -> None:
    page = render_page([(explanation(constraint(*domains(MOST_COLUMNS + 5))), None)])

    assert page.count("<g") == MOST_COLUMNS
    assert "5 emptier domains are not drawn." in page


def test_a_page_says_that_no_change_helps() -> None:
    assert NO_CHANGE in render_page([(explanation(placeable=False), None)])
    assert NO_CHANGE not in render_page([(explanation(), None)])


def test_a_constraint_without_domains_has_an_empty_diagram() -> None:
    soft = constraint(when_unsatisfiable="ScheduleAnyway")

    assert "<g" not in render_page([(explanation(soft), None)])


def test_a_diagram_of_nothing_has_no_height() -> None:
    zero = constraint(*domains(1), max_skew=0, global_minimum=0)

    assert 'height="0.0"' in render_page([(explanation(zero), None)])


def test_text_of_objects_is_escaped() -> None:
    page = render_page([(explanation(subject="Pod <script>\x1b"), None)])

    assert "<script" not in page
    assert "Pod &lt;script&gt;\\x1b" in page


def test_only_a_domain_above_the_limit_is_red() -> None:
    part = constraint(*AT_LIMIT)

    assert [choose_tone(part, row) for row in AT_LIMIT] == ["over", "full", "bar"]


def test_no_domain_of_a_soft_constraint_is_red() -> None:
    part = replace(constraint(*AT_LIMIT), when_unsatisfiable="ScheduleAnyway")

    assert {choose_tone(part, row) for row in AT_LIMIT} == {"bar"}


TITLES = {
    "nothing": ((), None, "nothing"),
    "one object": (("Pod shop/web",), None, "Pod shop/web"),
    "several": (("Pod a/b",) * 5, None, "Pod a/b, Pod a/b, Pod a/b and 2 more"),
    "a scenario": (("Pod a/b",), ROLLOUT, "What if: Pod a/b"),
}


@pytest.mark.parametrize(("names", "rollout", "title"), TITLES.values(), ids=TITLES)
def test_the_title_names_the_objects(
    names: tuple[str, ...], rollout: Rollout | None, title: str
) -> None:
    page = render_page([(explanation(), rollout)], names)

    assert f"<title>{title} - evenspread explain</title>" in page


@needs_browser
def test_a_column_at_the_limit_is_not_red(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render_page([(explanation(constraint(*AT_LIMIT)), None)]), encoding="utf-8")
    with launched() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(file.as_uri())
        colour = "bar => getComputedStyle(bar).fill"
        found = [bar.evaluate(colour) for bar in page.locator("svg rect:not(.out)").all()]

    assert found == ["rgb(180, 35, 24)", "rgb(214, 150, 20)", "rgb(59, 125, 216)"]


def test_a_rollout_is_described() -> None:
    rollout = replace(ROLLOUT, removed=("web-1", "web-2"), notes=("it is not known",))

    page = render_page([(explanation(), rollout)])

    assert "2 are removed" in page
    assert '<p class="soft">Note: it is not known.</p>' in page


# reason of the pod alone, and after the others -> cell of the table
FATES = {
    "it cannot be placed": (
        ("skew 2 > maxSkew 1", ""), "<td>cannot be placed: skew 2 &gt; maxSkew 1</td>"
    ),
    "others keep it away": (
        ("", "skew 2 > maxSkew 1"), "cannot be placed after the others: skew 2 &gt; maxSkew 1"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("reasons", "cell"), FATES.values(), ids=FATES)
def test_a_missing_pod_of_a_daemon_set_has_a_row(reasons: tuple[str, str], cell: str) -> None:
    pod = MissingPod("a2", "", "not created", *reasons)
    report = DaemonReport(desired=1, running=0, missing=(pod,), unneeded=())

    assert cell in render_page([(explanation(daemon=report), None)])


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000])
def test_axe_finds_no_violation(width: int, scheme: Literal["light", "dark"]) -> None:
    missing = MissingPod("a2", "", "not created", "skew 2 > maxSkew 1", "")
    daemon = DaemonReport(desired=1, running=0, missing=(missing,), unneeded=())
    made = explanation(constraint(*AT_LIMIT), daemon=daemon)
    with launched() as browser:
        page = browser.new_page(viewport={"width": width, "height": 2000}, color_scheme=scheme)
        page.set_content(render_page([(made, ROLLOUT), (explanation(placeable=False), None)]))

        assert find_violations(page) == []
