"""Reports as HTML pages in Chromium."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page

from tests.audit.world import finding, report
from tests.chromium import PATIENCE_MS
from webhook.audit.renderers import render_report
from webhook.audit.report import AuditReport, AuditSeverity


class Opened:
    """A page, with its requests and its console messages."""

    def __init__(self, browser: Browser, folder: Path, made: AuditReport, **settings: Any) -> None:
        (folder / "report.html").write_text(render_report(made, "html"), encoding="utf-8")
        self.page: Page = browser.new_page(**settings)
        self.page.set_default_timeout(PATIENCE_MS)
        self.noise: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.on("pageerror", lambda error: self.noise.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto((folder / "report.html").as_uri())

    def column(self, number: int) -> list[str]:
        cells = self.page.locator(f"#list tbody tr:visible td:nth-child({number})")
        return [text.split("\n")[0] for text in cells.all_inner_texts()]


def read_words(located: Locator) -> list[list[str]]:
    """
    Read the words of each element.

    They are scrolled to first: the page lays out only what is in view, and the rest has no words.
    """
    words = list[list[str]]()
    for element in located.all():
        element.scroll_into_view_if_needed()
        words.append(element.inner_text().split())
    return words


def many(number: int) -> AuditReport:
    """Make a report with this many findings of all severities."""
    severities = list(AuditSeverity)
    findings = (
        finding(severity=severities[i % 3], rule=f"TSC10{i % 5 + 1}", problem=f"problem {i}")
        for i in range(number)
    )
    return report(*findings)
