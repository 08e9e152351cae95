"""
Schema of the objects ``SpreadPolicy``, and their validation.

``read_spread_policies`` reads those of manifests, ``check_spread_policy`` one of an API server.
This module does no I/O; ``spreadpolicies`` orders the policies.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from pydantic import Field

from webhook.config.messages import format_place, suggest_choice, suggest_word
from webhook.config.models import Int32
from webhook.config.profiles import build_profile
from webhook.config.rulesettings import PolicyRuleSettings
from webhook.config.spread import DefaultConstraints, ProfileFields, find_name_problems
from webhook.config.spreadpolicies import POLICY_API_VERSION, SPREAD_POLICY, SpreadPolicy
from webhook.config.validation import DocumentValidation
from webhook.errors import CombinedConfigError, ConfigError
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy.paths import FieldPath, find_value, without_nulls

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
