"""What the options ask for: configuration, version and gates, as values of the policy."""

from typing import NamedTuple

from webhook.cli.output import say
from webhook.config import Configuration, gates_in_force, load, policy
from webhook.policy.gates import Gates
from webhook.policy.profiles import Policy
from webhook.policy.versions import NEWEST, parse_version


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
    version = parse_version(kube_version) if kube_version else NEWEST
    if version > NEWEST:
        say(f"Kubernetes {version} is newer than what is known: judged as {NEWEST}")
        version = NEWEST
    configuration = load(config, scheduler_config)
    gates = gates_in_force(configuration, version, feature_gates, allow_locked=allow_locked_gates)
    return AskedPolicy(configuration, gates)
