"""Following the configuration."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from webhook.config import Configuration
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.server.reload import ConfigurationWatcher, PolicySources, ReloadResult, read_policy

MINUTE = timedelta(minutes=1)
HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
APPLY, RECOMMEND = f"{HEAD}mode: apply\n", f"{HEAD}mode: recommend\n"


class Followed:
    """A configuration file that is followed, and what came of it; reading it fails at first."""

    def __init__(self, folder: Path, *errors: Exception) -> None:
        self._errors = list(errors)
        self.file = folder / "config.yaml"
        self.file.write_text(APPLY)
        self.enforced: list[Policy] = []
        self.results: list[ReloadResult] = []
        sources = PolicySources(version=NEWEST_VERSION, config=str(self.file), least_overlap=MINUTE)
        configuration, _ = read_policy(sources)
        self.watcher = ConfigurationWatcher(
            sources, configuration, self.enforce, self.results.append, self.read
        )

    def read(self, sources: PolicySources) -> tuple[Configuration, Policy]:
        if self._errors:
            raise self._errors.pop(0)
        return read_policy(sources)

    def enforce(self, _configuration: Configuration, policy: Policy) -> None:
        self.enforced.append(policy)

    def write(self, text: str) -> None:
        """As a kubelet does: another file takes the place of the first."""
        fresh = self.file.with_name("fresh")
        fresh.write_text(text)
        fresh.replace(self.file)


def test_what_does_not_change_is_not_read_again(tmp_path: Path) -> None:
    followed = Followed(tmp_path)

    followed.watcher.check()

    assert followed.enforced == []
    assert followed.results == []
    assert followed.watcher.valid


def test_a_new_version_is_put_in_force(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    followed.write(RECOMMEND)

    followed.watcher.check()
    followed.watcher.check()

    assert [policy.mode for policy in followed.enforced] == [Mode.RECOMMEND]
    assert followed.results == [ReloadResult(valid=True, message="")]


def test_a_bad_version_is_told_and_the_old_one_stays(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    followed.write(f"{HEAD}mode: sometimes\n")

    followed.watcher.check()
    followed.watcher.check()

    assert followed.enforced == []
    (result,) = followed.results
    assert not result.valid
    assert f"{followed.file}:3" in result.message
    assert not followed.watcher.valid


def test_a_file_that_goes_and_comes_back_is_read_again(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    followed.file.unlink()
    followed.watcher.check()

    followed.write(RECOMMEND)
    followed.watcher.check()

    assert [policy.mode for policy in followed.enforced] == [Mode.RECOMMEND]
    assert followed.watcher.valid


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
        await followed.watcher.run(10.0, sleep)

    assert waits == [10.0] * 3
    assert [policy.mode for policy in followed.enforced] == [Mode.RECOMMEND, Mode.APPLY]


def test_a_rule_that_denies_has_pods_validated(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    for action in ("deny", "warn"):
        followed.write(f"{HEAD}rules: {{TSC101: {action}}}\n")
        followed.watcher.check()

    assert [policy.validates_pods for policy in followed.enforced] == [True, False]


def test_another_version_of_the_api_server_is_judged_by(tmp_path: Path) -> None:
    followed = Followed(tmp_path)

    followed.watcher.use_version(NEWEST_VERSION)
    followed.watcher.use_version(Version(1, 33))

    assert [policy.gates.version for policy in followed.enforced] == [Version(1, 33)]


def test_a_version_that_the_gates_do_not_fit_leaves_the_old_one(tmp_path: Path) -> None:
    followed = Followed(tmp_path)
    followed.write(f"{HEAD}featureGates: {{MinDomainsInPodTopologySpread: false}}\n")
    followed.watcher.use_version(Version(1, 26))

    followed.watcher.use_version(NEWEST_VERSION)

    assert [outcome.valid for outcome in followed.results] == [True, False]
    assert [policy.gates.version for policy in followed.enforced] == [Version(1, 26)]


EXHAUSTING: dict[str, tuple[Exception, str]] = {
    "too deep": (RecursionError("a secret"), "is nested too deeply"),
    "too large": (MemoryError("a secret"), "needs more memory than there is"),
    "no UTF-8": (
        UnicodeDecodeError("utf-8", b"secret", 0, 1, "odd"),
        "is not UTF-8: save it as such",
    ),
}


@pytest.mark.parametrize(("error", "message"), EXHAUSTING.values(), ids=EXHAUSTING)
def test_a_version_that_cannot_be_read_is_invalid(
    error: Exception, message: str, tmp_path: Path
) -> None:
    followed = Followed(tmp_path, error)
    followed.write(RECOMMEND)

    followed.watcher.check()

    assert followed.results == [ReloadResult(valid=False, message=f"{followed.file}: {message}")]
    assert not followed.watcher.valid
    assert followed.enforced == []
    followed.write(APPLY)
    followed.watcher.check()
    assert followed.watcher.valid


def test_a_bug_in_reading_a_version_makes_it_invalid_and_is_raised_once(tmp_path: Path) -> None:
    followed = Followed(tmp_path, ZeroDivisionError("a secret"))
    followed.write(RECOMMEND)

    with pytest.raises(ZeroDivisionError):
        followed.watcher.check()
    followed.watcher.check()

    message = "cannot be read, by a bug of evenspread (ZeroDivisionError)"
    assert followed.results == [ReloadResult(valid=False, message=f"{followed.file}: {message}")]
    assert not followed.watcher.valid
    followed.write(APPLY)
    followed.watcher.check()
    assert followed.watcher.valid


def test_after_a_bug_the_version_is_judged_by_all_the_same(tmp_path: Path) -> None:
    followed = Followed(tmp_path, ZeroDivisionError())

    with pytest.raises(ZeroDivisionError):
        followed.watcher.use_version(Version(1, 30))
    followed.watcher.use_version(Version(1, 30))

    assert [policy.gates.version for policy in followed.enforced] == [Version(1, 30)]
