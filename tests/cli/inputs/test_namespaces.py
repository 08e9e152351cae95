import pytest

from tests.cli.inputs.manifestclusters import documents
from webhook.cli.inputs.namespaces import MOST_LISTED, put_into_namespace, require_namespace
from webhook.errors import ConfigError

MANY = [f"team-{number:02}" for number in range(MOST_LISTED + 1)]


@pytest.mark.parametrize(
    ("namespace", "known"), [("", ["shop"]), ("shop", []), ("shop", ["ops", "shop"])]
)
def test_a_namespace_that_exists_or_may_exist_is_accepted(namespace: str, known: list[str]) -> None:
    require_namespace(namespace, known)


# namespace, known ones, message
ABSENT = {
    "a similar one": ("shopp", ["shop", "ops"], "did you mean shop?"),
    "no similar one": ("x", ["shop", "ops"], "write ops or shop"),
    "too many to list": ("x", MANY, f"write one of {', '.join(MANY[:-1])}, ..."),
}


@pytest.mark.parametrize(("namespace", "known", "advice"), ABSENT.values(), ids=ABSENT.keys())
def test_an_absent_namespace_is_an_error(namespace: str, known: list[str], advice: str) -> None:
    with pytest.raises(ConfigError) as caught:
        require_namespace(namespace, known)

    assert str(caught.value) == f"-n: there is no namespace {namespace!r}: {advice}"


PLACED = {
    "a pod": ("kind: Pod\nmetadata: {name: a}\n", "shop"),
    "a pod of another namespace": ("kind: Pod\nmetadata: {namespace: ops}\n", "ops"),
    "a custom object": ("apiVersion: x.io/v1\nkind: Fleet\nmetadata: {name: a}\n", "shop"),
    "a node": ("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", ""),
    "a review": ("kind: AdmissionReview\nrequest: {namespace: ops}\n", ""),
}


@pytest.mark.parametrize(("text", "namespace"), PLACED.values(), ids=PLACED.keys())
def test_objects_without_a_namespace_are_put_into_one(text: str, namespace: str) -> None:
    (document,) = put_into_namespace(documents(text), "shop")

    assert document.namespace == namespace
    assert document.line() == 1
