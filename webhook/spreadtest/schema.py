"""
``SpreadTest``: the schema of a suite.

``SpreadTest`` validates what is written in the suite itself. ``suite`` reads the files that it
names; their paths are relative to the folder of the suite.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from webhook.config.messages import find_repeated_names, format_value, refusal, refuse, suggest_word
from webhook.config.models import StrictModel, refuse_two_configurations, version_validator
from webhook.config.spread import GateName
from webhook.policy.api.rules import API_RULES
from webhook.policy.api.versions import parse_version
from webhook.policy.catalogue import API_WARNINGS, DEFAULT_ACTIONS, TOO_MANY_CONSTRAINTS
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.paths import is_object
from webhook.spreadtest.response import CaseVerdict

SUITE_KIND = "SpreadTest"
SUITE_API_VERSION = "evenspread.io/v1alpha1"

RULE_IDS = (*API_RULES, TOO_MANY_CONSTRAINTS, *API_WARNINGS, *DEFAULT_ACTIONS)
SKIP_REASONS = tuple(str(skip) for skip in SkipReason if skip)

Object: TypeAlias = dict[str, Any]


def _not_empty(instead: str) -> AfterValidator:
    def check(text: str) -> str:
        if not text:
            raise refusal(f"is empty: write {instead}")
        return text

    return AfterValidator(check)


def _path_or(what: str, types: Any) -> BeforeValidator:
    """Accept the path of a file, or one of the other ``types``, which ``what`` names."""

    def check(value: Any) -> Any:
        if value == "":
            raise refusal("is empty: write the path of a file")
        if not isinstance(value, str) and not is_object(value):
            raise refusal(f"must be the path of a file or {what}, not {format_value(value)}")
        return value

    return BeforeValidator(check, json_schema_input_type=types)


def _one_of(known: tuple[str, ...], what: str) -> AfterValidator:
    def check(word: str) -> str:
        if word not in known:
            raise refusal(f"{format_value(word)} is no {what}: {suggest_word(word, known)}")
        return word

    return AfterValidator(check)


_File = Annotated[str, _not_empty("the path of a file"), Field(examples=["pods.yaml"])]
_Name = Annotated[str, _not_empty("a name")]
_Fragment = Annotated[str, _not_empty("a part of it")]


class _Part(StrictModel):
    """A part of a suite; the text below a field describes it in JSON Schema and docs."""

    model_config = ConfigDict(
        use_attribute_docstrings=True,
        field_title_generator=lambda name, _field: to_camel(name),
    )


class ObjectReference(_Part):
    """A reference to one of several objects in a file."""

    file: _File
    """path of the file"""
    kind: str | None = None
    """its kind"""
    namespace: str | None = None
    """its namespace, as written in the file"""
    name: str | None = None
    """its name"""


_Configured = Annotated[Any, _path_or("a SpreadConfiguration", str | Object)]
_Requested = Annotated[Any, _path_or("an object", str | ObjectReference | Object)]
_ClusterPart = Annotated[Any, _path_or("an object", str | Object)]
_KubeVersion = Annotated[str, version_validator(parse_version)]
_RuleId = Annotated[
    str, _one_of(RULE_IDS, "rule"), Field(json_schema_extra={"enum": list(RULE_IDS)})
]
_Skipped = Annotated[
    str,
    _one_of(SKIP_REASONS, "reason to leave a pod alone"),
    Field(json_schema_extra={"enum": [*SKIP_REASONS]}),
]


class Expectation(_Part):
    """The expected response; members that are not written are not compared."""

    verdict: CaseVerdict | None = None
    """`allow`, `patch` or `deny`; in recommend mode `would_patch` or `would_deny`"""
    denied: tuple[_RuleId, ...] | None = None
    """all rules that deny it, or would deny it in recommend mode, in any order"""
    message: _Fragment | None = None
    """a part of the denial's message"""
    warnings: tuple[_Fragment, ...] | None = None
    """a part of each warning, in order; `[]` expects no warnings"""
    constraints: tuple[Object, ...] | None = None
    """all `topologySpreadConstraints` of the resulting object"""
    injected: tuple[Object, ...] | None = None
    """the constraints that a profile adds, or would add in recommend mode"""
    skipped: _Skipped | None = None
    """why no profile adds constraints, such as `no-selector`"""
    patch: tuple[Object, ...] | None = None
    """the operations of the JSON Patch (RFC 6902)"""
    patched: Object | None = None
    """some members of the resulting object; lists with all their items"""
    audit_annotations: dict[str, str] | None = None
    """some audit annotations of the response"""

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse an expectation that every response satisfies."""
        if not self.written:
            raise refusal("expects nothing: write at least the verdict, as `verdict: allow`")
        return self

    @property
    def written(self) -> Mapping[str, Any]:
        """The members written in the file, of JSON's types."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class CaseSchema(_Part):
    """A request and the expected response."""

    name: _Name = Field(examples=["a pod gets the defaults"])
    """name of the case; unique in its suite"""
    object: _Requested = Field(examples=["pod.yaml"])
    """the object to create, or the new object of an update"""
    old_object: _Requested = None
    """the old object of an update; without it the object is created"""
    hook: Literal["mutate", "validate", "both"] | None = None
    """the webhook to call; the default is `both`, where the second receives the object as the first
    changed it; for a recorded review, the webhook that it was sent to"""
    kube_version: _KubeVersion | None = None
    """overrides that of the suite"""
    feature_gates: dict[GateName, bool] = Field({})
    """gates that override those of the suite"""
    allow_locked_gates: bool | None = None
    """overrides that of the suite"""
    expect: Expectation = Field(examples=["{verdict: allow}"])
    """the expected response"""


class SpreadTest(_Part):
    """A suite: a configuration, a cluster, and requests with expected responses."""

    api_version: Literal["evenspread.io/v1alpha1"] = Field(examples=[SUITE_API_VERSION])
    """`evenspread.io/v1alpha1`"""
    kind: Literal["SpreadTest"] = Field(examples=[SUITE_KIND])
    """`SpreadTest`"""
    name: _Name | None = None
    """name in reports; the default is the path of the file"""
    config: _Configured = None
    """a `SpreadConfiguration`, or the path of one"""
    scheduler_config: _File | None = None
    """path of a kube-scheduler configuration, instead of `config`"""
    cluster: tuple[_ClusterPart, ...] = ()
    """the cluster: objects, and paths of files and folders; without it no facts about a cluster are
    known"""
    kube_version: _KubeVersion | None = None
    """the Kubernetes version, in quotes; the default is the newest supported one"""
    feature_gates: dict[GateName, bool] = Field({})
    """feature gates that override those of the configuration"""
    allow_locked_gates: bool = False
    """whether a gate may be off that Kubernetes has locked on"""
    cases: tuple[CaseSchema, ...] = Field(examples=["[{name: ..., object: ..., expect: ...}]"])
    """requests with expected responses, at least one"""

    @field_validator("cases")
    @classmethod
    def check_cases(cls, cases: tuple[CaseSchema, ...]) -> tuple[CaseSchema, ...]:
        """Refuse a suite without cases, and duplicate names."""
        if not cases:
            raise refusal("is empty, which tests nothing: write a case, as `- name: ...`")
        refuse(find_repeated_names((case.name for case in cases), "case"))
        return cases

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse two configurations."""
        refuse_two_configurations(self.config, self.scheduler_config)
        return self
