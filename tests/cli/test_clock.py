from datetime import UTC
from pathlib import Path

from webhook.cli.clock import current_time


def test_the_time_is_that_of_the_system_in_utc(tmp_path: Path) -> None:
    file = tmp_path / "new"
    file.touch()

    now = current_time()

    assert now.tzinfo is UTC
    assert abs(now.timestamp() - file.stat().st_mtime) < 60
