import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
import yaml

from tests.spreadtest.world import CASES, EXAMPLES, errors_of
from webhook.spreadtest.response import CaseResponse
from webhook.spreadtest.runner import VIEWS
from webhook.spreadtest.schema import SKIP_REASONS, Expectation, SpreadTest

SUITE_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **SpreadTest.model_json_schema(by_alias=True),
}
SCHEMA = Path(__file__).parents[2] / "docs/test.schema.json"


def case(members: str) -> str:
    return f"cases:\n- name: a\n  object: pod.yaml\n  {members}"


# text, expected message
ERRORS = {
    "no cases": ("", "1: cases: is missing: write it, as `cases: [{name: ..., "),
    "no case": ("cases: []", "3: cases: is empty, which tests nothing: write a case"),
    "a case that is none": (
        "cases: [pod.yaml]",
        "3: cases[0]: must be a mapping, not 'pod.yaml': write keys with values",
    ),
    "a name that an earlier case has": (
        f"{CASES}{CASES.removeprefix('cases:')}",
        "8: cases[1].name: 'a pod' names an earlier case too: write another name",
    ),
    "a case without a name": (
        "cases:\n- {object: pod.yaml, expect: {verdict: allow}}",
        "4: cases[0].name: is missing: write it, as `name: a pod gets the defaults`",
    ),
    "an empty name": (
        "cases:\n- {name: '', object: pod.yaml, expect: {verdict: allow}}",
        "4: cases[0].name: is empty: write a name",
    ),
    "a case without an object": (
        "cases:\n- {name: a, expect: {verdict: allow}}",
        "4: cases[0].object: is missing: write it, as `object: pod.yaml`",
    ),
    "a case that expects nothing at all": (
        "cases:\n- {name: a, object: pod.yaml}",
        "4: cases[0].expect: is missing: write it, as `expect: {verdict: allow}`",
    ),
    "an expectation that every response satisfies": (
        case("expect: {}"),
        "6: cases[0].expect: expects nothing: write at least the verdict, as `verdict: allow`",
    ),
    "no such key but a similar one": (
        case("expect: {verdicts: allow}"),
        "6: cases[0].expect.verdicts: no such key: did you mean verdict?",
    ),
    "a verdict that is almost one": (
        case("expect: {verdict: allowed}"),
        "6: cases[0].expect.verdict: cannot be 'allowed': did you mean allow?",
    ),
    "a rule that is none": (
        case("expect: {denied: [TSC001, TSC01]}"),
        "6: cases[0].expect.denied[1]: 'TSC01' is no rule: did you mean TSC",
    ),
    "a reason that is none": (
        case("expect: {skipped: no_selector}"),
        "6: cases[0].expect.skipped: 'no_selector' is no reason to leave a pod alone: did you ",
    ),
    "a part that every message has": (
        case("expect: {message: ''}"),
        "6: cases[0].expect.message: is empty: write a part of it",
    ),
    "a part that every warning has": (
        case("expect: {warnings: [a, '']}"),
        "6: cases[0].expect.warnings[1]: is empty: write a part of it",
    ),
    "one warning without a dash": (
        case("expect: {warnings: a}"),
        "6: cases[0].expect.warnings: must be a list, not 'a': write `- ` before each entry",
    ),
    "a webhook that is none": (
        case("hook: mutating\n  expect: {verdict: allow}"),
        "6: cases[0].hook: cannot be 'mutating': did you mean mutate?",
    ),
    "an object that is a list": (
        "cases:\n- {name: a, object: [pod.yaml], expect: {verdict: allow}}",
        "4: cases[0].object: must be the path of a file or an object, not a list",
    ),
    "an object without a path": (
        "cases:\n- {name: a, object: '', expect: {verdict: allow}}",
        "4: cases[0].object: is empty: write the path of a file",
    ),
    "a configuration that is a number": (
        f"config: 7\n{CASES}",
        "3: config: must be the path of a file or a SpreadConfiguration, not 7",
    ),
    "two configurations": (
        f"config: a.yaml\nschedulerConfig: b.yaml\n{CASES}",
        "4: schedulerConfig: cannot be used with config",
    ),
    "a version that YAML takes for a number": (
        f"kubeVersion: 1.30\n{CASES}",
        '3: kubeVersion: must be a text, not 1.3: write it in quotes, as "1.',
    ),
    "a version that is none": (
        case("kubeVersion: new\n  expect: {verdict: allow}"),
        "6: cases[0].kubeVersion: 'new' is no Kubernetes version: write 1.16 or later",
    ),
    "a version that is not known yet": (
        f'kubeVersion: "1.99"\n{CASES}',
        '3: kubeVersion: 1.99 is newer than the supported versions: write "1.',
    ),
    "a gate that is none": (
        f"featureGates: {{EvenspreadDefault: true}}\n{CASES}",
        "3: featureGates.EvenspreadDefault: is no feature gate: did you mean EvenspreadDefaults?",
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error_names_its_line_and_the_fix(text: str, message: str) -> None:
    errors = errors_of(text)

    assert any(error.removeprefix("suite.yaml:").startswith(message) for error in errors), errors


def test_all_errors_are_reported_at_once() -> None:
    text = "kubeVersion: 1.30\ncases:\n- {name: '', object: [], expect: {}}"

    assert len(errors_of(text)) == 4


def test_every_member_of_an_expectation_is_answered_and_compared() -> None:
    written = {field.alias for field in Expectation.model_fields.values()}

    assert written == {field.encode_name for field in msgspec.structs.fields(CaseResponse)}
    assert written > set(VIEWS)


def test_there_is_no_reason_without_a_name() -> None:
    assert "" not in SKIP_REASONS


def test_the_schema_in_the_docs_is_that_of_the_form() -> None:
    assert msgspec.json.decode(SCHEMA.read_bytes()) == SUITE_SCHEMA


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("evenspread-test.yaml")), ids=str)
def test_the_examples_are_of_the_schema(path: Path) -> None:
    jsonschema.validate(yaml.safe_load(path.read_text()), SUITE_SCHEMA)


@pytest.mark.parametrize(
    "text",
    ["{kind: SpreadTest}", "{apiVersion: evenspread.io/v1alpha1, kind: SpreadTest, case: []}"],
)
def test_the_schema_refuses_what_is_no_suite(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), SUITE_SCHEMA)


def test_a_known_version_is_accepted_with_one_configuration() -> None:
    written = {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadTest",
        "kubeVersion": "1.30",
        "config": "config.yaml",
        "cases": [{"name": "a", "object": "pod.yaml", "expect": {"verdict": "allow"}}],
    }

    suite = SpreadTest.model_validate_json(json.dumps(written))

    assert (suite.kube_version, suite.config) == ("1.30", "config.yaml")
