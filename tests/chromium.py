"""
Chromium, to look at pages as people do; without it such tests are skipped.

It comes from the system (Debian: ``apt-get install chromium``), not from Playwright, whose own copy
would have to be fetched.
"""

import shutil
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

PATIENCE_MS = 120_000  # of a page, for what takes a second

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FOUND = next(filter(None, map(shutil.which, BROWSERS)), None)

needs_browser = pytest.mark.usefixtures("chromium")
"""Marks tests as integration tests that need a browser."""


@pytest.fixture(scope="session")
def chromium() -> None:
    """Skip tests where there is no Chromium."""
    if FOUND is None:
        pytest.skip("no Chromium on this machine")


@contextmanager
def launched() -> Generator[Browser]:
    """Start one; without its sandbox, which root in a container cannot have."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=FOUND, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
