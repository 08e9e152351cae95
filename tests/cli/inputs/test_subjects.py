from typing import Any

import pytest

from tests.cli import files
from webhook.cli.inputs.cluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.subjects import (
    ExplainSubject,
    decode_template,
    find,
    find_in_manifests,
    is_controlled_by,
    is_same_template,
    parse_subject,
    read_workload,
    revision_of,
    selector_of,
)
from webhook.errors import ConfigError, SourceError
from webhook.manifests import Document, read_documents
from webhook.policy.kinds import BUILT_IN_TEMPLATES, DEPLOYMENT, POD, REPLICA_SET
from webhook.policy.model import GroupKind, LabelSelector

CONTROLLER = GroupKind("", "ReplicationController")
WEB: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
    },
}


def subject(value: dict[str, Any], kind: GroupKind = DEPLOYMENT) -> ExplainSubject:
    return ExplainSubject(kind, BUILT_IN_TEMPLATES[kind], "shop", value, exists=True)


@pytest.fixture
def documents(tmp_path: Any) -> list[Document]:
    (tmp_path / "all.yaml").write_text(f"{files.POD}---\n{files.NODE}---\n{files.DEPLOYMENT}")
    return [item for item in read_documents([str(tmp_path)]) if isinstance(item, Document)]


SUBJECTS = {
    "a name alone is a pod": ("web-1", (POD,), "web-1"),
    "a short name": ("deploy/web", (DEPLOYMENT,), "web"),
    "a plural": ("deployments/web", (DEPLOYMENT,), "web"),
    "a kind with its group": ("replicaset.apps/web", (REPLICA_SET,), "web"),
    "a plural with its group": ("ReplicaSets.apps/web", (REPLICA_SET,), "web"),
}


@pytest.mark.parametrize(("text", "kinds", "name"), SUBJECTS.values(), ids=SUBJECTS.keys())
def test_subjects_are_parsed_as_by_kubectl(
    text: str, kinds: tuple[GroupKind, ...], name: str
) -> None:
    assert parse_subject(text, BUILT_IN_TEMPLATES) == (kinds, name)


@pytest.mark.parametrize(
    ("text", "message"),
    [("node/n1", "is not a kind with a pod template"), ("pod/", "the name is missing")],
)
def test_invalid_subjects_are_errors(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_subject(text, BUILT_IN_TEMPLATES)


def test_an_object_of_the_cluster_is_found(documents: list[Document]) -> None:
    cluster = ManifestCluster(documents, (), Inputs([]))

    assert str(find("deploy/web", "shop", BUILT_IN_TEMPLATES, cluster)) == "Deployment shop/web"


MISSING = {
    "nowhere": ("deploy/other", "not found: check its name"),
    "in another namespace": ("web-1", "but in namespace shop: add -n shop"),
}


@pytest.mark.parametrize(("text", "message"), MISSING.values(), ids=MISSING.keys())
def test_a_missing_object_is_an_error(text: str, message: str, documents: list[Document]) -> None:
    cluster = ManifestCluster(documents, (), Inputs([]))

    with pytest.raises(SourceError, match=message):
        find(text, "default", BUILT_IN_TEMPLATES, cluster)


def test_objects_of_manifests_are_selected(documents: list[Document]) -> None:
    def names(text: str) -> list[str]:
        found = find_in_manifests(documents, text, "default", BUILT_IN_TEMPLATES)
        return [str(item) for item in found]

    assert names("") == ["Pod shop/web-1", "Deployment shop/web", "Deployment default/web"]
    assert names("deploy/web") == ["Deployment shop/web", "Deployment default/web"]
    assert names("deploy/none") == []


def test_a_subject_without_a_name_has_its_generate_name() -> None:
    assert subject({"metadata": {"generateName": "web-"}}, POD).name == "web-"
    assert subject({"metadata": []}, POD).name == ""


def test_a_template_is_decoded() -> None:
    assert decode_template(subject(WEB)).labels == {"app": "web"}
    assert read_workload(subject(WEB)).replicas == 2


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "no template": ({"spec": {}}, "has nothing at spec.template"),
    "no spec": ({"spec": []}, "has nothing at spec.template"),
    "a wrong type": ({"spec": {"template": {"spec": 1}}}, "spec.template.spec: "),
}


@pytest.mark.parametrize(("value", "message"), INVALID.values(), ids=INVALID.keys())
def test_an_invalid_template_is_an_error(value: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        decode_template(subject(value))


def test_a_workload_with_a_type_error_outside_of_its_template_is_an_error() -> None:
    wrong = {**WEB, "metadata": {"labels": 1}}

    with pytest.raises(SourceError, match="cannot be read"):
        read_workload(subject(wrong))


SELECTORS: dict[str, tuple[GroupKind, Any, LabelSelector | None]] = {
    "of a Deployment": (DEPLOYMENT, {"matchLabels": {"a": "b"}}, LabelSelector({"a": "b"})),
    "of a ReplicationController": (CONTROLLER, {"a": "b"}, LabelSelector({"a": "b"})),
    "missing": (CONTROLLER, None, None),
    "of a wrong type": (DEPLOYMENT, 1, None),
}


@pytest.mark.parametrize(("kind", "text", "selector"), SELECTORS.values(), ids=SELECTORS.keys())
def test_selectors_of_workloads(kind: GroupKind, text: Any, selector: LabelSelector | None) -> None:
    assert selector_of(subject({"spec": {"selector": text}}, kind)) == selector


def test_a_workload_without_a_spec_has_no_selector() -> None:
    assert selector_of(subject({})) is None


def test_the_controller_of_an_object_is_compared_by_kind_and_name() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}

    assert is_controlled_by({"metadata": {"ownerReferences": [owner]}}, subject(WEB))
    assert not is_controlled_by({"metadata": {}}, subject(WEB))


def test_metadata_of_a_wrong_type_names_no_controller_and_no_revision() -> None:
    assert not is_controlled_by({"metadata": []}, subject(WEB))
    assert revision_of({"metadata": {"annotations": 1}}) == 0


def test_templates_are_equal_except_for_the_hash() -> None:
    template: dict[str, Any] = WEB["spec"]["template"]
    labels = {"app": "web", "pod-template-hash": "1"}
    hashed = {"spec": {"template": {**template, "metadata": {"labels": labels}}}}

    assert is_same_template(decode_template(subject(hashed)), decode_template(subject(WEB)))


@pytest.mark.parametrize(("text", "revision"), [("3", 3), ("x", 0), ("", 0)])
def test_the_revision_of_a_replica_set(text: str, revision: int) -> None:
    metadata = {"annotations": {"deployment.kubernetes.io/revision": text}}

    assert revision_of({"metadata": metadata}) == revision
