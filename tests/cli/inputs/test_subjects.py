import json
from typing import Any

import pytest

from tests.apiserver import ApiServer, refuse
from tests.build import job_set
from tests.cli import files
from tests.cli.inputs.manifestclusters import cluster_of
from tests.cli.inputs.shopcluster import SERVER
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.subjects import (
    ExplainSubject,
    controller_of,
    decode_template,
    explain_missing_name,
    find,
    find_in_manifests,
    is_controlled_by,
    labels_of,
    list_controlled,
    name_of,
    namespace_of,
    parse_subject,
    read_workload,
    revision_of,
    selector_of,
)
from webhook.errors import ApiError, ConfigError, SourceError
from webhook.manifests import Document, parse, read_documents
from webhook.policy.kinds import (
    BUILT_IN_TEMPLATES,
    DEPLOYMENT,
    POD,
    REPLICA_SET,
    SHIPPED_TEMPLATES,
)
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
    "a kind with version and group": ("deployment.v1.apps/web", (DEPLOYMENT,), "web"),
    "a short name with version and group": ("deploy.v1.apps/web", (DEPLOYMENT,), "web"),
    "a version of the core group": ("pods.v1./web", (POD,), "web"),
    "the core group alone": ("pods.v1/web", (POD,), "web"),
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


@pytest.mark.parametrize(
    ("kind", "example"), [("pods", "pod/web-1"), ("deploy", "deploy/web"), ("sts", "sts/web")]
)
def test_the_example_of_a_name_has_the_kind(kind: str, example: str) -> None:
    advice = explain_missing_name(kind, BUILT_IN_TEMPLATES)

    assert advice == f"the name is missing: write one as in {example}"


def test_an_object_of_the_cluster_is_found(documents: list[Document]) -> None:
    cluster = ManifestCluster(documents, (), Inputs([]))

    (found,) = find("deploy/web", "shop", BUILT_IN_TEMPLATES, cluster)
    assert str(found) == "Deployment shop/web"


MISSING = {
    "nowhere": ("sts/other", "not found: check its name"),
    "one with a similar name": ("deploy/wbe", r"not found: did you mean deploy/web\?"),
    "one with another name": ("deploy/other", r"not found: write deploy/web"),
    "a name without its kind": ("web", r"not found: did you mean deployment/web\?"),
    "a word that is no kind": (
        "all", "check its name and its namespace; 'all' is not a kind with a pod template either"
    ),
    "in another namespace": ("web-1", "but in namespace shop: add -n shop"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISSING.values(), ids=MISSING.keys())
def test_a_missing_object_is_an_error(text: str, message: str, documents: list[Document]) -> None:
    cluster = ManifestCluster(documents, (), Inputs([]))

    with pytest.raises(SourceError, match=message):
        find(text, "default", BUILT_IN_TEMPLATES, cluster)


# answer for the Deployments, the error
LISTS: dict[int, tuple[type[Exception], str]] = {
    403: (SourceError, "not found: check its name"),
    500: (ApiError, "500"),
}


@pytest.mark.parametrize(("status", "expected"), LISTS.items())
def test_kinds_that_may_not_be_listed_are_not_suggested(
    status: int, expected: tuple[type[Exception], str], api: ApiServer
) -> None:
    kind, message = expected
    api.answers["GET /apis/apps/v1/namespaces/default/deployments"] = refuse("no", status)
    none = ManifestCluster((), (), Inputs([]))
    with open_cluster(SERVER, none, ()) as cluster, pytest.raises(kind, match=message):
        find("deploy/wbe", "default", BUILT_IN_TEMPLATES, cluster)


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
    "with a null value": (CONTROLLER, {"a": None}, LabelSelector({"a": ""})),
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


def test_the_objects_that_a_workload_controls_are_listed() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    head = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
    cluster = cluster_of(
        *({**head, "metadata": {"name": name, "namespace": namespace, "ownerReferences": owners}}
          for name, namespace, owners in (
              ("web-1", "shop", [owner]), ("other", "shop", []), ("web-2", "blog", [owner])
          ))
    )  # fmt: skip

    found = list_controlled(REPLICA_SET, subject(WEB), cluster)

    assert list(map(name_of, found)) == ["web-1"]


def test_metadata_of_a_wrong_type_names_no_controller_and_no_revision() -> None:
    assert not is_controlled_by({"metadata": []}, subject(WEB))
    assert revision_of({"metadata": {"annotations": 1}}) == 0


@pytest.mark.parametrize(("text", "revision"), [("3", 3), ("x", 0), ("", 0)])
def test_the_revision_of_a_replica_set(text: str, revision: int) -> None:
    metadata = {"annotations": {"deployment.kubernetes.io/revision": text}}

    assert revision_of({"metadata": metadata}) == revision


def test_every_template_of_an_object_is_a_subject() -> None:
    (document,) = parse(json.dumps(job_set(a=[], b=[])), "job.json")
    assert isinstance(document, Document)

    found = list(find_in_manifests([document], "", "default", SHIPPED_TEMPLATES))

    assert [read_workload(item).part for item in found] == ["a", "b"]


UNUSABLE: dict[str, tuple[Any, str]] = {
    "no template": ({}, r"has nothing at spec.replicatedJobs\[\*\].template.spec.template: write"),
    "a wrong type": ({"replicatedJobs": {}}, r"has nothing at spec.replicatedJobs\[\*\].template"),
}


@pytest.mark.parametrize(("spec", "message"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_object_without_its_templates_is_an_error(spec: Any, message: str) -> None:
    (document,) = parse(json.dumps({**job_set(), "spec": spec}), "job.json")
    assert isinstance(document, Document)

    (found,) = find_in_manifests([document], "", "default", SHIPPED_TEMPLATES)

    with pytest.raises(SourceError, match=message):
        decode_template(found)


def test_an_object_with_a_bare_list_has_no_template_to_explain(documents: list[Document]) -> None:
    cluster = ManifestCluster(documents, (), Inputs([]))
    places = {DEPLOYMENT: ("spec", "topologySpreadConstraints")}

    with pytest.raises(SourceError, match="has a list of constraints, but no pod template"):
        find("deploy/web", "shop", places, cluster)


def test_the_name_and_the_controller_of_an_object() -> None:
    owner = {"kind": "Deployment", "name": "web", "controller": True}
    value = {"metadata": {"name": "web-1", "ownerReferences": [owner]}}
    controller = controller_of(value)

    assert name_of(value) == "web-1"
    assert controller is not None
    assert controller.name == "web"
    assert (name_of({}), controller_of({"metadata": 1})) == ("", None)


def test_the_labels_of_an_object() -> None:
    assert labels_of({"metadata": {"labels": {"app": "web"}}}) == {"app": "web"}
    assert labels_of({"metadata": 1}) == {}


def test_the_revision_of_a_rollouts_replica_set() -> None:
    metadata = {"annotations": {"rollout.argoproj.io/revision": "8"}}

    assert revision_of({"metadata": metadata}) == 8


def test_the_namespace_of_an_object_is_the_one_that_it_names() -> None:
    named = {"metadata": {"namespace": "shop"}}

    assert (namespace_of(named), namespace_of({})) == ("shop", "")
