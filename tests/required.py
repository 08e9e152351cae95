"""What tests need of their machine: without it they are skipped, or fail where it is required."""

import os
from typing import NoReturn

import pytest

ENVTEST = "EVENSPREAD_REQUIRE_ENVTEST"
"""Set to 1, as in CI: tests with the real control plane, and its pods, fail if they cannot run."""

TOOLS = "EVENSPREAD_REQUIRE_TOOLS"
"""Set to 1, as in CI: tests with a program that `make tools` builds fail without it."""


def skip_or_fail(reason: str, variable: str) -> NoReturn:
    """Skip the test, or fail it if the variable is 1."""
    fail_if_required(reason, variable)
    pytest.skip(reason)


def fail_if_required(reason: str, variable: str) -> None:
    """Fail the test if the variable is 1; otherwise it can do without."""
    if os.environ.get(variable) == "1":
        pytest.fail(reason, pytrace=False)
