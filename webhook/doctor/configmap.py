"""The configuration of an installation, read out of its ConfigMap by the server's own reader."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from webhook.config import Configuration, check, gates_in_force
from webhook.doctor import objects
from webhook.errors import ConfigError
from webhook.policy.api.gates import Gates
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.model import GroupKind

FILE = "config.yaml"  # what the manifests name it


class InstalledConfiguration(NamedTuple):
    """
    What a ConfigMap says.

    Attributes:
        gates: Those in force with it.
    """

    configuration: Configuration
    gates: Gates


def read_config_map(
    held: objects.ConfigMap, settings: Mapping[str, str], version: Version = NEWEST_VERSION
) -> InstalledConfiguration:
    """
    Read what the server reads.

    Args:
        settings: Flags and variables of the server.
        version: Of the API server.

    Raises:
        ConfigError: Everything that is wrong with it.
    """
    name = PurePosixPath(settings.get("config", FILE)).name

    def entry(file: str) -> str:
        try:
            return held.data[PurePosixPath(file).name]
        except KeyError:
            there = ", ".join(sorted(held.data)) or "nothing"
            raise ConfigError(f"{file!r} is not in the ConfigMap, which has {there}") from None

    configuration = check(entry(name), name, entry)
    gates = gates_in_force(
        configuration,
        version,
        settings.get("feature-gates", ""),
        allow_locked=settings.get("allow-locked-gates") == "true",
    )
    return InstalledConfiguration(configuration, gates)


def list_owner_kinds(held: objects.ConfigMap | None) -> list[GroupKind]:
    """The custom controllers that a ConfigMap names; none if it cannot be read."""
    if held is None:
        return []
    try:
        configuration = read_config_map(held, {}).configuration
    except ConfigError:
        return []
    return [each.kind for each in configuration.owner_selectors]
