"""The site: it builds strictly, loads nothing from other hosts and fits a phone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.chromium import PATIENCE_MS, launched, needs_browser
from tests.docs.markdown import ROOT

PHONE = {"width": 390, "height": 800}  # CSS pixels of a common one
DESK = {"width": 1280, "height": 900}

LOADED = "() => [...document.images].every(image => image.complete && image.naturalWidth > 0)"
WIDTH = "document.documentElement.scrollWidth"
LIGHTNESS = """() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)
    return (r + g + b) / 3
}"""  # of the page, 0 to 255


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        check=False,
        text=True,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without telling of it."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


class Reader:
    """A reader who opens one page after another, and the messages of the browser."""

    def __init__(self, browser: Browser, size: Any, scheme: Any) -> None:
        self.page: Page = browser.new_page(viewport=size, color_scheme=scheme)
        self.page.set_default_timeout(PATIENCE_MS)
        self.requested: set[str] = set()
        self.noise: list[str] = []
        self.page.on("request", lambda request: self.requested.add(request.url))
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.on("pageerror", lambda error: self.noise.append(str(error)))


def pages(site: Path) -> list[str]:
    return sorted(file.name for file in site.glob("*.html"))


@needs_browser
@pytest.mark.parametrize(
    ("size", "scheme"),
    [(DESK, "light"), (PHONE, "dark")],  # colours do not change what fits
    ids=["light on a desk", "dark on a phone"],
)
def test_pages_ask_for_nothing_from_elsewhere_and_fit(
    browser: Browser, site: Path, address: str, size: dict[str, int], scheme: str
) -> None:
    reader = Reader(browser, size, scheme)
    too_wide: list[str] = []
    for name in pages(site):
        reader.page.goto(f"{address}/{name}")
        assert reader.page.evaluate(LOADED), name
        if reader.page.evaluate(WIDTH) > size["width"]:
            too_wide.append(name)
    dark = reader.page.evaluate(LIGHTNESS) < 128
    reader.page.close()

    assert too_wide == []
    assert dark == (scheme == "dark")
    assert {url for url in reader.requested if not url.startswith((address, "data:"))} == set()
    assert reader.noise == []


@needs_browser
def test_the_search_finds_a_rule(browser: Browser, address: str) -> None:
    reader = Reader(browser, DESK, "light")

    reader.page.goto(f"{address}/index.html")
    ready = reader.page.get_by_text("Type to start searching")
    ready.wait_for(state="attached")  # before that, typed text has no effect
    query = reader.page.locator("[data-md-component=search-query]")
    query.press_sequentially("TSC006")  # it looks at its text when a key goes up, not when filled
    found = ".md-search-result__link[href*='rules.html']"
    reader.page.wait_for_selector(found, state="attached")  # further ones of a page are folded
    reader.page.close()

    assert reader.noise == []


def test_pages_from_beside_the_folder_link_to_each_other(site: Path) -> None:
    overview = (site / "index.html").read_text()

    assert 'href="quickstart.html"' in overview
    assert 'href="changelog.html"' in overview
    assert ".md)" not in overview
