"""
The pytest side of the control plane: a plugin, named in tests/conftest.py.

Without its programs the tests that use one are skipped, with the reason; where
``EVENSPREAD_REQUIRE_ENVTEST=1`` is set (CI) they fail. When a test fails, the ends of the logs
of the control planes that ran meanwhile are part of its report.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tests.controlplane import assets
from tests.controlplane.assets import Assets, AssetsError
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.required import ENVTEST, skip_or_fail

RUNNING = pytest.StashKey[list[ControlPlane]]()
"""The control planes of this session that run now."""

NewControlPlane = Callable[..., ControlPlane]
"""The type of new_control_plane: takes the fields of Options by keyword."""


@pytest.fixture(scope="session")
def control_plane_assets() -> Assets:
    """The programs of the control plane; skips, or in CI fails, without them."""
    try:
        return assets.locate()
    except AssetsError as error:
        skip_or_fail(str(error), ENVTEST)


@pytest.fixture(scope="session")
def control_plane(
    control_plane_assets: Assets, request: pytest.FixtureRequest
) -> Iterator[ControlPlane]:
    """
    The whole control plane, without Nodes, started once for all tests.

    Work in a namespace of your own (create_namespace), give Nodes names of your own, delete what
    is not in a namespace, and break nothing: new_control_plane is for that.
    """
    with run_plane(ControlPlane(control_plane_assets), request.config) as started:
        yield started


@pytest.fixture
def new_control_plane(
    control_plane_assets: Assets, request: pytest.FixtureRequest
) -> Iterator[NewControlPlane]:
    """
    Start further control planes, stopped when the test ends.

    Call it with fields of Options: ``new_control_plane(emulated_version="1.33", audit=True)``.
    """
    with ExitStack() as planes:

        def start(**options: Any) -> ControlPlane:
            plane = ControlPlane(control_plane_assets, Options(**options))
            return planes.enter_context(run_plane(plane, request.config))

        yield start


@contextmanager
def run_plane(plane: ControlPlane, config: pytest.Config) -> Generator[ControlPlane]:
    """Run a control plane; meanwhile its logs are part of the reports of failed tests."""
    running = config.stash.setdefault(RUNNING, [])
    with plane:
        running.append(plane)
        try:
            yield plane
        finally:
            running.remove(plane)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the logs of the running control planes to the report of a failed test."""
    report = yield
    if report.failed:
        for plane in item.config.stash.get(RUNNING, []):
            report.sections.append((f"control plane in {plane.folder}", plane.tail()))
    return report
