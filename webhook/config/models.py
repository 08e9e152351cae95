"""Models for configuration files: strict and lenient bases, label selectors, custom kinds."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from webhook.config.messages import format_value, refusal, refuse
from webhook.config.ownerselectors import SHIPPED_OWNERS, OwnerSelector
from webhook.errors import VersionError
from webhook.policy import model
from webhook.policy.api import rules
from webhook.policy.api.fielderrors import LONGEST_VALUE
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.paths import FieldPath, parse_path

T = TypeVar("T")

Int32: TypeAlias = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]  # Go's int32


class StrictModel(BaseModel):
    """A part of our own file: rejects unknown keys and converts no value to another type."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True)


class LenientModel(StrictModel):
    """A part of a file that another program reads: ignores unknown keys."""

    model_config = ConfigDict(extra="ignore")


def refuse_two_configurations(config: object, scheduler_config: object) -> None:
    """
    Refuse a file with a configuration of each kind.

    Raises:
        RefusalError: Neither is None.
    """
    if config is not None and scheduler_config is not None:
        raise refusal("cannot be used with config: remove one of the two", ("schedulerConfig",))


def refusing(find_problems: Callable[[T], Iterable[tuple[FieldPath, str]]]) -> AfterValidator:
    """Create the validator that refuses a value in which problems are found."""

    def check(value: T) -> T:
        refuse(find_problems(value))
        return value

    return AfterValidator(check)


class RequirementModel(StrictModel):
    """One expression of a label selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class SelectorModel(StrictModel):
    """
    A label selector.

    Source: apimachinery meta/v1 ``LabelSelector``.
    """

    match_labels: dict[str, str] = Field({})
    match_expressions: tuple[RequirementModel, ...] = ()

    @property
    def selector(self) -> model.LabelSelector:
        """The same selector in the policy model."""
        expressions = tuple(
            model.LabelSelectorRequirement(key=one.key, operator=one.operator, values=one.values)
            for one in self.match_expressions
        )
        return model.LabelSelector(dict(self.match_labels), expressions)

    @model_validator(mode="after")
    def check(self) -> Self:
        """Reject a label selector that kube-apiserver would reject."""
        errors = rules.selector_errors(self.selector, "")
        fix = CATALOGUE["TSC009"].fix
        refuse(
            (parse_path(error.field), f"{error.words(LONGEST_VALUE)}; {fix}") for error in errors
        )
        return self


def parse_selector(written: SelectorModel | None) -> model.LabelSelector | None:
    """Convert to the policy model; None if the selector is absent or empty and so matches all."""
    if written is None or not (written.match_labels or written.match_expressions):
        return None
    return written.selector


_SEPARATOR = "."


def _check_path(path: str) -> str:
    if not all(path.split(_SEPARATOR)):
        raise refusal("must be names of members with dots between them, as in `spec.template`")
    return path


class CustomKindModel(StrictModel):
    """A kind of a custom resource."""

    group: str = Field(min_length=1, examples=["argoproj.io"])
    kind: str = Field(min_length=1, examples=["Rollout"])

    @property
    def group_kind(self) -> GroupKind:
        """The ``GroupKind`` of the policy model."""
        return GroupKind(self.group, self.kind)


class OwnerSelectorModel(CustomKindModel):
    """A custom kind that controls pods and has a selector for them."""

    selector_path: Annotated[str, AfterValidator(_check_path)] = Field(examples=["spec.selector"])


def collect_owners(written: tuple[OwnerSelectorModel, ...]) -> tuple[OwnerSelector, ...]:
    """Merge shipped and configured custom controllers; configured ones replace shipped."""
    named = {row.group_kind: tuple(row.selector_path.split(_SEPARATOR)) for row in written}
    paths = {owner.kind: owner.path for owner in SHIPPED_OWNERS} | named
    return tuple(OwnerSelector(kind, path) for kind, path in paths.items())


def find_repeated_kinds(written: tuple[CustomKindModel, ...]) -> Iterator[tuple[FieldPath, str]]:
    """Find kinds that occur twice or are built in."""
    seen = set[GroupKind]()
    for i, kind in enumerate(row.group_kind for row in written):
        if kind in BUILT_IN_TEMPLATES:
            yield (i, "kind"), f"{kind} is built in: remove the entry"
        elif kind in seen:
            yield (i, "kind"), f"{kind} occurs twice: remove one of the two"
        seen.add(kind)


def version_validator(find_newest: Callable[[str], Version]) -> BeforeValidator:
    """
    Create the validator of a Kubernetes version, or of a range of versions.

    Args:
        find_newest: Parses the text and returns the newest version that it names; may raise
            VersionError.
    """

    def check(value: Any) -> Any:
        if not isinstance(value, str):  # YAML reads a version without quotes as a number
            raise refusal(
                f"must be a text, not {format_value(value)}: write it in quotes, as "
                f'"{NEWEST_VERSION}"'
            )
        try:
            newest = find_newest(value)
        except VersionError as error:
            raise refusal(error.problem) from error
        if newest > NEWEST_VERSION:
            raise refusal(
                f'{newest} is newer than the supported versions: write "{NEWEST_VERSION}" at most'
            )
        return value

    return BeforeValidator(check, json_schema_input_type=str)
