import gzip
import io
from pathlib import Path

import msgspec
import pytest

from tests.conformance.cluster import RecordedFacts
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import LoadedCluster, complete_metadata, fill, load_cluster
from webhook.config.ownerselectors import OwnerSelector
from webhook.manifests import Document, parse
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.selector import derive_selector
from webhook.policy.facts import ServiceSelector
from webhook.policy.model import GroupKind, LabelSelector, OwnerReference, PodTemplate

EXAMPLES = Path(__file__).parents[2] / "examples"
RECORDED = Path(__file__).parents[1] / "conformance" / "data" / "selector.jsonl.gz"

HASH = "pod-template-hash"
ZONE = "topology.kubernetes.io/zone"


def load(text: str) -> LoadedCluster:
    return load_cluster(["-"], stdin=io.BytesIO(text.encode()))


def problems(text: str) -> list[str]:
    return [str(problem) for problem in load(text).problems]


def test_objects_of_all_kinds_are_known() -> None:
    cluster = load("""
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {tier: prod}}}
- {apiVersion: v1, kind: Node, metadata: {name: a, labels: {zone: "1"}}}
- {apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {selector: {a: b}}}
- {apiVersion: v1, kind: ReplicationController, metadata: {name: rc}, spec: {selector: {a: b}}}
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata: {name: rs, namespace: shop}
  spec: {selector: {matchLabels: {a: b}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: sts, namespace: shop}
  spec: {selector: {matchExpressions: [{key: a, operator: Exists}]}}
- apiVersion: argoproj.io/v1alpha1
  kind: Rollout
  metadata: {name: ro, namespace: shop}
  spec: {selector: {matchLabels: {c: d}}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: 1}}
""").cluster

    assert cluster.namespace_labels("shop") == {
        "tier": "prod",
        "kubernetes.io/metadata.name": "shop",
    }
    assert (cluster.schedulable_nodes(), len(cluster.domains("zone"))) == (1, 1)
    assert cluster.services("shop", {"a": "b"}) == [ServiceSelector("web", {"a": "b"})]
    assert selector(cluster, "v1", "ReplicationController", "rc", "default") == "a=b"
    assert selector(cluster, "apps/v1", "ReplicaSet", "rs") == "a=b"
    assert selector(cluster, "apps/v1", "StatefulSet", "sts") == "Exists a"
    assert selector(cluster, "argoproj.io/v1alpha1", "Rollout", "ro") == "c=d"


def selector(
    cluster: Cluster, api_version: str, kind: str, name: str, namespace: str = "shop"
) -> str:
    """Give an owner's selector in short-hand; ``none`` if there is none."""
    owner = OwnerReference(api_version=api_version, kind=kind, name=name)
    found = cluster.owner_selector(namespace, owner)
    if found is None:
        return "none"
    pairs = [f"{key}={value}" for key, value in found.match_labels.items()]
    return ",".join(pairs + [f"{term.operator} {term.key}" for term in found.match_expressions])


def test_objects_without_a_namespace_are_in_the_default_one() -> None:
    service = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {}}}"

    assert load(service).cluster.services("default", {})
    cluster = Cluster()
    documents = [item for item in parse(service, "x") if isinstance(item, Document)]
    assert not fill(cluster, documents, namespace="shop")
    assert cluster.services("shop", {})


def test_a_namespace_without_labels_has_its_name() -> None:
    cluster = load(
        "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: null}}"
    ).cluster

    assert cluster.namespace_labels("shop") == {"kubernetes.io/metadata.name": "shop"}


def test_of_equal_names_the_last_counts() -> None:
    cluster = load(
        "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {a: b}}}\n---\n"
        "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {a: c}}}\n"
    ).cluster

    assert not cluster.services("default", {"a": "b"})
    assert cluster.services("default", {"a": "c"})


def test_the_selector_of_a_custom_kind_is_at_its_configured_path() -> None:
    spec = "{pods: {by: {matchLabels: {a: b}}}}"
    text = f"{{apiVersion: x.io/v1, kind: Fleet, metadata: {{name: a}}, spec: {spec}}}".encode()
    fleet = OwnerSelector(GroupKind("x.io", "Fleet"), ("spec", "pods", "by"))

    cluster = load_cluster(["-"], owners=[fleet], stdin=io.BytesIO(text)).cluster

    assert selector(cluster, "x.io/v2", "Fleet", "a", "default") == "a=b"


@pytest.mark.parametrize("spec", ["{}", "{selector: null}", "null"])
def test_a_custom_object_without_a_selector_has_none(spec: str) -> None:
    loaded = load(
        f"{{apiVersion: argoproj.io/v1, kind: Rollout, metadata: {{name: a}}, spec: {spec}}}"
    )

    assert not loaded.problems
    assert selector(loaded.cluster, "argoproj.io/v1", "Rollout", "a", "default") == "none"


# a document, what is message of it
WRONG: dict[str, tuple[str, str]] = {
    "a selector value that is a number": (
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  selector:\n    d: 1",
        "stdin:6: Service/a: spec.selector.d: expected a string, got an integer",
    ),
    "a key that is no word": (
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  labels:\n    x.io/y: yes",
        "stdin:6: Node/a: metadata.labels[x.io/y]: expected a string, got a boolean",
    ),
    "a selector that is a list": (
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: []",
        "stdin:5: Service/a: spec.selector: expected an object, got a list",
    ),
    "an operator that is a list": (
        (
            "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: a}\nspec:\n  selector:\n"
            "    matchExpressions:\n    - {key: a, operator: Exists}\n    - operator: []"
        ),
        (
            "stdin:8: ReplicaSet/a: spec.selector.matchExpressions[1].operator: "
            "expected a string, got a list"
        ),
    ),
    "a custom selector that is a string": (
        "apiVersion: argoproj.io/v1\nkind: Rollout\nmetadata: {name: a}\nspec:\n  selector: b",
        "stdin:5: Rollout/a: spec.selector: expected an object, got a string",
    ),
    "a custom object whose specification is a list": (
        "apiVersion: argoproj.io/v1\nkind: Rollout\nmetadata: {name: a}\nspec: []",
        "stdin:4: Rollout/a: spec: expected an object, got a list",
    ),
    "metadata that are a list": (
        "apiVersion: v1\nkind: Namespace\nmetadata: []",
        "stdin:3: Namespace: metadata.name: missing, write one",
    ),
    "no name": (
        "apiVersion: v1\nkind: Service\nmetadata:\n  generateName: a-",
        "stdin:3: Service: metadata.name: missing, write one",
    ),
    "an exception from an unknown rule": (
        (
            "apiVersion: evenspread.io/v1alpha1\nkind: SpreadPolicyException\n"
            "metadata: {name: a}\nspec:\n  reason: b\n  rules: [TSC100]"
        ),
        (
            'stdin:6: SpreadPolicyException/a: spec.rules[0]: "TSC100" is no policy rule: write '
            f"some of {', '.join(DEFAULT_ACTIONS)}"
        ),
    ),
    "an exception without a reason": (
        (
            "apiVersion: evenspread.io/v1alpha1\nkind: SpreadPolicyException\n"
            "metadata: {name: a}\nspec: {defaults: true}"
        ),
        "stdin:4: SpreadPolicyException/a: spec: object missing required field reason",
    ),
    "an exception with its end under another name": (
        (
            "apiVersion: evenspread.io/v1alpha1\nkind: SpreadPolicyException\n"
            "metadata: {name: a}\nspec:\n  reason: b\n  rules: [TSC101]\n  expire: 2030-01-01"
        ),
        "stdin:7: SpreadPolicyException/a: spec.expire: no such key: did you mean expires?",
    ),
    "labels that are a list": (
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels: []",
        "stdin:5: Namespace/a: metadata.labels: expected an object, got a list",
    ),
}


@pytest.mark.parametrize(("text", "problem"), WRONG.values(), ids=WRONG.keys())
def test_a_type_error_is_reported_with_its_position(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_objects_beside_a_type_error_are_loaded() -> None:
    loaded = load(
        "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: 1}}\n---\n"
        "{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {selector: {}}}\n---\n"
        "]\n---\n"
        "{apiVersion: v1, kind: Service, metadata: {name: c}, spec: {selector: {}}}\n"
    )

    assert [found.name for found in loaded.cluster.services("default", {})] == ["b", "c"]
    assert [str(problem).partition(" ")[0] for problem in loaded.problems] == [
        "stdin:1:",
        "stdin:5:",
    ]


def test_documents_at_hand_fill_a_cluster() -> None:
    read = parse("{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {}}}", "x")
    cluster = Cluster()

    assert not fill(cluster, [item for item in read if isinstance(item, Document)])
    assert cluster.services("default", {}) == [ServiceSelector("a", {})]


def test_the_example_cluster_owns_the_example_review() -> None:
    loaded = load_cluster([str(EXAMPLES / "cluster")])
    cluster = loaded.cluster

    assert not loaded.problems
    pod = {"app.kubernetes.io/name": "checkout", "app.kubernetes.io/part-of": "shop"}
    assert cluster.services("shop", pod) == [
        ServiceSelector("checkout", {"app.kubernetes.io/name": "checkout"})
    ]
    owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="checkout-7d4b9c6f5d")
    assert cluster.owner_selector("shop", owner) == LabelSelector(
        {
            "app.kubernetes.io/name": "checkout",
            "app.kubernetes.io/instance": "checkout-prod",
            HASH: "7d4b9c6f5d",
        }
    )
    assert selector(cluster, "apps/v1", "StatefulSet", "ledger", "payments") != "none"
    assert (len(cluster.node_store), cluster.schedulable_nodes(), len(cluster.domains(ZONE))) == (
        6,
        5,
        3,
    )
    payments = cluster.namespace_labels("payments")
    assert payments is not None
    assert payments["tier"] == "prod"


def test_the_example_manifests_are_fine() -> None:
    loaded = load_cluster([str(EXAMPLES / "manifests")])

    assert not loaded.problems


def test_errors_of_the_broken_example_are_reported() -> None:
    loaded = load_cluster([str(EXAMPLES / "broken")])

    assert [str(problem).rpartition("/broken/")[2] for problem in loaded.problems] == [
        (
            "syntax.yaml:16: invalid YAML: while parsing a flow sequence, did not find expected "
            "',' or ']'"
        ),
        "types.yaml:10: Service/metrics: spec.selector.shard: expected a string, got an integer",
    ]
    assert loaded.cluster.services("shop", {"app": "search"})


def test_a_dump_of_json_is_read() -> None:
    items = [
        {"metadata": {"name": f"s{i}"}, "spec": {"selector": {"app": f"a{i}"}}} for i in range(100)
    ]
    dump = {"apiVersion": "v1", "kind": "ServiceList", "items": items}

    cluster = load(msgspec.json.encode(dump).decode()).cluster

    assert len(cluster.service_store) == 100


KINDS = {
    "services": ("v1", "Service"),
    "replicationControllers": ("v1", "ReplicationController"),
    "replicaSets": ("apps/v1", "ReplicaSet"),
    "statefulSets": ("apps/v1", "StatefulSet"),
}


def test_clusters_that_kube_scheduler_saw_are_understood_alike() -> None:
    with gzip.open(RECORDED) as lines:
        cases = [msgspec.json.decode(line) for line in lines]

    for case in cases:
        objects = [
            {"apiVersion": version, "kind": kind, **item}
            for member, (version, kind) in KINDS.items()
            for item in case["cluster"].get(member) or ()
        ]
        text = "\n".join(msgspec.json.encode(item).decode() for item in objects)
        cluster = load(text).cluster
        pod = msgspec.convert(case["pod"], PodTemplate)

        assert derive_selector(pod, "default", cluster) == derive_selector(
            pod, "default", RecordedFacts(case["cluster"])
        ), case["id"]


COMPLETED: dict[str, tuple[str, object]] = {
    "a pod without a namespace": (
        "{kind: Pod, metadata: {name: a}}",
        {"name": "a", "namespace": "shop"},
    ),
    "a pod with a namespace": (
        "{kind: Pod, metadata: {name: a, namespace: b}}",
        {"name": "a", "namespace": "b"},
    ),
    "a pod without metadata": ("{kind: Pod}", {"namespace": "shop"}),
    "null metadata": ("{kind: Pod, metadata: null}", {"namespace": "shop"}),
    "metadata of another type": ("{kind: Pod, metadata: []}", []),
    "a Namespace": (
        "{kind: Namespace, metadata: {name: a}}",
        {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}},
    ),
}


@pytest.mark.parametrize(("text", "metadata"), COMPLETED.values(), ids=COMPLETED.keys())
def test_metadata_are_completed_as_kubectl_does(text: str, metadata: object) -> None:
    (document,) = parse(text, "x")
    assert isinstance(document, Document)

    assert complete_metadata(document, "shop")["metadata"] == metadata


PODS = """
apiVersion: v1
kind: Pod
metadata: {name: bare}
---
apiVersion: v1
kind: Pod
metadata:
  name: w1
  labels: {evenspread.io/scale-down: keep-spread}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, uid: u1, controller: true}]
"""


def test_pods_of_files_are_stored_for_ranks() -> None:
    loaded = load_cluster(["-"], stdin=io.BytesIO(PODS.encode()), pod_clock=lambda: 0.0)

    assert loaded.problems == []
    assert loaded.cluster.pod_store is not None
    assert list(loaded.cluster.pod_store.iterate_keys()) == [("default", "w1")]
