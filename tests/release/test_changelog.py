"""The changelog has the form of Keep a Changelog; the version is the same wherever it stands."""

import re
from datetime import date
from typing import Any

import yaml

from tests.release.conftest import ROOT, run
from webhook import __version__

TEXT = (ROOT / "CHANGELOG.md").read_text()
RELEASES = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}

UNRELEASED = "Unreleased"
RELEASED = re.compile(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2})")


def test_what_is_not_released_stands_first() -> None:
    assert RELEASES[0] == UNRELEASED


def test_releases_have_a_version_and_a_day_newest_first() -> None:
    found = [RELEASED.fullmatch(title) for title in RELEASES[1:]]
    versions = [tuple(map(int, match.groups()[:3])) for match in found if match]
    days = [date.fromisoformat(match[4]) for match in found if match]

    assert all(found)
    assert versions == sorted(versions, reverse=True)
    assert days == sorted(days, reverse=True)


def test_changes_are_sorted_by_their_kind() -> None:
    assert set(re.findall(r"^### (.+)$", TEXT, re.MULTILINE)) <= KINDS


def test_the_version_has_a_section() -> None:
    """The released sections, and the one of the next release."""
    released = {title.partition("]")[0].removeprefix("[") for title in RELEASES[1:]}
    will_be = re.search(r"^## Unreleased\n\nThis section becomes (\S+)\.$", TEXT, re.MULTILINE)

    assert __version__ in released | ({will_be[1]} if will_be else set())


def test_the_notes_of_a_release_are_its_section() -> None:
    notes = run("make", "--no-print-directory", "notes", f"VERSION={UNRELEASED}")

    assert notes.startswith("This section becomes")
    assert "## " not in notes.replace("### ", "")


def test_there_is_no_release_without_notes() -> None:
    assert "no section" in run("make", "notes", "VERSION=0.0.1", check=False)


def test_the_chart_and_the_hooks_have_the_version_of_the_program() -> None:
    chart: Any = yaml.safe_load((ROOT / "deploy" / "chart" / "Chart.yaml").read_text())
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()

    assert chart["version"] == chart["appVersion"] == __version__
    assert f"rev: v{__version__}\n" in hooks
