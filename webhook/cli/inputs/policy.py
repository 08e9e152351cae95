"""Policy that the options request: configuration, Kubernetes version and feature gates."""

from typing import NamedTuple

from webhook.cli.output import write_stderr
from webhook.config import Configuration, gates_in_force, load, policy
from webhook.policy.api import versions
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.profiles import Policy


class RequestedPolicy(NamedTuple):
    """Configuration and gates for one Kubernetes version, as the options request."""

    configuration: Configuration
    gates: Gates

    @property
    def policy(self) -> Policy:
        """The policy that the server would apply."""
        return policy(self.configuration, self.gates)


def read_policy(
    *,
    kube_version: str,
    feature_gates: str,
    allow_locked_gates: bool,
    config: str,
    scheduler_config: str = "",
) -> RequestedPolicy:
    """
    Read the policy from the values of options; an empty string means an absent option.

    Raises:
        ConfigError: An option or a file is invalid.
    """
    version = _limit(versions.parse_version(kube_version or str(versions.NEWEST_VERSION)))
    configuration = load(config, scheduler_config)
    gates = gates_in_force(configuration, version, feature_gates, allow_locked=allow_locked_gates)
    return RequestedPolicy(configuration, gates)


def read_policy_versions(
    *, kube_version: str, feature_gates: str, allow_locked_gates: bool, config: str
) -> tuple[Configuration, list[Gates]]:
    """
    Read the policy for every version in ``kube_version``.

    Returns:
        The configuration, and the gates of each version, oldest first; at least one.

    Raises:
        ConfigError: An option or a file is invalid, at any of the versions.
    """
    span = versions.parse_version_range(kube_version or str(versions.NEWEST_VERSION))
    _limit(span.last)
    configuration = load(config)
    return configuration, [
        gates_in_force(configuration, version, feature_gates, allow_locked=allow_locked_gates)
        for version in span.versions
    ]


def _limit(version: versions.Version) -> versions.Version:
    """Limit a version to the newest supported one, with a warning if it is newer."""
    if version > versions.NEWEST_VERSION:
        write_stderr(
            f"Kubernetes {version} is newer than the supported versions: "
            f"the rules of {versions.NEWEST_VERSION} apply"
        )
    return versions.limit_to_known(version)
