"""Reload of a changed configuration."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from webhook.config.configuration import Configuration
from webhook.errors import ConfigError
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.server.reload import ConfigurationWatcher, PolicySources, read_policy

MINUTE = timedelta(minutes=1)
HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
APPLY, RECOMMEND = f"{HEAD}mode: apply\n", f"{HEAD}mode: recommend\n"


class Watched:
    """A watched configuration file, and the results; the first reads raise ``errors``."""

    def __init__(self, folder: Path, *errors: Exception) -> None:
        self._errors = list(errors)
        self.file = folder / "config.yaml"
        self.file.write_text(APPLY)
        self.enforced: list[Policy] = []
        self.refused: list[str] = []
        sources = PolicySources(version=NEWEST_VERSION, config=str(self.file), least_overlap=MINUTE)
        configuration, _ = read_policy(sources)
        self.now = datetime(2026, 1, 2, 10, 31, tzinfo=UTC)
        self.watcher = ConfigurationWatcher(
            sources,
            configuration,
            self.enforce,
            self.refuse,
            now=lambda: self.now,
            read=self.read,
        )

    def read(self, sources: PolicySources) -> tuple[Configuration, Policy]:
        if self._errors:
            raise self._errors.pop(0)
        return read_policy(sources)

    def enforce(self, _configuration: Configuration, policy: Policy) -> None:
        self.enforced.append(policy)

    def refuse(self, error: ConfigError) -> None:
        self.refused.append(str(error))

    def write(self, text: str) -> None:
        """Replace the file by another one, as a kubelet does."""
        fresh = self.file.with_name("fresh")
        fresh.write_text(text)
        fresh.replace(self.file)


def test_the_problem_names_the_error_and_the_configuration_in_force(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    before = watched.watcher.problem
    watched.now += timedelta(minutes=9)
    watched.write(f"{HEAD}mode: sometimes\nexempt: 1\n")
    watched.watcher.check()
    problem = watched.watcher.problem
    watched.write(RECOMMEND)
    watched.watcher.check()
    watched.write("a: [")
    watched.watcher.check()

    assert before == ""
    assert problem.startswith(f"{watched.file}:3: mode: ")
    assert problem.endswith(
        " (and 1 more); the configuration of 2026-01-02 10:31 UTC stays in force"
    )
    assert watched.watcher.problem.endswith(
        "; the configuration of 2026-01-02 10:40 UTC stays in force"
    )


def test_unchanged_files_are_not_read_again(tmp_path: Path) -> None:
    watched = Watched(tmp_path)

    watched.watcher.check()

    assert watched.enforced == []
    assert watched.refused == []
    assert not watched.watcher.problem


def test_a_changed_configuration_is_put_in_force(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.write(RECOMMEND)

    watched.watcher.check()
    watched.watcher.check()

    assert [policy.mode for policy in watched.enforced] == [Mode.RECOMMEND]
    assert watched.refused == []


def test_an_invalid_configuration_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.write(f"{HEAD}mode: sometimes\n")

    watched.watcher.check()
    watched.watcher.check()

    assert watched.enforced == []
    (message,) = watched.refused
    assert f"{watched.file}:3" in message
    assert watched.watcher.problem


def test_a_file_that_is_deleted_and_written_again_is_read(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.file.unlink()
    watched.watcher.check()

    watched.write(RECOMMEND)
    watched.watcher.check()

    assert [policy.mode for policy in watched.enforced] == [Mode.RECOMMEND]
    assert not watched.watcher.problem


async def test_the_files_are_checked_at_each_interval(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    texts = iter([RECOMMEND, APPLY])
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if (text := next(texts, None)) is None:
            raise asyncio.CancelledError
        watched.write(text)

    with pytest.raises(asyncio.CancelledError):
        await watched.watcher.run(10.0, sleep)

    assert waits == [10.0] * 3
    assert [policy.mode for policy in watched.enforced] == [Mode.RECOMMEND, Mode.APPLY]


def test_a_rule_that_denies_has_pods_validated(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    for action in ("deny", "warn"):
        watched.write(f"{HEAD}rules: {{TSC101: {action}}}\n")
        watched.watcher.check()

    assert [policy.validates_pods for policy in watched.enforced] == [True, False]


def test_the_policy_follows_the_version_of_the_api_server(tmp_path: Path) -> None:
    watched = Watched(tmp_path)

    watched.watcher.use_version(NEWEST_VERSION)
    watched.watcher.use_version(Version(1, 33))

    assert [policy.gates.version for policy in watched.enforced] == [Version(1, 33)]


def test_a_version_that_contradicts_the_gates_leaves_the_old_policy(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.write(f"{HEAD}featureGates: {{MinDomainsInPodTopologySpread: false}}\n")
    watched.watcher.use_version(Version(1, 26))

    watched.watcher.use_version(NEWEST_VERSION)

    assert len(watched.refused) == 1
    assert [policy.gates.version for policy in watched.enforced] == [Version(1, 26)]


EXHAUSTING: dict[str, tuple[Exception, str]] = {
    "too deep": (RecursionError("a secret"), "is nested too deeply"),
    "too large": (MemoryError("a secret"), "needs more memory than there is"),
    "no UTF-8": (
        UnicodeDecodeError("utf-8", b"secret", 0, 1, "odd"),
        "is not UTF-8: save it as such",
    ),
}


@pytest.mark.parametrize(("error", "message"), EXHAUSTING.values(), ids=EXHAUSTING)
def test_a_configuration_that_cannot_be_read_is_invalid(
    error: Exception, message: str, tmp_path: Path
) -> None:
    watched = Watched(tmp_path, error)
    watched.write(RECOMMEND)

    watched.watcher.check()

    assert watched.refused == [f"{watched.file}: {message}"]
    assert watched.watcher.problem
    assert watched.enforced == []
    watched.write(APPLY)
    watched.watcher.check()
    assert not watched.watcher.problem


def test_a_bug_makes_the_configuration_invalid_and_is_raised_once(
    tmp_path: Path,
) -> None:
    watched = Watched(tmp_path, ZeroDivisionError("a secret"))
    watched.write(RECOMMEND)

    with pytest.raises(ZeroDivisionError):
        watched.watcher.check()
    watched.watcher.check()

    message = "cannot be read, by a bug of evenspread (ZeroDivisionError)"
    assert watched.refused == [f"{watched.file}: {message}"]
    assert watched.watcher.problem
    watched.write(APPLY)
    watched.watcher.check()
    assert not watched.watcher.problem


def test_after_a_bug_the_next_call_uses_the_version(tmp_path: Path) -> None:
    watched = Watched(tmp_path, ZeroDivisionError())

    with pytest.raises(ZeroDivisionError):
        watched.watcher.use_version(Version(1, 30))
    watched.watcher.use_version(Version(1, 30))

    assert [policy.gates.version for policy in watched.enforced] == [Version(1, 30)]
