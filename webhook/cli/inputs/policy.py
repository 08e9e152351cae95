"""What the options ask for: configuration, version and gates, as values of the policy."""

from typing import NamedTuple

from webhook.cli.output import say
from webhook.config import Configuration, gates_in_force, load, policy
from webhook.policy.api.gates import Gates
from webhook.policy.api.versions import (
    NEWEST_VERSION,
    Span,
    Version,
    known,
    parse_span,
    parse_version,
)
from webhook.policy.defaulting.profiles import Policy


class AskedPolicy(NamedTuple):
    """
    What to judge by, as options say it; empty texts were not given.

    Attributes:
        configuration: Of ``--config`` or ``--scheduler-config``.
        gates: Of the file, ``--feature-gates`` and ``--kube-version``.
    """

    configuration: Configuration
    gates: Gates

    @property
    def policy(self) -> Policy:
        """The value that the server would judge by."""
        return policy(self.configuration, self.gates)


class AskedVersions(NamedTuple):
    """
    What to judge by, for one or more versions.

    Attributes:
        configuration: Of ``--config``.
        gates: Of each version, oldest first; at least one.
    """

    configuration: Configuration
    gates: tuple[Gates, ...]


def asked_policy(
    *,
    kube_version: str,
    feature_gates: str,
    allow_locked_gates: bool,
    config: str,
    scheduler_config: str = "",
) -> AskedPolicy:
    """
    Read what options name.

    Raises:
        ConfigError: Whatever is wrong with it.
    """
    version = _told_if_newer(parse_version(kube_version) if kube_version else NEWEST_VERSION)
    configuration = load(config, scheduler_config)
    gates = gates_in_force(configuration, version, feature_gates, allow_locked=allow_locked_gates)
    return AskedPolicy(configuration, gates)


def asked_versions(
    *, kube_version: str, feature_gates: str, allow_locked_gates: bool, config: str
) -> AskedVersions:
    """
    Read what options name, for each of the versions in ``kube_version``.

    Raises:
        ConfigError: Whatever is wrong with it, at any version.
    """
    span = parse_span(kube_version) if kube_version else Span(NEWEST_VERSION, NEWEST_VERSION)
    _told_if_newer(span.last)
    configuration = load(config)
    gates = (
        gates_in_force(configuration, version, feature_gates, allow_locked=allow_locked_gates)
        for version in span.versions
    )
    return AskedVersions(configuration, tuple(gates))


def _told_if_newer(version: Version) -> Version:
    """The version to judge by; says so if it is another."""
    if version > NEWEST_VERSION:
        say(f"Kubernetes {version} is newer than what is known: judged as {NEWEST_VERSION}")
    return known(version)
