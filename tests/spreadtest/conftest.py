from pathlib import Path

import pytest

from tests.spreadtest import world


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    world.write(tmp_path)
    return tmp_path
