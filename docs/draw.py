#!/usr/bin/env python3
"""
Draw the picture of the README: the real report of an example, in Chromium.

``python docs/draw.py`` writes the picture, and the checksum of the page that it shows; with
``--check`` it only reports, by its exit code, whether that page is still the same. Fonts differ
from machine to machine, so pictures cannot be compared.
"""

import hashlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory

from playwright.sync_api import ViewportSize, sync_playwright

HERE = Path(__file__).parent
PICTURE = HERE / "pictures" / "report.png"
CHECKSUM = HERE / "pictures" / "report.sha256"
EXAMPLE = "docs/walkthrough/uneven.yaml"

SIZE: ViewportSize = {"width": 1100, "height": 800}  # CSS pixels; higher if the page is
BROWSER = "chromium"  # of the system; Playwright's own would have to be fetched


def report() -> bytes:
    """Make the page."""
    command = ("-m", "webhook", "audit", "-f", EXAMPLE, "--fail-on", "never", "-o", "html")
    done = run((sys.executable, *command), cwd=HERE.parent, capture_output=True, check=True)  # noqa: S603 - our own program
    return done.stdout


def draw(page: bytes) -> None:
    """Open the page in the browser, and keep what is seen."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "report.html")
        file.write_bytes(page)
        browser = playwright.chromium.launch(
            executable_path=shutil.which(BROWSER), args=["--no-sandbox"]
        )
        opened = browser.new_page(viewport=SIZE, color_scheme="light")
        opened.goto(file.as_uri())
        opened.screenshot(path=PICTURE, full_page=True)
        browser.close()


def main(arguments: Sequence[str]) -> int:
    """Draw, or check whether there is anything to draw; returns the exit code."""
    page = report()
    checksum = f"{hashlib.sha256(page).hexdigest()}\n"
    if list(arguments) == ["--check"]:
        return int(CHECKSUM.read_text() != checksum)
    draw(page)
    CHECKSUM.write_text(checksum)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
