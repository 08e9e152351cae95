"""
The objects of a large cluster, written into etcd: python -m tests.bench.filling URL

A process of its own, so that it takes no time from a load that has to be punctual. Each ReplicaSet
is as long as those of the reference pod: 9 KB, of which a third are managedFields.
"""

import sys
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from tests.bench import fleet, reviews, servers
from tests.bench.reviews import Json
from tests.controlplane import etcd

NAMESPACES = 200
CREATED = "2026-01-01T00:00:00Z"
HELD = 3  # revisions of a Deployment that are kept beside each other; 10 is the most by default


class Size(NamedTuple):
    """Numbers of objects."""

    replica_sets: int = 100_000
    services: int = 10_000
    nodes: int = 5_000


def around_reference_pod() -> Iterator[tuple[str, Json]]:
    """Make the Service and the ReplicaSet that the reference pod gets its selector from."""
    for made in servers.cluster()["items"]:
        prefix = "replicasets" if made["kind"] == "ReplicaSet" else "services/specs"
        yield _key(prefix, made), made


def replica_sets(count: int) -> Iterator[tuple[str, Json]]:
    """Make ReplicaSets of Deployments, each with the revisions that it keeps."""
    pod = reviews.reference()["request"]["object"]
    kept = {key: pod["metadata"][key] for key in ("annotations", "managedFields")}
    for number in range(count):
        deployment, revision = divmod(number, HELD)
        app, hashed = f"checkout-{deployment}", f"{number:010x}"
        labels = {**reviews.LABELS, "app.kubernetes.io/name": app, "pod-template-hash": hashed}
        made = _made("apps/v1", "ReplicaSet", f"{app}-{hashed}", deployment)
        made["metadata"] |= {**kept, "labels": labels, "ownerReferences": [_owner(app)]}
        template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
        replicas = 3 if revision == HELD - 1 else 0
        selector = {"matchLabels": labels}
        made["spec"] = {"replicas": replicas, "selector": selector, "template": template}
        yield _key("replicasets", made), made | {"status": {"replicas": replicas}}


def services(count: int) -> Iterator[tuple[str, Json]]:
    """Make headless Services, which need no address."""
    for number in range(count):
        made = _made("v1", "Service", f"checkout-{number}", number)
        made["spec"] = {
            "clusterIP": "None",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}],
            "selector": {**reviews.LABELS, "app.kubernetes.io/name": f"checkout-{number}"},
            "type": "ClusterIP",
        }
        yield _key("services/specs", made), made


def nodes(count: int) -> Iterator[tuple[str, Json]]:
    """Make the nodes of the large cluster that is audited."""
    for number in range(count):
        made = fleet.node(number)
        made["metadata"] |= {"uid": _uid(number), "creationTimestamp": CREATED}
        yield f"minions/{made['metadata']['name']}", made


def objects(size: Size) -> Iterator[tuple[str, Json]]:
    """Make all objects, each with its key in etcd."""
    return chain(nodes(size.nodes), services(size.services), replica_sets(size.replica_sets))


def _made(version: str, kind: str, name: str, number: int) -> Json:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": f"team-{number % NAMESPACES}",
            "uid": _uid(number),
            "creationTimestamp": CREATED,
        },
    }


def _key(prefix: str, made: Json) -> str:
    return f"{prefix}/{made['metadata']['namespace']}/{made['metadata']['name']}"


def _uid(number: int) -> str:
    return f"{number:08x}-6393-11e8-b7cc-42010a800002"


def _owner(app: str) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app, "uid": _uid(0)}
    return owner | {"controller": True, "blockOwnerDeletion": True}


if __name__ == "__main__":
    etcd.write(sys.argv[1], objects(Size(*map(int, sys.argv[2:]))))
