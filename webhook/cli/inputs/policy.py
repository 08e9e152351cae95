"""Policy that the options request: configuration, Kubernetes version and feature gates."""

from typing import NamedTuple

from msgspec.structs import replace

from webhook.cli.output import write_stderr
from webhook.config.configuration import Configuration, policy
from webhook.config.files import load
from webhook.config.gates import gates_in_force
from webhook.config.project import Project
from webhook.errors import ConfigError
from webhook.policy.api import versions
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.profiles import FieldDefaults, Policy


class RequestedPolicy(NamedTuple):
    """
    Configuration and gates for one Kubernetes version, as the options request.

    Attributes:
        is_configured: Whether a configuration is named, and not the default one used.
    """

    configuration: Configuration
    gates: Gates
    is_configured: bool = False

    @property
    def policy(self) -> Policy:
        """The policy that the server would apply."""
        return policy(self.configuration, self.gates)

    @property
    def audit_policy(self) -> Policy:
        """The policy of audits: without a configuration, no server fills in omitted fields."""
        if self.is_configured:
            return self.policy
        return replace(self.policy, field_defaults=FieldDefaults.NONE)


def read_policy(
    *,
    kube_version: str,
    feature_gates: str,
    allow_locked_gates: bool,
    config: str,
    scheduler_config: str = "",
    project: Project | None = None,
) -> RequestedPolicy:
    """
    Read the policy from the values of options; an empty string means an absent option.

    Args:
        project: The project, whose values are among those of the options.

    Raises:
        ConfigError: An option or a file is invalid.
    """
    version = _limit(versions.parse_version(kube_version or str(versions.NEWEST_VERSION)))
    configuration = load_configuration(config, scheduler_config, project)
    gates = gates_in_force(configuration, version, feature_gates, allow_locked=allow_locked_gates)
    return RequestedPolicy(configuration, gates, is_configured=bool(config or scheduler_config))


def read_policy_versions(
    *,
    kube_version: str,
    feature_gates: str,
    allow_locked_gates: bool,
    config: str,
    project: Project | None = None,
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
    configuration = load_configuration(config, "", project)
    return configuration, [
        gates_in_force(configuration, version, feature_gates, allow_locked=allow_locked_gates)
        for version in span.versions
    ]


def load_configuration(
    config: str, scheduler_config: str, project: Project | None
) -> Configuration:
    """
    Load the configuration that options or the project name.

    An option replaces the configuration of the project, also one of the other kind. A configuration
    of the project must not name files outside of the project's folder.

    Raises:
        ConfigError: A file is invalid.
    """
    if project is None:
        return load(config, scheduler_config)
    if config and scheduler_config:
        config = "" if config == project.config else config
        scheduler_config = "" if scheduler_config == project.scheduler_config else scheduler_config
    is_named = (config or scheduler_config) in (project.config, project.scheduler_config)
    return load(config, scheduler_config, read=project.read if is_named else None)


def apply_actions(requested: RequestedPolicy, project: Project | None) -> RequestedPolicy:
    """
    Apply the actions of a project's rules to a policy; they go before those of profiles.

    Raises:
        ConfigError: The project exempts from a rule that the configuration does not allow it for.
    """
    if project is None:
        return requested
    configuration = requested.configuration
    check_exemptions(project, configuration)
    actions = {**configuration.actions, **project.actions}
    profiles = tuple(
        replace(profile, actions={**profile.actions, **project.actions})
        if profile.actions
        else profile
        for profile in configuration.profiles
    )
    changed = replace(configuration, actions=actions, profiles=profiles)
    return requested._replace(configuration=changed)


def check_exemptions(project: Project, configuration: Configuration) -> None:
    """
    Check that a project exempts from no rule that the configuration does not allow it for.

    A rule that the configuration allows it for in some profiles only is checked for each object.

    Raises:
        ConfigError: It does.
    """
    allowed = {
        rule
        for profile in configuration.profiles
        for rule, is_exemptible in profile.exemptible.items()
        if is_exemptible
    }
    for exemption in project.exemptions:
        forbidden = sorted((exemption.rules & configuration.not_exemptible) - allowed)
        if forbidden:
            problem = "cannot be exempted from: the configuration forbids it"
            raise ConfigError(f"{forbidden[0]} {problem}", exemption.where)


def _limit(version: versions.Version) -> versions.Version:
    """Limit a version to the newest supported one, with a warning if it is newer."""
    if version > versions.NEWEST_VERSION:
        write_stderr(
            f"Kubernetes {version} is newer than the supported versions: "
            f"the rules of {versions.NEWEST_VERSION} apply"
        )
    return versions.limit_to_known(version)
