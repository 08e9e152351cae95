"""The CustomResourceDefinition has the fields that evenspread reads."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from tests.deploy.manifests import Helm, Json, by_name
from webhook.config.constraints import DefaultConstraint
from webhook.config.models import RequirementModel, SelectorModel
from webhook.config.policyobjects import SpreadPolicySpec, read_spread_policies
from webhook.config.rulesettings import ProfileRuleSetting
from webhook.config.spread import MatchModel
from webhook.config.spreadpolicies import POLICY_VERSION, SPREAD_POLICY
from webhook.manifests import Document, read_documents
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.policystatus import PolicyStatus, StatusCondition
from webhook.policy.defaulting.profiles import Merge, Mode, ScaleDown
from webhook.policy.model import NODE_POLICIES, UNSATISFIABLE_ACTIONS, GroupKind
from webhook.policy.rule_entry import Action
from webhook.policy.selectors import OPERATORS

ROOT = Path(__file__).parents[2]
CRD = ROOT / "deploy" / "kustomize" / "base" / "crds.yaml"
NAME = "CustomResourceDefinition/spreadpolicies.evenspread.io"


@pytest.fixture(scope="module")
def definition() -> Json:
    made: Json = next(yaml.safe_load_all(CRD.read_text()))
    return made


@pytest.fixture(scope="module")
def spec(definition: Json) -> Json:
    (version,) = definition["spec"]["versions"]
    found: Json = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def at(schema: Json, *path: str) -> Json:
    for step in path:
        schema = schema["items"] if step == "items" else schema["properties"][step]
    return schema


def test_it_defines_the_kind_that_is_read(definition: Json) -> None:
    names = definition["spec"]["names"]

    assert GroupKind(definition["spec"]["group"], names["kind"]) == SPREAD_POLICY
    assert [version["name"] for version in definition["spec"]["versions"]] == [POLICY_VERSION]
    assert definition["spec"]["scope"] == "Cluster"
    assert (names["shortNames"], names["categories"]) == (["sprp"], ["evenspread"])


SELECTOR = ("match", "namespaceSelector")
MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): SpreadPolicySpec,
    ("match",): MatchModel,
    SELECTOR: SelectorModel,
    ("match", "objectSelector"): SelectorModel,
    (*SELECTOR, "matchExpressions", "items"): RequirementModel,
    ("defaultConstraints", "items"): DefaultConstraint,
}


@pytest.mark.parametrize(("path", "model"), MODELS.items(), ids=str)
def test_its_fields_are_those_of_the_model(
    spec: Json, path: tuple[str, ...], model: type[BaseModel]
) -> None:
    aliases = {field.alias for field in model.model_fields.values()}

    assert at(spec, *path)["properties"].keys() == aliases


ENUMS: dict[tuple[str, ...], Any] = {
    ("merge",): Merge,
    ("mode",): Mode,
    ("scaleDown",): ScaleDown,
    (*SELECTOR, "matchExpressions", "items", "operator"): OPERATORS,
    ("defaultConstraints", "items", "whenUnsatisfiable"): UNSATISFIABLE_ACTIONS,
    ("defaultConstraints", "items", "nodeAffinityPolicy"): NODE_POLICIES,
    ("defaultConstraints", "items", "nodeTaintsPolicy"): NODE_POLICIES,
}


@pytest.mark.parametrize(("path", "words"), ENUMS.items(), ids=str)
def test_its_words_are_those_of_the_model(
    spec: Json, path: tuple[str, ...], words: type[StrEnum] | tuple[str, ...]
) -> None:
    assert set(at(spec, *path)["enum"]) == set(words)


def test_its_defaults_are_those_of_the_model(spec: Json) -> None:
    properties = spec["properties"].items()
    defaults = {name: schema["default"] for name, schema in properties if "default" in schema}
    model = SpreadPolicySpec(defaultConstraints=())

    without = {"match", "defaultConstraints", "mode", "rules"}
    assert defaults.keys() == spec["properties"].keys() - without
    assert defaults == {
        field.alias: getattr(model, name)
        for name, field in SpreadPolicySpec.model_fields.items()
        if field.alias in defaults
    }


def test_its_rules_are_those_that_a_profile_can_set(spec: Json) -> None:
    rules = spec["properties"]["rules"]
    (validation,) = rules["x-kubernetes-validations"]
    setting = rules["additionalProperties"]["properties"]

    assert setting.keys() == ProfileRuleSetting.model_fields.keys()
    assert set(setting["action"]["enum"]) == set(Action)
    assert re.findall(r"'(\w+)'", validation["rule"]) == list(DEFAULT_ACTIONS)
    assert validation["message"].endswith(", ".join(DEFAULT_ACTIONS))


def test_its_status_is_that_which_is_written(definition: Json) -> None:
    (version,) = definition["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    conditions = at(status, "conditions")

    assert version["subresources"] == {"status": {}}
    assert status["properties"].keys() == set(PolicyStatus.__struct_encode_fields__)
    assert conditions["items"]["properties"].keys() == set(StatusCondition.__struct_encode_fields__)
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def test_its_columns_show_the_status(definition: Json) -> None:
    (version,) = definition["spec"]["versions"]
    columns = version["additionalPrinterColumns"]

    shown = [column["name"] for column in columns if "priority" not in column]
    assert shown == ["Order", "Accepted", "Effective", "Uneven", "Age"]
    wide = {column["jsonPath"] for column in columns if "priority" in column}
    assert wide >= {f".status.{name}" for name in ("matchedNamespaces", "podsWithDefaults")}


def test_both_selectors_have_the_same_schema(spec: Json) -> None:
    first, second = (
        {**at(spec, "match", name), "description": ""}
        for name in ("namespaceSelector", "objectSelector")
    )
    assert first == second


def test_it_is_not_installed_if_another_tool_does_it(helm: Helm) -> None:
    assert NAME not in by_name(helm.objects({"policies": {"crd": False}}))


def test_uninstalling_keeps_it(definition: Json) -> None:
    assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_the_examples_can_be_read() -> None:
    documents = read_documents([str(ROOT / "examples" / "policies")])

    policies = read_spread_policies(item for item in documents if isinstance(item, Document))

    assert len(policies) == 3
