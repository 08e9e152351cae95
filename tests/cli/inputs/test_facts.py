from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import ApiServer
from tests.audit import world
from tests.cli import files
from tests.cli.inputs.manifestclusters import documents
from webhook.audit.snapshot import write_snapshot
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import (
    FactsSources,
    drop_project_files,
    list_namespaces,
    read_facts,
    read_objects,
    resolve_namespace,
    takes_sources,
)
from webhook.cli.inputs.manifests import Inputs
from webhook.cluster.facts import Cluster
from webhook.config.project import Project

LIVE = FactsSources(live=ServerOptions(kubeconfig="kubeconfig"))

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {from: %s}}
---
"""


def origins(cluster: Cluster) -> dict[str, str]:
    """Map nodes to the source that they come from."""
    return {node.name: node.labels["from"] for node in cluster.node_store}


def test_facts_are_the_union_and_the_most_specific_source_wins(
    api: ApiServer, folder: Path
) -> None:
    api.add(*yaml.safe_load_all("".join(NODE % (name, "live") for name in "abc").strip("-\n")))
    (folder / "facts.yaml").write_text("".join(NODE % (name, "facts") for name in "bcd"))
    sources = FactsSources(paths=("facts.yaml",), live=LIVE.live)
    own = documents("".join(NODE % (name, "file") for name in "ce"))

    cluster = read_facts(sources, own, (), Inputs([]))

    assert origins(cluster) == {"a": "live", "b": "facts", "c": "file", "d": "facts", "e": "file"}


def test_without_a_live_cluster_facts_are_those_of_files(folder: Path) -> None:
    (folder / "facts.yaml").write_text("".join(NODE % (name, "facts") for name in "ab"))
    own = documents("".join(NODE % (name, "file") for name in "bc"))

    cluster = read_facts(FactsSources(paths=("facts.yaml",)), own, (), Inputs([]))

    assert origins(cluster) == {"a": "facts", "b": "file", "c": "file"}


def test_facts_may_be_read_already() -> None:
    others = documents("".join(NODE % (name, "read") for name in "ab"))

    cluster = read_facts(FactsSources(paths=("no.yaml",)), [], (), Inputs([]), others=others)

    assert origins(cluster) == {"a": "read", "b": "read"}


def test_services_are_read_from_the_namespaces_of_the_objects(api: ApiServer) -> None:
    api.add(yaml.safe_load(files.SERVICE))

    cluster = read_facts(LIVE, documents(files.POD), (), Inputs([]))

    assert [one.name for one in cluster.services("shop", {"app": "web"})] == ["web"]
    assert not [path for path in api.paths if path.endswith("/v1/services")]


# values, sources
NAMED: dict[str, tuple[dict[str, Any], FactsSources]] = {
    "nothing": ({}, FactsSources()),
    "paths": ({"facts": ("a", "b")}, FactsSources(paths=("a", "b"))),
    "live": ({"live": True}, FactsSources(live=ServerOptions())),
    "a kubeconfig": ({"kubeconfig": "kubeconfig"}, LIVE),
    "a user": ({"as_user": "ann"}, FactsSources(live=ServerOptions(as_user="ann"))),
    "a context": ({"context": "x"}, FactsSources(live=ServerOptions(context="x"))),
}
ABSENT: dict[str, Any] = {
    "facts": (),
    "live": False,
    "kubeconfig": "",
    "context": "",
    "as_user": "",
    "as_group": (),
    "as_uid": "",
    "request_timeout": 0.0,
}


@pytest.mark.parametrize(("values", "expected"), NAMED.values(), ids=NAMED.keys())
def test_sources_are_those_that_options_name(
    values: dict[str, Any], expected: FactsSources
) -> None:
    command = takes_sources(lambda **given: given)

    assert command(**ABSENT, rules="x") | {} == {"sources": FactsSources(), "rules": "x"}
    assert command(**(ABSENT | values)) == {"sources": expected}


def test_without_any_source_the_current_context_is_read() -> None:
    assert FactsSources().or_current_context(()).live == ServerOptions()
    assert FactsSources().or_current_context(("web.yaml",)).live is None
    assert FactsSources(paths=("a",)).or_current_context(()).live is None
    assert LIVE.or_current_context(()) is LIVE


def test_the_namespace_is_that_of_the_option_or_of_the_context(
    api: ApiServer, folder: Path
) -> None:
    assert resolve_namespace("", FactsSources()) == "default"
    assert resolve_namespace("shop", LIVE) == "shop"
    assert resolve_namespace("", LIVE) == "default"
    kubeconfig = folder / "kubeconfig"
    value = yaml.safe_load(kubeconfig.read_text())
    value["contexts"][0]["context"]["namespace"] = "ops"
    kubeconfig.write_text(yaml.safe_dump(value))

    assert resolve_namespace("", LIVE) == "ops"


def test_namespaces_are_those_of_objects_and_of_reviews() -> None:
    review = "---\nkind: AdmissionReview\nrequest: {namespace: ops}\n"
    nameless = "---\nkind: Pod\nmetadata: {name: a}\n"

    found = list_namespaces(documents(files.POD + review + nameless), "own")

    assert found == ["ops", "own", "shop"]


def test_facts_may_be_a_snapshot(tmp_path: Path) -> None:
    path = str(tmp_path / "all.gz")
    write_snapshot(world.gather(world.LIVE).snapshot, path)

    found = list(read_objects(Inputs([]), [path], ()))

    assert {document.source for document in found} == {path}
    assert {"Node", "Deployment", "Pod"} <= {document.kind for document in found}
    assert found[0].line() == 1


SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n"


def test_facts_that_name_no_namespace_are_in_the_given_one(folder: Path) -> None:
    (folder / "facts.yaml").write_text(SERVICE)
    own = documents(SERVICE.replace("name: web", "name: api"))

    cluster = read_facts(FactsSources(paths=("facts.yaml",)), own, (), Inputs([]), "shop")

    assert {one.name for one in cluster.services("shop", {"app": "web"})} == {"web", "api"}
    assert not cluster.services("default", {"app": "web"})


def test_without_objects_the_given_namespace_is_read(api: ApiServer) -> None:
    (service,) = documents(SERVICE.replace("name: web}", "name: web, namespace: shop}"))
    api.add(service.value)

    cluster = read_facts(LIVE, [], (), Inputs([]), "shop")

    assert [one.name for one in cluster.services("shop", {"app": "web"})] == ["web"]


def test_files_of_a_project_are_dropped() -> None:
    project = Project(file="p.yaml", paths=("own",), facts=("nodes",))
    own, named = FactsSources(paths=("nodes",)), FactsSources(paths=("other",))

    assert drop_project_files(project, ("own",), own) == ((), FactsSources())
    assert drop_project_files(project, ("a",), named) == (("a",), named)
    assert drop_project_files(None, ("own",), own) == (("own",), own)


EXCEPTION = """\
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicyException
metadata: {name: %s}
spec: {rules: [TSC110], reason: one zone, expires: '%s-01-31T00:00:00Z'}
"""


def test_exceptions_expire_by_the_clock_of_the_command() -> None:
    own = documents(EXCEPTION % ("over", "2020") + EXCEPTION % ("valid", "9000"))

    cluster = read_facts(FactsSources(), own, (), Inputs([]))

    assert [one.name for one in cluster.exceptions("default")] == ["valid"]


def test_exceptions_of_the_live_cluster_count(api: ApiServer) -> None:
    both = documents(EXCEPTION % ("over", "2020") + EXCEPTION % ("live", "9000"))
    for document in both:
        document.value["metadata"]["namespace"] = "default"
        api.add(document.value)

    cluster = read_facts(LIVE, documents(EXCEPTION % ("own", "9000")), (), Inputs([]))

    assert [one.name for one in cluster.exceptions("default")] == ["live", "own"]
