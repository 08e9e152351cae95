"""Read the text of a configuration file or a project file with ``read_text``."""

from collections.abc import Callable
from pathlib import Path

from webhook.errors import ConfigError

Read = Callable[[str], str]
"""Returns the text of a file that a configuration names; raises ``ConfigError``."""

MAX_CONFIG_BYTES = 2**20
"""Largest file to read; a ConfigMap, the usual source of the file, cannot be larger."""


def read_text(file: str) -> str:
    """
    Read a configuration file as text.

    Raises:
        ConfigError: It cannot be read, is too large, or is not UTF-8.
    """
    try:
        with Path(file).open("rb") as opened:
            content = opened.read(MAX_CONFIG_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a valid file name"
        raise ConfigError(f"{file!r} cannot be read: {reason}") from error
    if len(content) > MAX_CONFIG_BYTES:
        raise ConfigError(
            f"{file!r} is larger than 1 MiB, and so than any ConfigMap: is it the right one?"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file!r} is not UTF-8: save it as such") from error
