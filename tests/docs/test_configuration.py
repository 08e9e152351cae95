"""The page on configuration: its examples load, and it names every field there is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml

from tests.docs.markdown import PAGES, ROOT, Block, blocks, name
from webhook.cluster.policyexceptions import POLICY_EXCEPTION, decode_exception
from webhook.config.constraints import DefaultConstraint
from webhook.config.documents import check, check_scheduler
from webhook.config.models import OwnerSelectorModel, StrictModel
from webhook.config.podtemplates import PodTemplateModel
from webhook.config.policyobjects import read_spread_policies
from webhook.config.project import PROJECT_FILE
from webhook.config.projectfile import load_project
from webhook.config.spread import ProfileModel, SpreadConfiguration
from webhook.config.spreadpolicies import SPREAD_POLICY
from webhook.config.validation import read_document

PAGE = ROOT / "docs" / "configuration.md"
SCHEDULER = ROOT / "examples" / "config" / "kube-scheduler.yaml"

READ_BY_OTHERS = {
    "AdmissionConfiguration", "Assign", "ClusterPolicy", "ClusterRole", "Config", "Kustomization",
    "MutatingAdmissionPolicy", "SpreadTest",
}  # fmt: skip
"""Kinds of examples that other programs read: API servers, policy engines, kustomize, tests."""

EXAMPLES = [
    pytest.param(block, id=f"{name(page)}:{block.line}")
    for page in PAGES
    for block in blocks(page)
    if block.language == "yaml"
    and yaml.safe_load(block.text).get("kind") not in {None, *READ_BY_OTHERS}
]
"""Examples of our own files; those of CI systems have no kind."""


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_load(example: Block, tmp_path: Path) -> None:
    kind = yaml.safe_load(example.text)["kind"]
    if kind == "SpreadProject":
        (tmp_path / PROJECT_FILE).write_text(example.text)
        load_project(str(tmp_path / PROJECT_FILE))
    elif kind == SPREAD_POLICY.kind:
        assert read_spread_policies([read_document(example.text, "example")])
    elif kind == "SpreadConfiguration":
        check(read_document(example.text, "example"), lambda _: SCHEDULER.read_text())
    elif kind == POLICY_EXCEPTION.kind:
        assert decode_exception(msgspec.json.encode(yaml.safe_load(example.text))).rules
    else:
        check_scheduler(read_document(example.text, "example"))


def fields_of(model: type[StrictModel]) -> Iterator[str]:
    """The names of all fields of a model and of the models in it, as they are written."""
    for field in model.model_fields.values():
        assert field.alias is not None
        yield field.alias
        for inner in _models(field.annotation):
            yield from fields_of(inner)


def _models(annotation: Any) -> Iterator[type[StrictModel]]:
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


_SELECTORS = {"matchLabels", "matchExpressions", "key", "operator", "values"}
"""Fields of label selectors, which Kubernetes explains."""


def explains(field: str) -> bool:
    return bool(re.search(rf"`(?:\w+\.)?{field}\b", PAGE.read_text()))


def test_every_field_is_explained() -> None:
    fields = set(fields_of(SpreadConfiguration)) - _SELECTORS

    assert {field for field in fields if not explains(field)} == set()


@pytest.mark.parametrize(
    ("heading", "models"),
    {
        "### Fields of the file": (SpreadConfiguration, PodTemplateModel, OwnerSelectorModel),
        "### Profiles": (ProfileModel, DefaultConstraint),
    }.items(),
)
def test_tables_name_no_field_that_is_not_there(
    heading: str, models: tuple[type[StrictModel], ...]
) -> None:
    section = PAGE.read_text().partition(heading)[2].partition("\n###")[0]
    first_cells = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    named = {part for cell in first_cells for part in re.findall(r"\w+", cell)}

    assert named
    assert named <= {field for model in models for field in fields_of(model)}


def test_the_statement_about_an_empty_configuration_is_true() -> None:
    configuration = check(
        read_document("{apiVersion: evenspread.io/v1alpha1, kind: SpreadConfiguration}", "x"), str
    )

    assert configuration.profiles == ()
    assert configuration.mode == "apply"
    assert configuration.field_defaults == "whenUnsatisfiable"
    assert configuration.exempt_namespaces == {"kube-system"}
