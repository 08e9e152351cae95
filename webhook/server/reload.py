"""
Following the configuration while it changes, without ever being left with a bad one.

Files are looked at again and again: a mounted ConfigMap changes by swapping a symbolic link, which
is no event of the file that was opened.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, TypeAlias

from webhook.config import Configuration, gates_in_force, load, policy
from webhook.errors import ConfigError
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import Policy

Print: TypeAlias = tuple[int, int, int] | None

_EXHAUSTION: dict[type[Exception], str] = {
    RecursionError: "is nested too deeply",
    MemoryError: "needs more memory than there is",
    UnicodeError: "is not UTF-8: save it as such",
}
"""What the files are, where a parser gives up without a sentence of its own."""


class PolicySources(NamedTuple):
    """
    What flags and variables say of the policy: files, gates, and the version to judge by.

    Attributes:
        least_overlap: A configuration with a shorter ``caOverlap`` is wrong.
        validates_pods: Whether new pods are sent to the validating hook; None: as the policy says.
    """

    config: str
    scheduler_config: str
    feature_gates: str
    version: Version
    allow_locked_gates: bool
    least_overlap: timedelta
    validates_pods: bool | None = None


def read_policy(asked: PolicySources) -> tuple[Configuration, Policy]:
    """
    Read the configuration, and make the policy of it.

    Raises:
        ConfigError: What is wrong, all of it.
    """
    configuration = load(asked.config, asked.scheduler_config, least_overlap=asked.least_overlap)
    gates = gates_in_force(
        configuration,
        asked.version,
        asked.feature_gates,
        allow_locked=asked.allow_locked_gates,
    )
    return configuration, policy(configuration, gates, validates_pods=asked.validates_pods)


Read: TypeAlias = Callable[[PolicySources], tuple[Configuration, Policy]]
"""Reads the configuration; ``read_policy``."""


class ReloadResult(NamedTuple):
    """
    What became of a changed configuration.

    Attributes:
        valid: Whether it is in force now; otherwise the old one still is.
        says: Why not; else what should be known, which may be nothing.
    """

    valid: bool
    says: str


class ConfigurationWatcher:
    """
    Puts a new policy in force when the files say something new that can be used.

    Attributes:
        valid: Whether what is in force is what the files say.
    """

    def __init__(
        self,
        asked: PolicySources,
        configuration: Configuration,
        enforce: Callable[[Configuration, Policy], None],
        tell: Callable[[ReloadResult], None],
        read: Read = read_policy,
    ) -> None:
        """
        Remember how the files look.

        Args:
            configuration: What is in force.
            enforce: Puts another one in force.
            tell: Takes what became of each change.
        """
        self._asked = asked
        self._files = configuration.files
        self._seen = self._prints()
        self._enforce = enforce
        self._tell = tell
        self._read_policy = read
        self.valid = True

    async def run(
        self, interval_s: float, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        """Look again and again, until cancelled."""
        while True:
            await sleep(interval_s)
            self.look()

    def look(self) -> None:
        """
        Read the files again if they look different.

        Raises:
            Exception: A bug, once for each version of the files; the old one stays in force.
        """
        prints = self._prints()
        if prints != self._seen:
            self._seen = prints
            self._read()

    def judge_by(self, version: Version) -> None:
        """
        Take the API server for one of another version, if it is not taken for that already.

        Raises:
            Exception: A bug; the next call tries again.
        """
        before = self._asked
        if version == before.version:
            return
        self._asked = before._replace(version=version)
        try:
            self._read()
        except Exception:
            self._asked = before
            raise

    def _read(self) -> None:
        try:
            configuration, read = self._read_policy(self._asked)
        except ConfigError as error:
            self._refuse(error)
            return
        except tuple(_EXHAUSTION) as error:
            problem = next(says for kind, says in _EXHAUSTION.items() if isinstance(error, kind))
            self._refuse(ConfigError(problem, self._file))
            return
        except Exception as error:
            problem = f"cannot be read, by a bug of evenspread ({type(error).__name__})"
            self._refuse(ConfigError(problem, self._file))
            raise
        self._files = configuration.files
        self._seen = self._prints()
        self.valid = True
        self._enforce(configuration, read)
        self._tell(ReloadResult(valid=True, says="; ".join(configuration.notices)))

    @property
    def _file(self) -> str:
        return self._asked.config or self._asked.scheduler_config

    def _refuse(self, error: ConfigError) -> None:
        self.valid = False
        self._tell(ReloadResult(valid=False, says=str(error)))

    def _prints(self) -> list[Print]:
        return [_print_of(file) for file in self._files]


def _print_of(file: str) -> Print:
    """What tells one version of a file from another; None if there is no file."""
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
