"""
``SpreadProject``: the schema of the project file, ``.evenspread.yaml``.

This module validates the file itself; ``projectfile`` reads it and checks the paths in it.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from webhook.config.messages import format_value, refusal
from webhook.config.models import (
    SelectorModel,
    StrictModel,
    refuse_two_configurations,
    version_validator,
)
from webhook.config.project import DEFAULT_EXCLUDES
from webhook.config.rulenames import describe_unknown, find_rules
from webhook.config.rulesettings import read_action
from webhook.policy.advice.exemptions import REASON_CHARACTERS
from webhook.policy.api.versions import Version, parse_version_range
from webhook.policy.catalogue import CATALOGUE, DEFAULT_ACTIONS
from webhook.policy.rule_entry import Action, RuleCategory

PROJECT_API_VERSION = "evenspread.io/v1alpha1"
PROJECT_KIND = "SpreadProject"

DEFAULT_PATHS = (".",)

EXEMPTIBLE_RULES = tuple(
    rule
    for rule, entry in CATALOGUE.items()
    if entry.category is RuleCategory.ADVICE or entry.action is not Action.DENY
)
"""Rules whose findings a project may exempt: kube-apiserver refuses nothing for them."""

_SELECTING = ("namespaces", "kinds", "names", "selector")


def _check_text(text: str) -> str:
    if not text or "\0" in text:
        raise refusal("is empty: write a text" if not text else "contains a null byte: remove it")
    return text


def _check_rule_action(pattern: str) -> str:
    if not find_rules(pattern, DEFAULT_ACTIONS):
        if find_rules(pattern):
            raise refusal("is a rule whose action cannot be set: leave it out")
        raise refusal(describe_unknown(pattern, DEFAULT_ACTIONS))
    return pattern


def _check_exempted_rule(pattern: str) -> str:
    if not find_rules(pattern, EXEMPTIBLE_RULES):
        if find_rules(pattern):
            raise refusal(
                f"{format_value(pattern)} is a rule by which kube-apiserver refuses objects: "
                "correct the object, or exclude its file"
            )
        raise refusal(describe_unknown(pattern, EXEMPTIBLE_RULES))
    return pattern


def _check_not_empty(rules: tuple[str, ...]) -> tuple[str, ...]:
    if not rules:
        raise refusal("is empty: write the id of a rule, as `[TSC110]`")
    return rules


def _check_reason(reason: str) -> str:
    if not reason.strip():
        raise refusal("is empty: write why the objects are exempt")
    if len(reason) > REASON_CHARACTERS:
        raise refusal(f"has more than {REASON_CHARACTERS} characters: write a shorter one")
    return reason


def _find_newest(versions: str) -> Version:
    return parse_version_range(versions).last


_Text = Annotated[str, AfterValidator(_check_text)]
_Texts = tuple[_Text, ...]
_Action = Annotated[Action, BeforeValidator(read_action, json_schema_input_type=Action | bool)]


class _ProjectPart(StrictModel):
    """A part of a project file; the text below a field describes it in JSON Schema and docs."""

    model_config = ConfigDict(
        use_attribute_docstrings=True,
        field_title_generator=lambda name, _field: to_camel(name),
    )


class ExemptionModel(_ProjectPart):
    """Objects that are exempt from rules; an object must match every field that is written."""

    rules: Annotated[
        tuple[Annotated[str, AfterValidator(_check_exempted_rule)], ...],
        AfterValidator(_check_not_empty),
    ] = Field(examples=["[TSC110]"])
    """ids of rules, or patterns such as `TSC1*`"""
    reason: Annotated[str, AfterValidator(_check_reason)] = Field(examples=["it is a vendor chart"])
    """why; shown with every exempted finding"""
    namespaces: _Texts | None = None
    """names or patterns of namespaces; an object without a namespace is in `default`"""
    kinds: _Texts | None = None
    """kinds, as `DaemonSet`, or patterns"""
    names: _Texts | None = None
    """names of objects, or patterns such as `prometheus-*`"""
    selector: SelectorModel | None = None
    """label selector for the labels of the object itself, not those of its pods"""

    @model_validator(mode="after")
    def check(self) -> Self:
        """Reject an exemption of every object."""
        written = [getattr(self, name) for name in _SELECTING]
        if not any(written):
            raise refusal(
                "exempts every object: write namespaces, kinds, names or a selector, or set the "
                "action of the rule to off"
            )
        return self


class SpreadProject(_ProjectPart):
    """The project file; paths in it are relative to its folder, and stay inside it."""

    api_version: Literal["evenspread.io/v1alpha1"] = Field(examples=[PROJECT_API_VERSION])
    """`evenspread.io/v1alpha1`"""
    kind: Literal["SpreadProject"] = Field(examples=[PROJECT_KIND])
    """`SpreadProject`"""
    paths: _Texts = DEFAULT_PATHS
    """files and folders to read if no `-f` is given; the default is the folder of the file"""
    exclude: _Texts = DEFAULT_EXCLUDES
    """names, or patterns of names and paths, to leave out of folders; a list replaces the default
    one: `.git`, `node_modules` and `vendor`"""
    rules: dict[Annotated[str, AfterValidator(_check_rule_action)], _Action] = Field({})
    """actions of policy rules, by id or pattern: `deny`, `warn`, `audit` or `off`; they override
    those of the configuration, and later entries earlier ones"""
    exemptions: tuple[ExemptionModel, ...] = ()
    """objects that are exempt from rules, with a reason"""
    facts: _Texts = ()
    """manifests, dumps or snapshots that describe the cluster, as with `--facts`"""
    kube_version: Annotated[str | None, version_validator(_find_newest)] = None
    """Kubernetes version, or a range as `"1.33..1.36"`, in quotes; of a range, `validate` checks
    every version, and the other commands the newest one"""
    config: _Text | None = None
    """path of a `SpreadConfiguration`"""
    scheduler_config: _Text | None = None
    """path of a kube-scheduler configuration, instead of `config`"""

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse two configurations."""
        refuse_two_configurations(self.config, self.scheduler_config)
        return self
