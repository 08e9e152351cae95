"""Label selectors as they are written in profiles."""

from typing import Self

from pydantic import Field, model_validator

from webhook.config.sentences import refuse
from webhook.config.written import Written
from webhook.policy import model
from webhook.policy.api import rules
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.paths import parse_path


class Requirement(Written):
    """One expression of a label selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class Selector(Written):
    """
    A label selector.

    Source: apimachinery meta/v1 ``LabelSelector``.
    """

    match_labels: dict[str, str] = Field({})
    match_expressions: tuple[Requirement, ...] = ()

    @property
    def selector(self) -> model.LabelSelector:
        """The same in the core."""
        expressions = tuple(
            model.LabelSelectorRequirement(key=each.key, operator=each.operator, values=each.values)
            for each in self.match_expressions
        )
        return model.LabelSelector(dict(self.match_labels), expressions)

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse what kube-apiserver would refuse in any label selector."""
        errors = rules.selector_errors(self.selector, "")
        fix = CATALOGUE["TSC009"].fix
        refuse((parse_path(error.field), f"{error.message}; {fix}") for error in errors)
        return self


def meaning(written: Selector | None) -> model.LabelSelector | None:
    """The selector in the core; None if it matches all, since it was left out or is empty."""
    if written is None or not (written.match_labels or written.match_expressions):
        return None
    return written.selector
