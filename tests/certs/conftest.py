"""Fixtures of the tests of rotations."""

import pytest

from tests.certs.fleet import Fleet


@pytest.fixture
def fleet() -> Fleet:
    """A cluster without replicas; ``Fleet.add`` starts one."""
    return Fleet()
