"""The HTML report for everybody: any size, light, dark and on paper, by keyboard, by axe-core."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.audit.pages import Opened, many
from tests.audit.world import EVERYTHING, MISCOUNTED, audit, finding, report, spread_report
from tests.axe import find_violations
from tests.chromium import launched, needs_browser
from webhook.audit.renderers import html, render_report
from webhook.audit.report import AuditReport, AuditSeverity, DomainCount

pytestmark = needs_browser

WIDTHS = (400, 1000, 1600)
MEDIA = ("dark", "print", "light")  # of these widths: paper is about 800 pixels wide
HEIGHT = 4000  # of each page and more: axe-core decides on no contrast below what is visible

DOMAINS = tuple(
    DomainCount(f"europe-west{i}-a-long-name-of-a-zone-{i}", i % 3, i, i, 2) for i in range(40)
)
LONG = report(
    finding(problem="x" * 300, instead=f"labelSelector:\n  matchLabels: {{{'a' * 200}}}"),
    finding(severity=AuditSeverity.DENY),
    finding(severity=AuditSeverity.AUDIT),
    exempted=(finding(reason="by contract"),),
    spreads=(
        spread_report(skew=39, own_skew=39, domains=40, own=780, counted=780, cells=DOMAINS),
        spread_report(max_skew=None, own_skew=39, cells=DOMAINS[:3], left_out=37),
    ),
    name="n" * 63,
    source=f"a/{'d' * 120}.yaml",
)  # fmt: skip

REPORTS = {
    "every kind of finding": audit(EVERYTHING),
    "pods that are not counted": audit(MISCOUNTED),
    "long names": LONG,
    "no finding": report(),
}

FIRST_PAINT_MS = 1000  # measured: 80 to 110 ms for 10 000 findings, on a machine without other work
LARGEST = 8_000_000  # bytes of 20 000 findings; measured: 3.4 MB for 10 000

CUT = """[...document.querySelectorAll("main *")].filter(element =>
  element.offsetParent && getComputedStyle(element).display !== "inline"
  && (element.scrollWidth > element.clientWidth + 1
    || element.scrollHeight > element.clientHeight + 1)
).map(element => element.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


# Nothing depends on a width and on colours at once, so that each of both is tried once.
@pytest.fixture(params=zip(WIDTHS, MEDIA, strict=True), ids=lambda pair: f"{pair[0]} {pair[1]}")
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """An empty page of each width, and of each medium."""
    width, medium = request.param
    opened = browser.new_page(viewport={"width": width, "height": HEIGHT})
    if medium == "print":
        opened.emulate_media(media="print")
    else:
        opened.emulate_media(color_scheme=medium)
    yield opened
    opened.close()


@pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS)
def test_nothing_overflows_and_no_text_is_cut(page: Page, made: AuditReport) -> None:
    page.set_content(render_report(made, "html"))

    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS)
def test_axe_finds_no_violation(page: Page, made: AuditReport) -> None:
    page.set_content(render_report(made, "html"))

    assert find_violations(page) == []


def test_the_keyboard_reaches_every_control_in_order_and_shows_where_it_is(
    browser: Browser, tmp_path: Path
) -> None:
    page = Opened(browser, tmp_path, many(300)).page
    reached: list[str] = []
    for _ in range(20):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.innerText.split('\\n')[0] || document.activeElement.id,"
            " getComputedStyle(document.activeElement).outlineStyle]"
        )
        if name in reached:
            break
        assert outline != "none", name
        reached.append(name)

    assert reached[:3] == ["Skip to the findings", "Spread", "Findings"]
    assert [
        name for name in reached if name in ("text", "every severity", "every rule")
    ] == reached[3:6]
    assert reached[6:] == [
        "severity", "rule", "workload", "what is wrong, and what to write instead", "Show 200 more",
    ]  # fmt: skip


def test_the_skip_link_leads_past_the_pictures(browser: Browser, tmp_path: Path) -> None:
    page = Opened(browser, tmp_path, many(3)).page
    skip = page.locator(".skip")

    assert not _is_on_screen(page)
    page.keyboard.press("Tab")
    assert _is_on_screen(page)
    skip.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "text"


def _is_on_screen(page: Page) -> bool:
    box = page.locator(".skip").bounding_box()
    return box is not None and box["y"] >= 0


def test_the_keyboard_filters_sorts_and_shows_more(browser: Browser, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, many(300))
    page = opened.page

    page.locator("#more").press("Enter")
    assert page.inner_text("#shown") == "300 of 300 findings"
    page.locator("#severity").press("ArrowDown")
    assert set(opened.column(1)) == {"deny"}
    page.locator("#list th button").nth(1).press("Enter")
    assert page.locator("#list th").nth(1).get_attribute("aria-sort") == "ascending"
    page.locator("#list th button").nth(1).press("Space")
    assert page.locator("#list th").nth(1).get_attribute("aria-sort") == "descending"


def test_ten_thousand_findings_are_small_and_soon_seen(browser: Browser, tmp_path: Path) -> None:
    page = Opened(browser, tmp_path, many(10_000)).page

    (first,) = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)"
    )
    assert first < FIRST_PAINT_MS
    assert (tmp_path / "report.html").stat().st_size < LARGEST / 2


def test_axe_finds_no_violation_in_many_findings(browser: Browser, tmp_path: Path) -> None:
    page = Opened(browser, tmp_path, many(500)).page

    assert find_violations(page) == []


def test_of_too_many_findings_the_most_severe_are_listed_and_the_others_counted(
    browser: Browser, tmp_path: Path
) -> None:
    page = Opened(browser, tmp_path, many(html.MOST_ROWS + 3000)).page

    assert "Left out: 3000 findings, none more severe than these." in page.inner_text("main")
    assert page.locator('#list tr[data-severity="deny"]').count() == 7667
    assert (tmp_path / "report.html").stat().st_size < LARGEST
