"""Following the configuration."""

import asyncio
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from webhook.logs import Format, Lines, make_log
from webhook.metrics import Metrics
from webhook.policy.profiles import Mode, Policy
from webhook.policy.versions import NEWEST
from webhook.reload import Asked, Follower, read_policy

HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
APPLY, RECOMMEND = f"{HEAD}mode: apply\n", f"{HEAD}mode: recommend\n"


class Followed:
    """A configuration file that is followed, and what came of it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "config.yaml"
        self.file.write_text(APPLY)
        self.metrics = Metrics()
        self.enforced: list[Policy] = []
        self._stream = io.BytesIO()
        log = make_log(
            Format.JSON,
            Lines(self._stream, lambda write: write()),
            lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        asked = Asked(str(self.file), "", "", NEWEST, allow_locked_gates=False)
        configuration, _ = read_policy(asked)
        self.follower = Follower(asked, configuration, self.enforced.append, self.metrics, log)

    def write(self, text: str) -> None:
        """As a kubelet does: another file takes the place of the first."""
        fresh = self.file.with_name("fresh")
        fresh.write_text(text)
        fresh.replace(self.file)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"evenspread_{name}", labels)


def test_what_does_not_change_is_not_read_again(tmp_path: Path) -> None:
    followed = Followed(tmp_path)

    followed.follower.look()

    assert followed.enforced == []
    assert followed.lines == []
    assert followed.value("config_valid") == 1


def test_a_new_version_is_put_in_force(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    followed.write(RECOMMEND)

    followed.follower.look()
    followed.follower.look()

    assert [policy.mode for policy in followed.enforced] == [Mode.RECOMMEND]
    assert [(line["event"], line["result"]) for line in followed.lines] == [("reload", "success")]
    assert followed.value("config_reloads_total", result="success") == 1


def test_a_bad_version_is_told_and_the_old_one_stays(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    followed.write(f"{HEAD}mode: sometimes\n")

    followed.follower.look()
    followed.follower.look()

    assert followed.enforced == []
    (line,) = followed.lines
    assert (line["level"], line["result"]) == ("error", "failure")
    assert f"{followed.file}:3" in line["problem"]
    assert followed.value("config_valid") == 0
    assert followed.value("config_reloads_total", result="failure") == 1


def test_a_file_that_goes_and_comes_back_is_read_again(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    followed.file.unlink()
    followed.follower.look()

    followed.write(RECOMMEND)
    followed.follower.look()

    assert [policy.mode for policy in followed.enforced] == [Mode.RECOMMEND]
    assert followed.value("config_valid") == 1


async def test_it_looks_again_and_again(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    texts = iter([RECOMMEND, APPLY])
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if (text := next(texts, None)) is None:
            raise asyncio.CancelledError
        followed.write(text)

    with pytest.raises(asyncio.CancelledError):
        await followed.follower.run(sleep)

    assert waits == [10.0] * 3
    assert [policy.mode for policy in followed.enforced] == [Mode.RECOMMEND, Mode.APPLY]
