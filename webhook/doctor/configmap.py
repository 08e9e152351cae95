"""
The configuration of an installation, read from its ConfigMap.

``read_config_map`` uses the server's own reader, so that doctor and server agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from webhook.config.configuration import Configuration
from webhook.config.documents import check
from webhook.config.gates import gates_in_force
from webhook.config.validation import read_document
from webhook.doctor.objects import ConfigMap
from webhook.errors import ConfigError, VersionError
from webhook.policy.api.gates import Gates
from webhook.policy.api.versions import NEWEST_VERSION, parse_version

DEFAULT_ENTRY = "config.yaml"  # the entry that the shipped manifests use


@dataclass(frozen=True)
class InstalledConfiguration:
    """The configuration of an installation, and the feature gates in force."""

    configuration: Configuration
    gates: Gates


def read_config_map(
    config_map: ConfigMap, settings: Mapping[str, str], kubernetes: str = ""
) -> InstalledConfiguration:
    """
    Read the configuration that the server reads.

    Args:
        config_map: Its entries are the files of the configuration.
        settings: Flags and variables of the server.
        kubernetes: Version of the API server; the newest supported one replaces an invalid one.

    Raises:
        ConfigError: The configuration has errors; lists all of them.
    """
    name = PurePosixPath(settings.get("config", DEFAULT_ENTRY)).name

    def read_entry(file: str) -> str:
        try:
            return config_map.data[PurePosixPath(file).name]
        except KeyError:
            entries = ", ".join(sorted(config_map.data)) or "nothing"
            raise ConfigError(f"{file!r} is not in the ConfigMap, which has {entries}") from None

    try:
        version = parse_version(settings.get("kube-version") or kubernetes)
    except VersionError:
        version = NEWEST_VERSION
    configuration = check(read_document(read_entry(name), name), read_entry)
    gates = gates_in_force(
        configuration,
        version,
        settings.get("feature-gates", ""),
        allow_locked=settings.get("allow-locked-gates") == "true",
    )
    return InstalledConfiguration(configuration, gates)


def read_if_valid(
    config_map: ConfigMap | None, settings: Mapping[str, str], kubernetes: str = ""
) -> InstalledConfiguration | None:
    """Read the configuration as ``read_config_map`` does; None if it is missing or has errors."""
    try:
        return read_config_map(config_map, settings, kubernetes) if config_map else None
    except ConfigError:
        return None
