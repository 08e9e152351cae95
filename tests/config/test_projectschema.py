from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from webhook.config.project import DEFAULT_EXCLUDES
from webhook.config.projectschema import (
    DEFAULT_PATHS,
    EXEMPTIBLE_RULES,
    ExemptionModel,
    SpreadProject,
)
from webhook.config.validation import DocumentValidation, read_document
from webhook.errors import CombinedConfigError
from webhook.policy.rule_entry import Action

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "docs/project.schema.json"
HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadProject\n"


def read(text: str) -> SpreadProject:
    document = read_document(HEAD + text, "p.yaml")
    reading = DocumentValidation(document)
    written = reading.model(SpreadProject, document.value)
    reading.finish()
    assert written is not None
    return written


def exemption(**changes: Any) -> str:
    entry = {"rules": ["TSC110"], "reason": "r", "names": ["a"], **changes}
    return yaml.safe_dump({"exemptions": [{k: v for k, v in entry.items() if v is not None}]})


def test_an_empty_project_has_defaults() -> None:
    project = read("")

    assert project.exclude == DEFAULT_EXCLUDES
    assert (project.paths, project.kube_version, project.exemptions) == (DEFAULT_PATHS, None, ())


def test_all_keys_are_read() -> None:
    project = read(
        "paths: [a]\nexclude: []\nrules: {TSC110: off, tsc11*: deny}\nfacts: [f]\n"
        "kubeVersion: '1.30..1.31'\nconfig: c\n" + exemption(selector={"matchLabels": {"a": "b"}})
    )

    assert project.rules == {"TSC110": Action.OFF, "tsc11*": Action.DENY}
    assert isinstance(project.exemptions[0], ExemptionModel)


# what stands in the file, part of the error
ERRORS = {
    "an unknown key": ("path: [a]", "p.yaml:3: path: no such key: did you mean paths?"),
    "one path": ("paths: a", "p.yaml:3: paths: must be a list, not 'a'"),
    "an empty path": ("paths: ['']", "p.yaml:3: paths[0]: is empty"),
    "a null byte": ('paths: ["a\\0b"]', "contains a null byte"),
    "a version without quotes": ("kubeVersion: 1.30", 'write it in quotes, as "'),
    "no version": ("kubeVersion: one", "kubeVersion: "),
    "a future version": ("kubeVersion: '1.99'", "is newer than the supported versions"),
    "two configurations": ("config: a\nschedulerConfig: b", "schedulerConfig: cannot be used with"),
    "an unknown rule": ("rules: {TSC999: off}", "rules.TSC999: 'TSC999' is not a rule: use some"),
    "a rule of the API": ("rules: {TSC001: off}", "is a rule whose action cannot be set"),
    "an unknown action": ("rules: {TSC110: of}", "cannot be 'of': did you mean off?"),
    "no exempted rule": (exemption(rules=None), "exemptions[0].rules: is missing"),
    "an empty list of rules": (exemption(rules=[]), "exemptions[0].rules: "),
    "an unknown exempted rule": (exemption(rules=["x"]), "'x' is not a rule"),
    "an exempted rule of the API": (exemption(rules=["TSC001"]), "kube-apiserver refuses objects"),
    "no reason": (exemption(reason=None), "exemptions[0].reason: is missing"),
    "an empty reason": (exemption(reason=" "), "is empty: write why"),
    "a long reason": (exemption(reason="r" * 201), "has more than 200 characters"),
    "an exemption of everything": (exemption(names=None), "exempts every object"),
    "an exemption by nothing": (exemption(names=[]), "exempts every object"),
    "a wrong selector": (exemption(selector={"matchLabels": {"a b": "c"}}), "selector.matchLabels"),
    "another kind": ("kind: SpreadTest", "p.yaml:"),
}


@pytest.mark.parametrize(("text", "problem"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_name_their_place(text: str, problem: str) -> None:
    with pytest.raises(CombinedConfigError) as caught:
        read(text)

    assert problem in "\n".join(map(str, caught.value.errors))


def test_rules_of_the_api_server_are_not_exemptible() -> None:
    assert "TSC001" not in EXEMPTIBLE_RULES
    assert {"TSC101", "TSC020"} <= set(EXEMPTIBLE_RULES)


def test_the_schema_in_the_docs_is_that_of_the_project() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **SpreadProject.model_json_schema(by_alias=True),
    }

    assert msgspec.json.decode(SCHEMA.read_bytes()) == schema


def test_the_example_is_of_the_schema() -> None:
    example = yaml.safe_load((ROOT / "examples/project/.evenspread.yaml").read_text())
    schema = msgspec.json.decode(SCHEMA.read_bytes())

    jsonschema.validate(example, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**example, "path": []}, schema)
