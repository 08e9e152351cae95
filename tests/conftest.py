"""What the tests of all packages share."""

import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest_plugins = [
    "tests.chromium", "tests.controlplane.fixtures", "tests.deploy.fixtures", "tests.faults.plugin",
]  # fmt: skip

# A run repeats itself, and no test is timed: a process may stand still for longer than Hypothesis
# takes to complain that examples are slow. HYPOTHESIS_PROFILE names another profile.
_untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeat", _untimed, max_examples=30, derandomize=True)
settings.register_profile(  # for mutants and coverage: a defect is to be noticed, not minimized
    "thorough", _untimed, max_examples=100, derandomize=True,
    phases=(Phase.explicit, Phase.generate),
)  # fmt: skip
settings.register_profile("search", _untimed, max_examples=2000)  # `make search`
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# Tests start programs as on a machine without this variable, whose output is buffered.
os.environ.pop("PYTHONUNBUFFERED", None)

# A shell starts what runs in the background with this signal ignored, and children inherit that;
# tests that interrupt a program would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

INTEGRATION_FOLDERS = {"controlplane", "deploy", "docs", "e2e", "release"}
"""Folders in tests/ whose tests run the control plane, Helm, make, git or an installed release."""

INTEGRATION_FIXTURES = {"chromium", "control_plane_assets", "helm"}
"""Fixtures that need other programs; whatever uses one, also through another, is no unit test."""


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Mark the integration tests that are known by their folder or by their fixtures."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        fixtures: Iterable[str] = getattr(item, "fixturenames", ())
        if folder in INTEGRATION_FOLDERS or not INTEGRATION_FIXTURES.isdisjoint(fixtures):
            item.add_marker("integration")
