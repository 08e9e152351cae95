"""
A change of policies to try: ``read_proposal`` reads it from ``-f`` and ``--remove``.

A file holds SpreadPolicies, which are added to those in force or replace them, or a
SpreadConfiguration, which replaces that of ``--config``. Nothing here reads a cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from webhook.audit.strict import name_lines
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.config.configuration import CONFIGURATION_KIND, Configuration
from webhook.config.documents import check
from webhook.config.filetext import read_text
from webhook.config.gates import gates_in_force
from webhook.config.messages import suggest_word
from webhook.config.policyobjects import read_spread_policies
from webhook.config.spreadpolicies import SPREAD_POLICY, SpreadPolicy, add_policies
from webhook.errors import ConfigError
from webhook.manifests import Document
from webhook.policy.paths import without_nulls

REMOVE = "--remove"

_TAKEN = f"SpreadPolicies or a {CONFIGURATION_KIND}"


class GateOptions(NamedTuple):
    """The values of the options for feature gates, which hold before and after a change."""

    feature_gates: str = ""
    allow_locked_gates: bool = False


class PolicyChange(NamedTuple):
    """
    A change of policies.

    Attributes:
        before: What is in force, with its SpreadPolicies.
        after: What would be in force.
    """

    before: RequestedPolicy
    after: RequestedPolicy


class ProposedPolicies(NamedTuple):
    """
    What the files of ``-f`` propose, and the names of ``--remove``.

    Attributes:
        policies: By name.
        configuration: A new configuration; None to keep that in force.
        removed: Names of SpreadPolicies.
    """

    policies: Mapping[str, SpreadPolicy]
    configuration: Configuration | None
    removed: tuple[str, ...]

    def apply(
        self, requested: RequestedPolicy, in_force: Mapping[str, SpreadPolicy], gates: GateOptions
    ) -> PolicyChange:
        """
        Apply the proposal to what is in force.

        Args:
            requested: The configuration in force, without SpreadPolicies.
            in_force: The SpreadPolicies in force, by name.

        Raises:
            ConfigError: A policy to remove is not in force, or a gate cannot be set.
        """
        self._check_removed(requested, in_force)
        kept = {name: one for name, one in in_force.items() if name not in self.removed}
        changed = requested
        if self.configuration is not None:
            version, flag = requested.gates.version, gates.feature_gates
            locked = gates.allow_locked_gates
            found = gates_in_force(self.configuration, version, flag, allow_locked=locked)
            changed = RequestedPolicy(self.configuration, found)
        return PolicyChange(_add(requested, in_force), _add(changed, {**kept, **self.policies}))

    def _check_removed(
        self, requested: RequestedPolicy, in_force: Mapping[str, SpreadPolicy]
    ) -> None:
        in_files = {profile.name for profile in requested.configuration.profiles}
        for name in self.removed:
            if name in self.policies:
                raise ConfigError(f"{name!r} is also in -f: name it in one of the two", REMOVE)
            if name in in_force:
                continue
            if name in in_files:
                raise ConfigError(
                    f"{name!r} is a profile of the configuration: give a {CONFIGURATION_KIND} "
                    "without it with -f",
                    REMOVE,
                )
            advice = "there are none"
            if in_force:
                advice = suggest_word(name, sorted(in_force))
            raise ConfigError(f"no {SPREAD_POLICY.kind} {name!r} is in force: {advice}", REMOVE)


def _add(requested: RequestedPolicy, policies: Mapping[str, SpreadPolicy]) -> RequestedPolicy:
    return requested._replace(configuration=add_policies(requested.configuration, policies))


def read_proposal(inputs: Inputs, removed: Sequence[str]) -> ProposedPolicies:
    """
    Read a proposal.

    Args:
        inputs: The files of ``-f``; receives their problems.
        removed: The values of ``--remove``.

    Raises:
        ConfigError: A file holds another kind of object, or an invalid one, two of the same name,
            or there is nothing to change.
    """
    documents = list(inputs.objects())
    for document in documents:
        if document.group_kind != SPREAD_POLICY and document.kind != CONFIGURATION_KIND:
            raise ConfigError(
                f"is a {document.kind}: -f takes {_TAKEN}; name facts with --facts",
                document.place(),
            )
        for key in document.find_duplicate_keys():
            raise ConfigError(
                f"duplicate key {key.path[-1]!r}: {name_lines(key)}", document.place(key.path)
            )
    policies = [one for one in documents if one.group_kind == SPREAD_POLICY]
    _refuse_repeated(policies)
    configuration = _read_configuration(
        [one for one in documents if one.group_kind != SPREAD_POLICY]
    )
    found = read_spread_policies(policies)
    if not (found or configuration or removed or inputs.problems):
        raise ConfigError(f"nothing to try: name {_TAKEN} with -f, or a policy with {REMOVE}")
    return ProposedPolicies(found, configuration, tuple(dict.fromkeys(removed)))


def _refuse_repeated(policies: Iterable[Document]) -> None:
    known: dict[str, Document] = {}
    for one in policies:
        if one.name and (other := known.setdefault(one.name, one)) is not one:
            problem = f"{SPREAD_POLICY.kind} {one.name!r} is also at {other.place()}: keep one"
            raise ConfigError(problem, one.place())


def _read_configuration(documents: Sequence[Document]) -> Configuration | None:
    if not documents:
        return None
    first, *others = documents
    for other in others:
        problem = f"is a second {CONFIGURATION_KIND}: only one is in force"
        raise ConfigError(problem, other.place())
    value: Any = without_nulls(first.value)
    return check(replace(first, value=value), read_text)
