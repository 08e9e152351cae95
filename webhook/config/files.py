"""Read configuration files with ``load``; ``configuration`` interprets their text."""

from datetime import timedelta
from pathlib import Path

from webhook.config.configuration import Configuration, check, check_scheduler
from webhook.config.spread import LEAST_CA_OVERLAP
from webhook.config.validation import read_document
from webhook.errors import CombinedConfigError, ConfigError

MAX_CONFIG_BYTES = 2**20
"""Largest file to read; a ConfigMap, the usual source of the file, cannot be larger."""


def load(
    config: str = "", scheduler_config: str = "", *, least_overlap: timedelta = LEAST_CA_OVERLAP
) -> Configuration:
    """
    Read and check the configuration; the default one, without profiles, if no path is given.

    Args:
        config: Path of a ``SpreadConfiguration``; empty if there is none.
        scheduler_config: Path of a kube-scheduler file instead; empty if there is none.
        least_overlap: Shortest valid ``caOverlap``.

    Raises:
        CombinedConfigError: All errors, including files that cannot be read.
    """
    if config and scheduler_config:
        problem = "cannot be given together with --config: name the file in a profile there, as "
        example = "`schedulerConfiguration: kube-scheduler.yaml`"
        raise CombinedConfigError([ConfigError(f"{problem}{example}", "--scheduler-config")])
    if not config and not scheduler_config:
        return Configuration()
    file = config or scheduler_config
    try:
        text = read_text(file)
    except ConfigError as error:
        raise CombinedConfigError([error]) from error
    document = read_document(text, file)
    if scheduler_config:
        return check_scheduler(document)
    return check(document, read_text, least_overlap=least_overlap)


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
