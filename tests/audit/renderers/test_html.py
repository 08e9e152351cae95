from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser

from tests.audit.pages import Opened, many, read_words
from tests.audit.world import EVERYTHING, MISCOUNTED, audit, finding, report, spread_report
from tests.chromium import launched, needs_browser
from webhook.audit.renderers import render_report
from webhook.audit.renderers.html import build_bars
from webhook.audit.report import (
    DomainCount,
    SpreadReport,
    UncountedPods,
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


def test_the_workload_that_is_furthest_from_even_comes_first() -> None:
    report = audit(EVERYTHING)
    (uneven,) = [workload for workload in report.workloads if workload.spreads]
    even = replace(
        uneven,
        name="balanced",
        spreads=tuple(replace(spread, skew=0, own_skew=0) for spread in uneven.spreads),
    )

    page = render_report(replace(report, workloads=(even, uneven)), "html")

    first, second = (page.index(f"shop/{name}") for name in (uneven.name, "balanced"))
    assert first < second


@needs_browser
def test_the_picture_is_there_and_nothing_is_loaded(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, audit(EVERYTHING))

    cells = opened.page.locator(".picture").first.locator(".cell")
    assert read_words(cells) == [["3", "zone-a"], ["1", "zone-b"], ["0", "zone-c"]]
    assert ["over" in (cell.get_attribute("class") or "") for cell in cells.all()] == [
        True,
        False,
        False,
    ]
    assert opened.noise == []
    assert len(opened.requests) == 1


@needs_browser
def test_findings_are_sorted_both_ways(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, many(6))
    heading = opened.page.locator("#list th button").nth(1)

    heading.click()
    up = opened.column(2)
    heading.click()
    down = opened.column(2)

    assert up == sorted(up)
    assert down == sorted(down, reverse=True)


@needs_browser
def test_findings_are_filtered_by_words_severity_and_rule(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, many(30))

    opened.page.select_option("#severity", "warn")
    assert set(opened.column(1)) == {"warn"}
    opened.page.select_option("#rule", "TSC102")
    assert set(opened.column(2)) == {"TSC102"}
    opened.page.fill("#text", "no such words")
    opened.page.wait_for_selector("#none", state="visible")
    assert opened.page.inner_text("#shown") == "0 of 30 findings"


@needs_browser
def test_of_ten_thousand_findings_a_part_is_laid_out_and_all_are_printed(
    browser: Any, tmp_path: Path
) -> None:
    opened = Opened(browser, tmp_path, many(10_000))
    rows = opened.page.locator("#list tbody tr")

    assert rows.filter(visible=True).count() == 200
    assert opened.page.inner_text("#shown") == "10000 of 10000 findings, the first 200 shown"
    opened.page.click("#more")
    assert rows.filter(visible=True).count() == 400
    assert opened.page.inner_text("#shown") == "10000 of 10000 findings, the first 400 shown"
    opened.page.emulate_media(media="print")
    assert rows.filter(visible=True).count() == 10_000
    assert not opened.page.locator("form").is_visible()


@needs_browser
def test_dark_mode_is_dark_and_paper_is_not(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, many(3))
    colour = "getComputedStyle(document.body).backgroundColor"

    opened.page.emulate_media(color_scheme="dark")
    assert opened.page.evaluate(colour) == "rgb(18, 22, 28)"
    opened.page.emulate_media(color_scheme="dark", media="print")
    assert opened.page.evaluate(colour) == "rgb(255, 255, 255)"


@needs_browser
def test_on_a_phone_nothing_is_cut_and_sentences_have_room(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, audit(EVERYTHING))
    opened.page.set_viewport_size({"width": 390, "height": 800})

    assert opened.page.evaluate("document.documentElement.scrollWidth") == 390
    widths = opened.page.evaluate(
        "[...document.querySelectorAll('#list td:last-child')].map(cell => cell.clientWidth)"
    )
    assert min(widths) > 300


def test_texts_of_manifests_are_no_markup() -> None:
    text = render_report(
        report(finding(problem="<img src=x onerror=alert(1)>"), name="<b>"), "html"
    )

    assert "<img" not in text
    assert "shop/<b>" not in text


def test_an_empty_report_has_no_finding() -> None:
    made = report()

    text = render_report(replace(made, workloads=()), "html")

    assert "No findings." in text
    assert "No workload has two running pods." in text


def test_one_is_no_plural() -> None:
    running = "{apiVersion: v1, kind: Pod, metadata: {name: one}, status: {phase: Running}}"

    text = render_report(audit(running), "html")

    assert "<p>1 workload, 1 pod, 0 nodes, by the rules" in text


STRICT = spread_report(
    skew=2, own_skew=2, domains=3, own=3, counted=3,
    cells=(
        DomainCount("a", 1, 2, 2, 1), DomainCount("b", 1, 1, 1, 1), DomainCount("c", 1, 0, 0, 1)
    ),
)  # fmt: skip
FREE = replace(STRICT, max_skew=None, when_unsatisfiable="")


@pytest.mark.parametrize(
    ("row", "tones"),
    [(STRICT, ["over", "limit", "fine"]), (FREE, ["free"] * 3)],
    ids=["with a limit", "without a limit"],
)
def test_a_domain_is_colored_by_its_distance_to_the_limit(
    row: SpreadReport, tones: list[str]
) -> None:
    (bar,) = build_bars(row)

    assert [cell.tone for cell in bar.cells] == tones
    assert [cell.strength for cell in bar.cells] == ["1.00", "0.50", "0.00"]


def test_without_domains_the_bar_is_empty() -> None:
    (bar,) = build_bars(replace(STRICT, cells=()))

    assert bar.cells == ()


def test_counts_that_differ_have_a_bar_of_their_own_which_is_not_fine() -> None:
    part = replace(
        STRICT,
        skew=0,
        counted=0,
        uncounted=UncountedPods(pending=1, unselected=2),
        cells=(DomainCount("a", 1, 0, 2, 3), DomainCount("b", 0, 0, 0, 1)),
    )

    where, counted = build_bars(part)

    assert where.label == "where its 3 pods are"
    assert [(cell.value, cell.tone) for cell in where.cells] == [
        ("a", "over"), ("b", "fine"), ("1 Pending", "outside"),
    ]  # fmt: skip
    assert counted.label.startswith("what the constraint counts: 0 of 3 pods (1 Pending, 2 not ")
    assert [(cell.value, cell.tone) for cell in counted.cells] == [("a", "part")]
    assert [cell.nodes for cell in where.cells] == [
        "3 nodes, 1 eligible", "1 node, none eligible", "",
    ]  # fmt: skip
    assert [cell.nodes for cell in counted.cells] == ["1 node"]


@needs_browser
@pytest.mark.parametrize("width", [400, 1600])
def test_both_bars_are_readable_at_any_width(browser: Any, tmp_path: Path, width: int) -> None:
    opened = Opened(browser, tmp_path, audit(MISCOUNTED))
    opened.page.set_viewport_size({"width": width, "height": 900})

    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    assert read_words(opened.page.locator(".picture .heat")) == [
        ["4", "zone-a", "0", "zone-b", "0", "zone-c"],
        ["0", "zone-a", "0", "zone-b", "0", "zone-c"],
    ]
    cells = "[...document.querySelectorAll('.picture .cell')]"
    assert opened.page.evaluate(f"{cells}.filter(c => c.scrollWidth > c.clientWidth)") == []


@needs_browser
def test_a_domain_at_the_limit_is_not_red(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, report(spreads=(STRICT,)))
    colour = "cell => getComputedStyle(cell).backgroundColor"

    over, limit, _ = (cell.evaluate(colour) for cell in opened.page.locator(".picture .cell").all())

    assert over.startswith("rgba(200, 50, 40")
    assert limit.startswith("rgba(214, 150, 20")
