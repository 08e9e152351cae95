"""
Profiles of default constraints in the resource ``SpreadPolicy``, and their order.

``read_spread_policies`` reads those of manifests, ``check_spread_policy`` one of an API server, and
``merge_profiles`` puts those of a cluster behind the profiles of files. This module does no I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace
from pydantic import Field

from webhook.config.configuration import Configuration, list_denying_rules, select_denying
from webhook.config.messages import format_place, suggest_choice, suggest_word
from webhook.config.models import Int32
from webhook.config.profilenotices import describe_audit_denials
from webhook.config.profiles import build_profile
from webhook.config.rulesettings import PolicyRuleSettings
from webhook.config.spread import DefaultConstraints, ProfileFields, find_name_problems
from webhook.config.validation import DocumentValidation
from webhook.errors import CombinedConfigError, ConfigError
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import GroupKind
from webhook.policy.paths import FieldPath, find_value, without_nulls

SPREAD_POLICY = GroupKind("evenspread.io", "SpreadPolicy")
POLICY_VERSION = "v1alpha1"
POLICY_API_VERSION = f"{SPREAD_POLICY.group}/{POLICY_VERSION}"

_SPEC: FieldPath = ("spec",)
_KEYS = ("apiVersion", "kind", "metadata", "spec", "status")


class SpreadPolicySpec(ProfileFields):
    """
    The ``spec`` of a SpreadPolicy.

    The schema of the CustomResourceDefinition, deploy/chart/templates/crds.yaml, has its fields.
    """

    order: Int32 = 0
    default_constraints: DefaultConstraints = Field(examples=["[]"])
    rules: PolicyRuleSettings = Field({})


class SpreadPolicy(NamedTuple):
    """
    A profile in the resource ``SpreadPolicy``.

    Attributes:
        order: Sorts the policies of a cluster, then their names do; from -2**31 to 2**31 - 1.
        profile: Its profile, which has the name of the object.
    """

    order: int
    profile: Profile

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.profile.name


class _ObjectValidation(DocumentValidation):
    """The validation of an object that is in no file."""

    def where(self, path: FieldPath = ()) -> str:
        """Format the path alone, such as ``spec.order``."""
        return format_place(path)


def read_spread_policy(document: Document) -> SpreadPolicy:
    """
    Read a SpreadPolicy of a manifest.

    Raises:
        CombinedConfigError: All errors in it, with their lines.
    """
    value = without_nulls(document.value)
    reading = DocumentValidation(replace(document, value=value))
    _check_keys(reading)
    return _read(reading)


def _check_keys(reading: DocumentValidation) -> None:
    """Refuse unknown keys beside the specification, which API servers refuse or remove."""
    fields = [field.alias or name for name, field in SpreadPolicySpec.model_fields.items()]
    for key in reading.document.value.keys() - set(_KEYS):
        hint = f"did you mean spec.{key}?" if key in fields else suggest_word(key, _KEYS)
        reading.refuse(f"no such key: {hint}", (key,))


def check_spread_policy(value: Any) -> SpreadPolicy:
    """
    Read a SpreadPolicy of an API server, as a value of JSON's types.

    Raises:
        CombinedConfigError: All errors in it, without the name of the object.
    """
    document = Document("", without_nulls(value), DocumentText("{}", 1, 0))
    return _read(_ObjectValidation(document))


def _read(reading: DocumentValidation) -> SpreadPolicy:
    document = reading.document
    if document.api_version != POLICY_API_VERSION:
        choice = suggest_choice(document.api_version, [POLICY_API_VERSION])
        reading.refuse(f"{choice}; this version of evenspread reads no other", ("apiVersion",))
        reading.finish()
    for problem in find_name_problems(document.name):
        reading.refuse(problem, ("metadata", "name"))
    written = find_value(document.value, _SPEC)
    if written is None:
        problem = "is missing: write it with at least `defaultConstraints`, which may be []"
        reading.refuse(problem, _SPEC)
        reading.finish()
    spec = reading.model(SpreadPolicySpec, written, _SPEC)
    reading.finish()
    assert spec is not None, "an invalid object has errors"
    profile = build_profile(document.name, spec, spec.default_constraints)
    return SpreadPolicy(spec.order, profile)


def read_spread_policies(documents: Iterable[Document]) -> dict[str, SpreadPolicy]:
    """
    Read the SpreadPolicies among the objects of manifests.

    Returns:
        Name -> policy; of two with the same name, the first one.

    Raises:
        CombinedConfigError: All errors in them, with their files and lines.
    """
    found: dict[str, SpreadPolicy] = {}
    errors: list[ConfigError] = []
    for document in documents:
        if document.group_kind == SPREAD_POLICY:
            try:
                policy = read_spread_policy(document)
                found.setdefault(policy.name, policy)
            except CombinedConfigError as error:
                errors += error.errors
    if errors:
        raise CombinedConfigError(errors)
    return found


class PolicyNotice(NamedTuple):
    """
    A SpreadPolicy that is not used, or that is not enforced for new pods.

    Attributes:
        reason: Word for Events, such as ``SpreadPolicyUnused``.
        message: A sentence without a final full stop.
    """

    reason: str
    message: str


class MergedProfiles(NamedTuple):
    """
    Profiles of files and of SpreadPolicies.

    Attributes:
        files: Those of files, in their order.
        used: Those of SpreadPolicies that follow, in their order.
        unused: Names of the SpreadPolicies that are left out, as a profile of a file has the name.
    """

    files: tuple[Profile, ...]
    used: tuple[Profile, ...]
    unused: tuple[str, ...]

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """All profiles in their order: the first one that fits a pod applies."""
        return self.files + self.used

    def list_notices(self, *, validates_pods: bool) -> list[PolicyNotice]:
        """
        List the SpreadPolicies that are not used, or that are not enforced for new pods.

        Args:
            validates_pods: Whether the validating webhook receives new pods.
        """
        unused = [describe_unused(name) for name in self.unused]
        if validates_pods:
            return unused
        denying = ((one.name, list(select_denying(one.actions))) for one in self.used)
        return unused + [_describe_unenforced(name, rules) for name, rules in denying if rules]


def merge_profiles(files: Sequence[Profile], policies: Iterable[SpreadPolicy]) -> MergedProfiles:
    """
    Put SpreadPolicies behind the profiles of files, by order and then by name.

    Args:
        policies: With different names.
    """
    taken = {profile.name for profile in files}
    ordered = sorted(policies, key=lambda policy: (policy.order, policy.name))
    used = (policy.profile for policy in ordered if policy.name not in taken)
    unused = (policy.name for policy in ordered if policy.name in taken)
    return MergedProfiles(tuple(files), tuple(used), tuple(unused))


def describe_unused(name: str) -> PolicyNotice:
    """Describe a SpreadPolicy that is left out, since a profile of a file has its name."""
    problem = "a profile of the configuration has its name; rename one of the two"
    return PolicyNotice("SpreadPolicyUnused", f"SpreadPolicy {name!r} is not used: {problem}")


def _describe_unenforced(name: str, rules: Sequence[str]) -> PolicyNotice:
    """Describe a SpreadPolicy that denies pods, which the webhook does not receive."""
    problem = (
        f"denies by {', '.join(rules)}, but not new pods, since the validating webhook does not "
        "receive them; set validatePods: true in the values of the chart"
    )
    return PolicyNotice("SpreadPolicyUnenforced", f"SpreadPolicy {name!r} {problem}")


def add_policies(
    configuration: Configuration, policies: Mapping[str, SpreadPolicy]
) -> Configuration:
    """Add SpreadPolicies, by name, to the profiles of a configuration."""
    merged = merge_profiles(configuration.profiles, policies.values())
    used = policies.keys() - set(merged.unused)
    notices = merged.list_notices(validates_pods=any(list_denying_rules(configuration)))
    denials = ((one.name, describe_audit_denials(one.actions)) for one in merged.used)
    return replace(
        configuration,
        profiles=merged.profiles,
        orders={name: policies[name].order for name in used},
        notices=(
            *configuration.notices,
            *(notice.message for notice in notices),
            *(f"SpreadPolicy {name!r}: {words}" for name, words in denials if words),
        ),
    )
