"""
Following the configuration while it changes, without ever being left with a bad one.

Files are looked at again and again: a mounted ConfigMap changes by swapping a symbolic link, which
is no event of the file that was opened.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from webhook.config import Configuration, gates_in_force, load, policy
from webhook.errors import ConfigError
from webhook.logs import Log
from webhook.metrics import Metrics
from webhook.policy.versions import Version
from webhook.policy.profiles import Policy

INTERVAL_S = 10.0  # as long as certificates; a kubelet takes a minute to write a ConfigMap anyway

Print: TypeAlias = tuple[int, int, int] | None


class Asked(NamedTuple):
    """What flags and variables say of the policy: files, gates, and the version to judge by."""

    config: str
    scheduler_config: str
    feature_gates: str
    version: Version
    allow_locked_gates: bool


def read_policy(asked: Asked) -> tuple[Configuration, Policy]:
    """
    Read the configuration, and make the policy of it.

    Raises:
        ConfigError: What is wrong, all of it.
    """
    configuration = load(asked.config, asked.scheduler_config)
    gates = gates_in_force(
        configuration,
        asked.version,
        asked.feature_gates,
        allow_locked=asked.allow_locked_gates,
    )
    return configuration, policy(configuration, gates)


class Follower:
    """
    Puts a new policy in force when the files say something new that can be used.

    Attributes:
        valid: Whether what is in force is what the files say.
    """

    def __init__(
        self,
        asked: Asked,
        configuration: Configuration,
        enforce: Callable[[Policy], None],
        metrics: Metrics,
        log: Log,
    ) -> None:
        """
        Remember how the files look.

        Args:
            configuration: What is in force.
            enforce: Puts a policy in force.
        """
        self._asked = asked
        self._files = configuration.files
        self._seen = self._prints()
        self._enforce = enforce
        self._metrics = metrics
        self._log = log
        self.valid = True
        metrics.config_valid.set(1)

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Look every ten seconds, until cancelled."""
        while True:
            await sleep(INTERVAL_S)
            self.look()

    def look(self) -> None:
        """Read the files again if they look different."""
        prints = self._prints()
        if prints == self._seen:
            return
        self._seen = prints
        try:
            configuration, read = read_policy(self._asked)
        except ConfigError as error:
            self._tell("failure", valid=False, problem=str(error))
            return
        self._files = configuration.files
        self._seen = self._prints()
        self._enforce(read)
        self._tell("success", valid=True, notices=configuration.notices)

    def _tell(self, result: str, *, valid: bool, **about: object) -> None:
        self.valid = valid
        self._metrics.reloads.labels(result).inc()
        self._metrics.config_valid.set(valid)
        (self._log.info if valid else self._log.error)("reload", result=result, **about)

    def _prints(self) -> list[Print]:
        return [_print_of(file) for file in self._files]


def _print_of(file: str) -> Print:
    """What tells one version of a file from another; None if there is no file."""
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
