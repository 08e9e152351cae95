"""Pods of a StatefulSet return to the volumes of their claims."""

import json
from typing import Any

import pytest

from tests.apiserver import ApiServer, page, refuse, respond
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.cluster import ManifestCluster, open_cluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.setvolumes import SetVolumes, read_set_volumes
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.errors import ApiError
from webhook.manifests import Document, parse
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import ZONE, LabelSelectorRequirement
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
CLAIM = "/api/v1/namespaces/shop/persistentvolumeclaims"


def require(key: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((LabelSelectorRequirement(key=key, operator="In", values=values),))


def stateful_set(*templates: Any) -> ExplainSubject:
    value = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"volumeClaimTemplates": list(templates)},
    }
    return ExplainSubject(STATEFUL_SET, ("spec", "template"), "shop", value, exists=True)


DATA, LOGS = {"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}


def claim(name: str = "data-db-0", volume: str = "pv", *, bound: bool = True) -> Any:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations},
        "spec": {"volumeName": volume},
    }


def volume(name: str = "pv", zone: str = "", **labels: str) -> Any:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeAffinity": {"required": terms}} if zone else {},
    }


def read(*objects: Any) -> ManifestCluster:
    documents = [
        item for value in objects for item in parse(json.dumps(value), "x.json")
        if isinstance(item, Document)
    ]  # fmt: skip
    return ManifestCluster(documents, (), Inputs([]))


BROKEN = {**volume(), "spec": {"capacity": 5}}

# claim templates, objects, terms of the pod with ordinal 0
TERMS: dict[str, tuple[list[Any], list[Any], list[tuple[NodeSelectorTerm, ...]]]] = {
    "the nodes of a volume": ([DATA], [claim(), volume(zone="a")], [(require("zone", "a"),)]),
    "the zone of a volume": (
        [DATA], [claim(), volume(**{ZONE: "a__b"})], [(require(ZONE, "a", "b"),)]
    ),
    "the zone by its former label": (
        [DATA], [claim(), volume(**{BETA_ZONE: "a"})],
        [(require(BETA_ZONE, "a"), require(ZONE, "a"))],
    ),
    "two volumes": (
        [DATA, LOGS],
        [claim(), volume(zone="a"), claim("logs-db-0", "pv-2"), volume("pv-2", zone="b")],
        [(require("zone", "a"),), (require("zone", "b"),)],
    ),
    "a volume without a place": ([DATA], [claim(), volume()], []),
    "a claim that is not bound": ([DATA], [claim(bound=False), volume(zone="a")], []),
    "a claim of another pod": ([DATA], [claim("data-db-1"), volume(zone="a")], []),
    "a claim of another template": ([LOGS], [claim(), volume(zone="a")], []),
    "a volume that is gone": ([DATA], [claim()], []),
    "a volume of a wrong type": ([DATA], [claim(), BROKEN], []),
    "no claims": ([], [claim(), volume(zone="a")], []),
    "a template without a name": ([{}, 5], [claim(), volume(zone="a")], []),
}  # fmt: skip


@pytest.mark.parametrize(("templates", "objects", "terms"), TERMS.values(), ids=TERMS.keys())
def test_nodes_that_can_access_the_volumes_of_a_pod(
    templates: list[Any], objects: list[Any], terms: list[tuple[NodeSelectorTerm, ...]]
) -> None:
    volumes = read_set_volumes(stateful_set(*templates), read(*objects))

    assert list(volumes.list_terms(0)) == terms


# claim templates, objects, whether nothing is known of the volumes
KNOWN: dict[str, tuple[list[Any], list[Any], bool]] = {
    "a volume": ([DATA], [claim(), volume()], False),
    "no volume": ([DATA], [claim()], True),
    "no claim": ([DATA], [volume()], True),
    "no templates": ([], [], False),
}


@pytest.mark.parametrize(("templates", "objects", "unknown"), KNOWN.values(), ids=KNOWN.keys())
def test_whether_volumes_are_known(templates: list[Any], objects: list[Any], unknown: bool) -> None:
    assert read_set_volumes(stateful_set(*templates), read(*objects)).are_unknown is unknown


@pytest.mark.usefixtures("folder")
def test_a_user_who_may_not_list_volumes_gets_none(api: ApiServer) -> None:
    path = "/api/v1/persistentvolumes"
    api.script(CLAIM, *[page(claim())] * 3)
    api.script(path, refuse("no"), page(volume(zone="a")), respond({}, 422))

    with open_cluster(ServerOptions(kubeconfig="kubeconfig"), read(), ()) as cluster:
        assert read_set_volumes(stateful_set(DATA), cluster).are_unknown
        known: SetVolumes = read_set_volumes(stateful_set(DATA), cluster)
        with pytest.raises(ApiError):
            read_set_volumes(stateful_set(DATA), cluster)

    assert known.list_terms(0) == ((require("zone", "a"),),)
