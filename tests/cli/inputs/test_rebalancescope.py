"""What a plan covers, and the objects of files."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.cluster.scheduling.unevenshop import NODES, uneven_pods, web_pod
from tests.policy.placement.clusters import gates
from tests.policy.placement.filters.objects import anti_affinity, pod_object, term
from webhook.audit.snapshot import Snapshot, write_snapshot
from webhook.cli.inputs.facts import FactsSources
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.rebalancescope import (
    RebalanceRequest,
    find_missing_namespaces,
    read_files,
    read_request,
)
from webhook.cluster.scheduling.planningobjects import PlanningObjects
from webhook.errors import ConfigError, SourceError

GATES = gates()
FILES = FactsSources()


def request(
    *words: str, namespace: str = "", everywhere: bool = False
) -> tuple[str, tuple[tuple[str, ...], ...]]:
    found = read_request(words, namespace, FILES, GATES, all_namespaces=everywhere)
    return found.namespace, found.workloads


def write(folder: Path, name: str, *objects: Any) -> str:
    (folder / name).write_text(yaml.safe_dump_all(objects))
    return name


def found(*objects: Any) -> PlanningObjects:
    listed = PlanningObjects()
    kinds = {"Pod": "pods", "Node": "nodes", "Service": "services"}
    for value in objects:
        listed.put(kinds[value["kind"]], msgspec.json.encode(value))
    return listed


def pods_of(request: RebalanceRequest, *objects: Any) -> list[str]:
    return [one.pod.name for one in request.find_scope(found(*objects)).pods]


def test_workloads_are_named_as_for_kubectl() -> None:
    assert request() == ("", ())
    assert request(namespace="shop") == ("shop", ())
    assert request("deploy/web") == ("default", (("Deployment/web",),))
    assert request("deploy", "web", "api", namespace="shop") == (
        "shop",
        (("Deployment/web",), ("Deployment/api",)),
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("pod/web-1",), "is a pod"),
        (("web-1",), "names no kind: write a workload, as in deploy/web"),
        (("foo/web",), "is not a kind"),
        (("deploy",), "the name is missing"),
    ],
)
def test_other_words_are_errors(words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        request(*words)


def test_a_name_is_in_one_namespace() -> None:
    with pytest.raises(ConfigError, match="within one namespace"):
        request("deploy/web", everywhere=True)


def test_only_the_pods_of_named_workloads_are_planned() -> None:
    objects = (*NODES, web_pod("w", "a1"), web_pod("x", "a1", app="api"))

    assert pods_of(RebalanceRequest("shop", (("Deployment/web",),), GATES), *objects) == ["w"]
    assert pods_of(RebalanceRequest("shop", (), GATES), *objects) == ["w", "x"]
    with pytest.raises(SourceError, match="Deployment/db in namespace shop: has no pods"):
        pods_of(RebalanceRequest("shop", (("Deployment/db",),), GATES), *objects)


def test_pods_without_constraints_have_those_of_the_scheduler() -> None:
    pod = web_pod("w", "a1")
    del pod["spec"]["topologySpreadConstraints"]
    service = {
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    request = RebalanceRequest("", (), GATES)
    (one,) = request.find_scope(found(*NODES, pod, service)).pods
    known = found(*NODES, web_pod("w", "a1"))
    (own,) = request.read_pods(known, known.objects.pods or (), "shop")

    assert [spread.max_skew for spread in one.spreads.soft] == [3, 5]
    assert (len(own.spreads.hard), own.spreads.defaulted) == (1, False)


def test_files_replace_facts(folder: Path) -> None:
    own = write(folder, "own.yaml", web_pod("w", "b1"))
    facts = write(folder, "facts.yaml", *NODES, *uneven_pods(), web_pod("w", "a1"))
    inputs = Inputs([own])

    read = read_files(inputs, FactsSources(paths=(facts,)), "")

    scope = RebalanceRequest("", (), GATES).find_scope(read)
    assert {one.pod.name: one.pod.node_name for one in scope.pods}["w"] == "b1"
    assert len(scope.pods) == 6
    assert inputs.problems == []


def test_a_namespace_must_exist(folder: Path) -> None:
    own = write(folder, "own.yaml", *NODES, web_pod("w", "b1"))

    with pytest.raises(ConfigError, match="there is no namespace 'sop'"):
        read_files(Inputs([own]), FILES, "sop")


def test_type_errors_are_problems(folder: Path) -> None:
    own = write(folder, "own.yaml", web_pod("w", "b1") | {"spec": {"nodeName": 1}})
    inputs = Inputs([own])

    read_files(inputs, FILES, "")

    (problem,) = map(str, inputs.problems)
    assert problem == "own.yaml:17: Pod/w: spec.nodeName: expected a string, got an integer"


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([], "there are no Nodes: add them with --facts"),
        (NODES[:1], "pods run on b1, c1: not among the Nodes: add them with --facts"),
    ],
)
def test_missing_nodes_are_problems(folder: Path, nodes: list[Any], problem: str) -> None:
    inputs = Inputs([write(folder, "own.yaml", *nodes, *uneven_pods())])

    read_files(inputs, FILES, "")

    assert list(map(str, inputs.problems)) == [problem]


def test_namespaces_whose_labels_decide_are_problems() -> None:
    selecting = {**term("zone", app="db"), "namespaceSelector": {"matchLabels": {"team": "x"}}}
    pod = web_pod("w", "a1")
    pod["spec"]["affinity"] = anti_affinity(selecting)
    other = pod_object("db", namespace="ops", labels={"app": "db"}, nodeName="b1")
    listed = found(*NODES, pod, {"kind": "Pod", **other})
    scope = RebalanceRequest("", (), GATES).find_scope(listed)

    (problem,) = map(str, find_missing_namespaces(scope, listed))

    assert problem.startswith("Namespaces ops: their labels decide on pod affinity")
    listed.put("namespaces", msgspec.json.encode({"metadata": {"name": "ops"}}))
    assert list(find_missing_namespaces(scope, listed)) == []


@pytest.mark.usefixtures("folder")
def test_a_snapshot_lacks_what_decides_on_evictions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_snapshot(Snapshot(), "cluster.gz")

    read_files(Inputs([]), FactsSources(paths=("cluster.gz",)), "")

    assert "warning: cluster.gz: is a snapshot without resources" in capsys.readouterr().err
