"""Pods of a StatefulSet return to the volumes of their claims."""

import json
from typing import Any

import pytest

from tests.apiserver import ApiServer, page, refuse, respond
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.setvolumes import SetVolumes, read_set_volumes
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.errors import ApiError
from webhook.manifests import Document, parse
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.placement.filters.filterpods import CLAIM, PodVolume

CLAIMS_PATH = "/api/v1/namespaces/shop/persistentvolumeclaims"


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


def volume(name: str = "pv") -> Any:
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}


def read(*objects: Any) -> ManifestCluster:
    documents = [
        item for value in objects for item in parse(json.dumps(value), "x.json")
        if isinstance(item, Document)
    ]  # fmt: skip
    return ManifestCluster(documents, (), Inputs([]))


BROKEN = {**volume(), "spec": {"capacity": 5}}

# claim templates, objects, the claims of the pod with ordinal 0
CLAIMS: dict[str, tuple[list[Any], list[Any], list[str]]] = {
    "a volume": ([DATA], [claim(), volume()], ["data-db-0"]),
    "two volumes": (
        [DATA, LOGS],
        [claim(), volume(), claim("logs-db-0", "pv-2"), volume("pv-2")],
        ["data-db-0", "logs-db-0"],
    ),
    "a claim that is not bound": ([DATA], [claim(bound=False), volume()], []),
    "a claim of another pod": ([DATA], [claim("data-db-1"), volume()], []),
    "a claim of another template": ([LOGS], [claim(), volume()], []),
    "a volume that is gone": ([DATA], [claim()], []),
    "a volume of a wrong type": ([DATA], [claim(), BROKEN], []),
    "no claims": ([], [claim(), volume()], []),
    "a template without a name": ([{}, 5], [claim(), volume()], []),
}


@pytest.mark.parametrize(("templates", "objects", "names"), CLAIMS.values(), ids=CLAIMS.keys())
def test_claims_of_a_pod_whose_volumes_are_known(
    templates: list[Any], objects: list[Any], names: list[str]
) -> None:
    volumes = read_set_volumes(stateful_set(*templates), read(*objects))

    assert volumes.list_claims(0) == tuple(PodVolume(CLAIM, name, "shop") for name in names)


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
    api.script(CLAIMS_PATH, *[page(claim())] * 3)
    api.script(path, refuse("no"), page(volume()), respond({}, 422))

    with open_cluster(ServerOptions(kubeconfig="kubeconfig"), read(), ()) as cluster:
        assert read_set_volumes(stateful_set(DATA), cluster).are_unknown
        known: SetVolumes = read_set_volumes(stateful_set(DATA), cluster)
        with pytest.raises(ApiError):
            read_set_volumes(stateful_set(DATA), cluster)

    assert known.list_claims(0) == (PodVolume(CLAIM, "data-db-0", "shop"),)
