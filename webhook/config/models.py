"""Base models for configuration files, strict or lenient, and models of label selectors."""

from typing import Annotated, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from webhook.config.messages import refuse
from webhook.policy import model
from webhook.policy.api import rules
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.paths import parse_path

Int32: TypeAlias = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]  # Go's int32


class StrictModel(BaseModel):
    """A part of our own file: rejects unknown keys and converts no value to another type."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True)


class LenientModel(StrictModel):
    """A part of a file that another program reads: ignores unknown keys."""

    model_config = ConfigDict(extra="ignore")


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
        refuse((parse_path(error.field), f"{error.message}; {fix}") for error in errors)
        return self


def parse_selector(written: SelectorModel | None) -> model.LabelSelector | None:
    """Convert to the policy model; None if the selector is absent or empty and so matches all."""
    if written is None or not (written.match_labels or written.match_expressions):
        return None
    return written.selector
