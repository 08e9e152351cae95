"""The CustomResourceDefinition of exceptions has the fields that evenspread reads."""

from datetime import UTC, datetime

import msgspec
import pytest
import yaml

from tests.deploy.manifests import Helm, Json, by_name
from tests.deploy.test_crds import CRD, ROOT
from webhook.cluster.manifests import load_cluster
from webhook.cluster.policyexceptions import (
    MOST_RULES,
    POLICY_EXCEPTION,
    REASON_CHARACTERS,
    PolicyExceptionObject,
)
from webhook.config.spreadpolicies import POLICY_VERSION
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.model import GroupKind
from webhook.policy.policyexceptions import MOST_EXCEPTIONS

NAME = "CustomResourceDefinition/spreadpolicyexceptions.evenspread.io"
NOW = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def definitions() -> list[Json]:
    """Those of SpreadPolicies and of exceptions."""
    return list(yaml.safe_load_all(CRD.read_text()))


@pytest.fixture(scope="module")
def definition(definitions: list[Json]) -> Json:
    return definitions[1]


def schema_of(definition: Json) -> Json:
    (version,) = definition["spec"]["versions"]
    found: Json = version["schema"]["openAPIV3Schema"]
    return found


def test_it_defines_the_kind_that_is_read(definition: Json) -> None:
    names = definition["spec"]["names"]

    assert GroupKind(definition["spec"]["group"], names["kind"]) == POLICY_EXCEPTION
    assert [version["name"] for version in definition["spec"]["versions"]] == [POLICY_VERSION]
    assert definition["spec"]["scope"] == "Namespaced"
    assert (names["shortNames"], names["categories"]) == (["sprx"], ["evenspread"])


def test_its_fields_and_bounds_are_those_of_the_model(definition: Json) -> None:
    spec = schema_of(definition)["properties"]["spec"]
    read = PolicyExceptionObject.__annotations__["spec"]
    fields = {field.encode_name: field for field in msgspec.structs.fields(read)}
    properties = spec["properties"]

    assert properties.keys() == fields.keys()
    assert spec["required"] == [name for name, field in fields.items() if field.required]
    assert properties["rules"]["items"]["enum"] == list(DEFAULT_ACTIONS)
    assert properties["rules"]["maxItems"] == MOST_RULES >= len(DEFAULT_ACTIONS)
    assert properties["reason"]["maxLength"] == REASON_CHARACTERS
    assert properties["defaults"]["default"] is fields["defaults"].default


def test_it_says_how_many_exceptions_count(definition: Json) -> None:
    assert f"the first {MOST_EXCEPTIONS} by name count" in schema_of(definition)["description"]


def test_its_selector_has_the_schema_of_policies(definitions: list[Json]) -> None:
    of_policies, of_exceptions = (
        schema_of(definition)["properties"]["spec"]["properties"] for definition in definitions
    )
    first, second = (
        {**selector, "description": ""}
        for selector in (
            of_policies["match"]["properties"]["objectSelector"],
            of_exceptions["selector"],
        )
    )
    assert first == second


def test_it_is_not_installed_if_another_tool_does_it(helm: Helm) -> None:
    assert NAME in by_name(helm.objects({}))
    assert NAME not in by_name(helm.objects({"policies": {"crd": False}}))


def test_uninstalling_keeps_it(definition: Json) -> None:
    assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_the_examples_can_be_read() -> None:
    loaded = load_cluster([str(ROOT / "examples" / "policies")], now=lambda: NOW)

    assert loaded.problems == []
    assert [one.name for one in loaded.cluster.exceptions("shop")] == ["batch", "legacy-zone"]
