"""
Schema of our own configuration file, ``SpreadConfiguration``.

This module validates one file; it must not read the files it names or resolve feature gates.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from webhook.config.configuration import CONFIGURATION_KIND
from webhook.config.constraints import DefaultConstraint, find_duplicates
from webhook.config.durations import parse_duration
from webhook.config.gatenames import GATE_NAMES, describe_unknown_gate
from webhook.config.lifetimes import CA_OVERLAP, LEAST_CA_OVERLAP
from webhook.config.messages import find_repeated_names, format_value, refusal, refuse
from webhook.config.models import (
    OwnerSelectorModel,
    SelectorModel,
    StrictModel,
    find_repeated_kinds,
    refusing,
)
from webhook.config.podtemplates import (
    ConstraintListModel,
    PodTemplateModel,
    find_repeated_places,
)
from webhook.config.rulesettings import ProfileRuleSettings, RuleSettings
from webhook.policy.api.labels import value_problems
from webhook.policy.defaulting.profiles import FieldDefaults, Merge, Mode, ScaleDown
from webhook.policy.paths import FieldPath

CONFIGURATION_API_VERSION = "evenspread.io/v1alpha1"

LEAST_OVERLAP = "least_overlap"
"""Key of the validation context: overrides the shortest ``caOverlap``, as a timedelta."""

_is_dns_label = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?").fullmatch  # RFC 1123


def _duration(value: Any) -> Any:
    duration = parse_duration(value) if isinstance(value, str) else None
    if duration is None:
        raise refusal(f"must be a duration, not {format_value(value)}: write it as `10m`")
    return duration


class MatchModel(StrictModel):
    """Conditions that a pod must all match for a profile to apply; without any, all pods match."""

    namespace_selector: SelectorModel | None = None
    object_selector: SelectorModel | None = None
    owner_kinds: tuple[str, ...] | None = None
    scheduler_names: tuple[str, ...] | None = None

    @field_validator("owner_kinds", "scheduler_names")
    @classmethod
    def check(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Reject an empty list, which matches no pod."""
        if names == ():
            raise refusal("is empty, so no pod matches: add a name, or remove it")
        return names


DefaultConstraints: TypeAlias = Annotated[tuple[DefaultConstraint, ...], refusing(find_duplicates)]
"""A list of default constraints."""


class ProfileFields(StrictModel):
    """The fields that a profile of a file and a ``SpreadPolicy`` have in common."""

    mode: Mode | None = None  # that of the configuration
    match: MatchModel = MatchModel()
    merge: Merge = Merge.IF_EMPTY
    complete_selectors: bool = False
    scale_down: ScaleDown = ScaleDown.NONE
    gangs: bool = False
    rules: ProfileRuleSettings = Field({})
    exemptible: bool = True


def find_name_problems(name: str) -> Iterator[str]:
    """Find why a name is not a valid label value; metrics and annotations contain it."""
    if not name:
        yield "is empty: write a name, as `name: cluster`"
    for problem in value_problems(name):
        yield f"Invalid value: {format_value(name)}: {problem}"


class ProfileModel(ProfileFields):
    """A set of default constraints, written here or in a kube-scheduler file."""

    name: str = Field(examples=["cluster"])
    default_constraints: DefaultConstraints | None = None
    scheduler_configuration: str | None = None

    @field_validator("name")
    @classmethod
    def check_name(cls, name: str) -> str:
        """Reject an invalid name."""
        refuse(((), problem) for problem in find_name_problems(name))
        return name

    @model_validator(mode="after")
    def check(self) -> Self:
        """Reject a profile with two sources of constraints, or with none."""
        here, there = self.default_constraints is not None, self.scheduler_configuration is not None
        if here and there:
            problem = "cannot be used with defaultConstraints: remove one of the two"
            raise refusal(problem, ("schedulerConfiguration",))
        if not here and not there:
            raise refusal("has no constraints: write defaultConstraints or schedulerConfiguration")
        return self


def _repeated_names(profiles: tuple[ProfileModel, ...]) -> Iterator[tuple[FieldPath, str]]:
    return find_repeated_names((profile.name for profile in profiles), "profile")


def _check_namespace(name: str) -> str:
    if not _is_dns_label(name):
        problem = "is no name of a Namespace: write lower-case letters, digits and dashes"
        raise refusal(f"{format_value(name)} {problem}")
    return name


class ExemptModel(StrictModel):
    """Namespaces that the webhook leaves unchanged."""

    namespaces: tuple[Annotated[str, AfterValidator(_check_namespace)], ...] = ("kube-system",)


def _check_gate(name: str) -> str:
    if name not in GATE_NAMES:
        raise refusal(describe_unknown_gate(name))
    return name


GateName = Annotated[str, AfterValidator(_check_gate)]


class SpreadConfiguration(StrictModel):
    """The configuration file."""

    api_version: Literal["evenspread.io/v1alpha1"] = Field(examples=[CONFIGURATION_API_VERSION])
    kind: Literal["SpreadConfiguration"] = Field(examples=[CONFIGURATION_KIND])
    mode: Mode = Mode.APPLY
    profiles: Annotated[tuple[ProfileModel, ...], refusing(_repeated_names)] = ()
    pod_templates: Annotated[tuple[PodTemplateModel, ...], refusing(find_repeated_places)] = ()
    constraint_lists: Annotated[
        tuple[ConstraintListModel, ...], refusing(find_repeated_places)
    ] = ()
    owner_selectors: Annotated[tuple[OwnerSelectorModel, ...], refusing(find_repeated_kinds)] = ()
    exempt: ExemptModel = ExemptModel()
    rules: RuleSettings = Field({})
    field_defaults: FieldDefaults = FieldDefaults.WHEN_UNSATISFIABLE
    feature_gates: dict[GateName, bool] = Field({})
    ca_overlap: Annotated[timedelta, BeforeValidator(_duration)] = CA_OVERLAP
    scale_down_repair: bool = False

    @field_validator("ca_overlap")
    @classmethod
    def check_overlap(cls, overlap: timedelta, info: ValidationInfo) -> timedelta:
        """Reject an overlap too short for clients to load a new CA."""
        context: Mapping[str, timedelta] = info.context or {}
        least = context.get(LEAST_OVERLAP, LEAST_CA_OVERLAP)
        if overlap < least:
            written = f"write {least.total_seconds():.0f}s or more"
            raise refusal(f"is too short for every client to load a new CA: {written}")
        return overlap
