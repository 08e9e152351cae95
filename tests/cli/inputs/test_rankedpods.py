"""Pods with the label, and nodes, from files, facts and a live cluster."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.shop import NODE
from tests.cluster.objects import labelled_pod
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import FactsSources
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.rankedpods import RankedPods, read_ranked_pods
from webhook.errors import ConfigError
from webhook.policy.model import ZONE

LIVE = ServerOptions(kubeconfig="kubeconfig")
NODES = [
    yaml.safe_load(NODE.strip("-\n ") % (name, name, name[0], "false")) for name in ("a1", "b1")
]


def write(folder: Path, name: str, *objects: Any) -> str:
    (folder / name).write_text(yaml.safe_dump_all(objects))
    return name


def read(
    paths: tuple[str, ...] = (),
    facts: tuple[str, ...] = (),
    live: ServerOptions | None = None,
    namespace: str = "",
) -> tuple[RankedPods, Inputs]:
    inputs = Inputs(paths)
    return read_ranked_pods(inputs, FactsSources(paths=facts, live=live), namespace), inputs


def nodes_of(found: RankedPods) -> dict[str, str]:
    return {pod.metadata.name: pod.ranked.node for pod in found.pods if pod.ranked}


def test_the_first_source_of_a_pod_counts(folder: Path, api: ApiServer) -> None:
    api.add(*NODES, *(labelled_pod(name, "live") for name in ("p", "q", "r")))
    unlabelled = labelled_pod("s", "file")
    unlabelled["metadata"]["labels"] = {}
    own = write(folder, "own.yaml", labelled_pod("p", "file"), unlabelled)
    facts = write(folder, "facts.yaml", *(labelled_pod(name, "facts") for name in ("p", "q", "s")))

    found, _ = read((own,), (facts,), LIVE)

    assert nodes_of(found) == {"p": "file", "q": "facts", "r": "live"}
    assert found.nodes.label("b1", ZONE) == "b"


def test_only_one_namespace_may_be_read(folder: Path) -> None:
    other, unnamed = labelled_pod("q", "n2", namespace="other"), labelled_pod("r", "n3")
    del unnamed["metadata"]["namespace"]
    own = write(folder, "own.yaml", *NODES, labelled_pod("p", "n1"), other, unnamed)

    assert nodes_of(read((own,), namespace="shop")[0]) == {"p": "n1", "r": "n3"}
    assert len(read((own,))[0].pods) == 3
    del_named = write(folder, "named.yaml", other)
    with pytest.raises(ConfigError, match="there is no namespace 'shop'"):
        read((del_named,), namespace="shop")


def test_pods_with_type_errors_are_problems(folder: Path) -> None:
    wrong = labelled_pod("p", "n1") | {"spec": {"nodeName": 3}}

    found, inputs = read((write(folder, "own.yaml", wrong),))

    assert found.pods == []
    assert [str(problem) for problem in inputs.problems] == [
        "own.yaml:15: Pod/p: spec.nodeName: expected a string, got an integer"
    ]


def test_without_the_right_to_list_nodes_there_are_no_domains(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.add(labelled_pod("p", "a1"))
    api.answers["GET /api/v1/nodes"] = refuse("forbidden", 403)

    found, _ = read(live=LIVE)

    assert nodes_of(found) == {"p": "a1"}
    assert capsys.readouterr().err.startswith("warning: the domains of the pods are not known")


def test_another_error_of_the_api_server_is_raised(api: ApiServer) -> None:
    api.answers["GET /api/v1/nodes"] = refuse("broken", 500)

    with pytest.raises(Exception, match="broken"):
        read(live=LIVE)
