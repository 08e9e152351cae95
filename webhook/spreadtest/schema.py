"""
``SpreadTest``: the form of a suite.

Files that a suite names are read elsewhere; their paths start at the folder of the suite.
"""

from collections.abc import Callable, Iterator, Mapping
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

from webhook.config.sentences import refusal, refuse, shown, suggestion
from webhook.config.spread import GateName
from webhook.config.written import Written
from webhook.errors import VersionError
from webhook.policy.api.examples import API_EXAMPLES
from webhook.policy.api.versions import NEWEST_VERSION, parse_version
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.paths import FieldPath, is_object
from webhook.spreadtest.response import CaseVerdict

SUITE_KIND = "SpreadTest"
SUITE_API_VERSION = "evenspread.io/v1alpha1"

RULE_IDS = tuple(sorted({*API_EXAMPLES, *DEFAULT_ACTIONS}))
SKIP_REASONS = tuple(str(skip) for skip in SkipReason if skip)

Object: TypeAlias = dict[str, Any]


def _not_empty(instead: str) -> AfterValidator:
    def check(text: str) -> str:
        if not text:
            raise refusal(f"is empty: write {instead}")
        return text

    return AfterValidator(check)


def _path_or(what: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value == "":
            raise refusal("is empty: write the path of a file")
        if not isinstance(value, str) and not is_object(value):
            raise refusal(f"must be the path of a file or {what}, not {shown(value)}")
        return value

    return check


def _check_version(value: Any) -> Any:
    """Refuse a version that is not known; YAML takes one without quotes for a number."""
    if not isinstance(value, str):
        raise refusal(
            f'must be a text, not {shown(value)}: write it in quotes, as "{NEWEST_VERSION}"'
        )
    try:
        version = parse_version(value)
    except VersionError as error:
        raise refusal(error.problem) from error
    if version > NEWEST_VERSION:
        raise refusal(
            f'{value} is newer than what is known: write "{NEWEST_VERSION}", or leave it out'
        )
    return value


def _one_of(known: tuple[str, ...], what: str) -> AfterValidator:
    def check(word: str) -> str:
        if word not in known:
            raise refusal(f"{shown(word)} is no {what}: {suggestion(word, known)}")
        return word

    return AfterValidator(check)


_File = Annotated[str, _not_empty("the path of a file"), Field(examples=["pods.yaml"])]
_Name = Annotated[str, _not_empty("a name")]
_Fragment = Annotated[str, _not_empty("a part of it")]


class _Part(Written):
    """A part of a suite; what stands below a key describes it in the schema and in the docs."""

    model_config = ConfigDict(
        use_attribute_docstrings=True,
        field_title_generator=lambda name, _field: to_camel(name),
    )


class ObjectReference(_Part):
    """An object of a file that holds several: as much as it takes to choose one."""

    file: _File
    """path of the file"""
    kind: str | None = None
    """its kind"""
    namespace: str | None = None
    """its namespace, as it stands there"""
    name: str | None = None
    """its name"""


_Configured = Annotated[
    Any,
    BeforeValidator(_path_or("a SpreadConfiguration"), json_schema_input_type=str | Object),
]
_Asked = Annotated[
    Any,
    BeforeValidator(_path_or("an object"), json_schema_input_type=str | ObjectReference | Object),
]
_There = Annotated[Any, BeforeValidator(_path_or("an object"), json_schema_input_type=str | Object)]
_KubeVersion = Annotated[str, BeforeValidator(_check_version, json_schema_input_type=str)]
_RuleId = Annotated[
    str, _one_of(RULE_IDS, "rule"), Field(json_schema_extra={"enum": list(RULE_IDS)})
]
_Skipped = Annotated[
    str,
    _one_of(SKIP_REASONS, "reason to leave a pod alone"),
    Field(json_schema_extra={"enum": [*SKIP_REASONS]}),
]


class Expectation(_Part):
    """What has to be answered; what is not written is not looked at."""

    verdict: CaseVerdict | None = None
    """`allow`, `patch` or `deny`; in recommend mode `would_patch` or `would_deny`"""
    denied: tuple[_RuleId, ...] | None = None
    """the rules for which it is denied, or would be, in any order; there are no others"""
    message: _Fragment | None = None
    """a part of the denial's message"""
    warnings: tuple[_Fragment, ...] | None = None
    """a part of each warning, in order; there are no others, so that `[]` asks for none"""
    constraints: tuple[Object, ...] | None = None
    """the `topologySpreadConstraints` that the object ends up with"""
    injected: tuple[Object, ...] | None = None
    """those of them that a profile adds, or would add in recommend mode"""
    skipped: _Skipped | None = None
    """why no profile adds any, as `no-selector`"""
    patch: tuple[Object, ...] | None = None
    """the operations of the JSON Patch (RFC 6902)"""
    patched: Object | None = None
    """members that the object ends up with, among others; a list with all its items"""
    audit_annotations: dict[str, str] | None = None
    """audit annotations of the answer, among others"""

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse what any answer would meet."""
        if not self.written:
            raise refusal("expects nothing: write at least the verdict, as `verdict: allow`")
        return self

    @property
    def written(self) -> Mapping[str, Any]:
        """The members that are written, of JSON's types, by their names in the file."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class CaseSchema(_Part):
    """A request, and how it has to be answered."""

    name: _Name = Field(examples=["a pod gets the defaults"])
    """what is tested; no two cases of a suite share one"""
    object: _Asked = Field(examples=["pod.yaml"])
    """what is created, or what it is updated to"""
    old_object: _Asked = None
    """what is updated; without it the object is created"""
    hook: Literal["mutate", "validate", "both"] | None = None
    """the webhooks that are called: `both`, the second about what the first made of the object, if
    this is not written; for a recorded review the one that it was sent to"""
    kube_version: _KubeVersion | None = None
    """instead of the suite's"""
    feature_gates: dict[GateName, bool] = Field({})
    """over the suite's, gate by gate"""
    allow_locked_gates: bool | None = None
    """instead of the suite's"""
    expect: Expectation = Field(examples=["{verdict: allow}"])
    """what has to be answered"""


class SpreadTest(_Part):
    """A suite: a configuration, a cluster, and requests with expected answers."""

    api_version: Literal["evenspread.io/v1alpha1"] = Field(examples=[SUITE_API_VERSION])
    """`evenspread.io/v1alpha1`"""
    kind: Literal["SpreadTest"] = Field(examples=[SUITE_KIND])
    """`SpreadTest`"""
    name: _Name | None = None
    """what reports call it; the file's path if it is not written"""
    config: _Configured = None
    """path of a `SpreadConfiguration`, or one as it is"""
    scheduler_config: _File | None = None
    """path of a configuration of kube-scheduler, instead"""
    cluster: tuple[_There, ...] = ()
    """the cluster: paths of files and folders, and objects as they are; without it, nothing is
    known of one"""
    kube_version: _KubeVersion | None = None
    """the Kubernetes version to judge by, in quotes; the newest known if it is not written"""
    feature_gates: dict[GateName, bool] = Field({})
    """gates to switch, over those of the configuration"""
    allow_locked_gates: bool = False
    """whether a feature may be held back that Kubernetes has locked on"""
    cases: tuple[CaseSchema, ...] = Field(examples=["[{name: ..., object: ..., expect: ...}]"])
    """requests with expected answers, at least one"""

    @field_validator("cases")
    @classmethod
    def check_cases(cls, cases: tuple[CaseSchema, ...]) -> tuple[CaseSchema, ...]:
        """Refuse a suite that tests nothing, and a name that stands twice."""
        if not cases:
            raise refusal("is empty, which tests nothing: write a case, as `- name: ...`")
        refuse(_repeated_names(cases))
        return cases

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse two configurations."""
        if self.config is not None and self.scheduler_config is not None:
            problem = "cannot stand beside config: leave one of the two out"
            raise refusal(problem, ("schedulerConfig",))
        return self


def suite_schema() -> dict[str, Any]:
    """Describe the form, by JSON Schema 2020-12."""
    described = SpreadTest.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}


def _repeated_names(cases: tuple[CaseSchema, ...]) -> Iterator[tuple[FieldPath, str]]:
    seen = set[str]()
    for i, case in enumerate(cases):
        if case.name in seen:
            problem = f"{shown(case.name)} names an earlier case too: write another name"
            yield (i, "name"), problem
        seen.add(case.name)
