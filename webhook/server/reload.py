"""
Reload of a changed configuration.

``ConfigurationWatcher`` polls the files and puts each valid version in force; an invalid one leaves
the old one in force. It polls because a mounted ConfigMap changes by swapping a symbolic link,
which is no event on the file that was opened.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from webhook.config.configuration import Configuration, policy
from webhook.config.files import load
from webhook.config.gates import gates_in_force
from webhook.errors import ConfigError
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import Policy

Fingerprint: TypeAlias = tuple[int, int, int] | None
"""Inode, size and time of change of a file; None if there is no file."""

_EXHAUSTION: dict[type[Exception], str] = {
    RecursionError: "is nested too deeply",
    MemoryError: "needs more memory than there is",
    UnicodeError: "is not UTF-8: save it as such",
}
"""The problem of a file for each exception with which a parser gives up without a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySources:
    """
    What flags and variables set of the policy: files, feature gates and Kubernetes version.

    Attributes:
        least_overlap: The shortest valid ``caOverlap``.
        validates_pods: Whether the validating webhook gets new pods; None: as configured.
    """

    version: Version
    config: str = ""
    scheduler_config: str = ""
    feature_gates: str = ""
    allow_locked_gates: bool = False
    least_overlap: timedelta = timedelta()
    validates_pods: bool | None = None


def read_policy(sources: PolicySources) -> tuple[Configuration, Policy]:
    """
    Read the configuration and build its policy.

    Raises:
        ConfigError: All errors in it.
    """
    configuration = load(
        sources.config, sources.scheduler_config, least_overlap=sources.least_overlap
    )
    gates = gates_in_force(
        configuration,
        sources.version,
        sources.feature_gates,
        allow_locked=sources.allow_locked_gates,
    )
    return configuration, policy(configuration, gates, validates_pods=sources.validates_pods)


Read: TypeAlias = Callable[[PolicySources], tuple[Configuration, Policy]]


class ConfigurationWatcher:
    """
    Watches the configuration files and puts each new valid version in force.

    Attributes:
        sources: The sources of the next reload.
        problem: Why the files, which have changed, are not in force; empty if they are.
    """

    def __init__(  # noqa: PLR0913  # what tests replace: the clock and the reader
        self,
        sources: PolicySources,
        configuration: Configuration,
        enforce: Callable[[Configuration, Policy], None],
        refuse: Callable[[ConfigError], None],
        *,
        now: Callable[[], datetime],
        read: Read = read_policy,
    ) -> None:
        """
        Remember the present state of the files.

        Args:
            configuration: The one in force.
            enforce: Puts another one in force.
            refuse: Reports an invalid one.
            now: The wall clock: aware, UTC.
            read: Reads the files; replaced in tests of its exceptions.
        """
        self.sources = sources
        self._files = configuration.files
        self._seen = self._fingerprints()
        self._enforce = enforce
        self._report_refusal = refuse
        self._read_policy = read
        self._now = now
        self._since = now()  # when the configuration in force was read
        self.problem = ""

    async def run(
        self, interval_s: float, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        """Check the files at each interval, until cancelled."""
        while True:
            await sleep(interval_s)
            self.check()

    def check(self) -> None:
        """
        Read the files again if they have changed.

        Raises:
            Exception: A bug, once for each version of the files; the old one stays in force.
        """
        fingerprints = self._fingerprints()
        if fingerprints != self._seen:
            self._seen = fingerprints
            self._read()

    def use_version(self, version: Version) -> None:
        """
        Rebuild the policy for another Kubernetes version, unless it is the present one.

        Raises:
            Exception: A bug; the next call tries again.
        """
        before = self.sources
        if version == before.version:
            return
        self.sources = replace(before, version=version)
        try:
            self._read()
        except Exception:
            self.sources = before
            raise

    def _read(self) -> None:
        try:
            configuration, read = self._read_policy(self.sources)
        except ConfigError as error:
            self._refuse(error)
            return
        except tuple(_EXHAUSTION) as error:
            problem = next(text for kind, text in _EXHAUSTION.items() if isinstance(error, kind))
            self._refuse(ConfigError(problem, self._file))
            return
        except Exception as error:
            problem = f"cannot be read, by a bug of evenspread ({type(error).__name__})"
            self._refuse(ConfigError(problem, self._file))
            raise
        self._files = configuration.files
        self._seen = self._fingerprints()
        self._since = self._now()
        self.problem = ""
        self._enforce(configuration, read)

    @property
    def _file(self) -> str:
        return self.sources.config or self.sources.scheduler_config

    def _refuse(self, error: ConfigError) -> None:
        first, *others = str(error).splitlines() or [""]
        more = f" (and {len(others)} more)" if others else ""
        self.problem = (
            f"{first}{more}; the configuration of {self._since:%Y-%m-%d %H:%M} UTC stays in force"
        )
        self._report_refusal(error)

    def _fingerprints(self) -> list[Fingerprint]:
        return [_fingerprint(file) for file in self._files]


def _fingerprint(file: str) -> Fingerprint:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
