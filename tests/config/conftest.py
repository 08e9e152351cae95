from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a repository without a project file, and make it the working directory."""
    (tmp_path / "repository/sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    return tmp_path / "repository"
