"""
Labelled pods with which a tenant attacks the ranks of other tenants, and Bindings of no pod.

``ODD`` is a table; ``generated_pods`` draws further ones.
"""

import json
from typing import Any, Final

from hypothesis import strategies as st

from tests.controlplane.api import Json
from tests.e2e.hostile import managed
from tests.e2e.ranks import spread_pods
from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    KEEP_SPREAD,
    RANK_ANNOTATION,
    SCALE_DOWN_LABEL,
    annotate_rank,
)

NODES: Final = ("a0", "a1", "b0")
DEPTHS: Final = (900, 1000, 3000, 9000)

CROWD: Final = "crowd"
"""The uid of one controller with very many pods."""


def labelled(name: str, namespace: str, node: str = "a0", **metadata: Any) -> Json:
    """Build a labelled pod on a node, and of a controller that does not exist."""
    template: Json = spread_pods(1, namespace)["spec"]["template"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    head = {
        "name": name,
        "namespace": namespace,
        "labels": {"app": "web", SCALE_DOWN_LABEL: KEEP_SPREAD},
        "ownerReferences": [{**owner, "uid": metadata.pop("uid", "u1")}],
        **metadata,
    }
    spec = {**template["spec"], "automountServiceAccountToken": False}
    placed = {"nodeName": node} if node else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": {**spec, **placed}}


def write_pod(pod: Json, depth: int = 0) -> bytes:
    """Write a pod as JSON, with managedFields of so many levels; 0: none."""
    if not depth:
        return json.dumps(pod).encode("utf-8", "surrogatepass")
    pod = {**pod, "metadata": {**pod["metadata"], "managedFields": "@"}}
    fields = managed(depth)().replace("{version}", "v1")
    return json.dumps(pod).replace('"@"', fields, 1).encode("utf-8", "surrogatepass")


ODD: Final[dict[str, Json]] = {
    "the cost of a rank": {DELETION_COST: "1000"},
    "the cost of another rank": annotate_rank(1) | {DELETION_COST: "998000"},
    "a negative cost": {DELETION_COST: "-2147483000"},
    "a very high rank": annotate_rank(2_000_000),
    "rank zero": annotate_rank(1) | {RANK_ANNOTATION: "0"},
    "a rank of 200 000 digits": annotate_rank(1) | {RANK_ANNOTATION: "1" * 200_000},
    "a rank in another script": annotate_rank(1) | {RANK_ANNOTATION: "\u0661"},
    "a rank with escapes": annotate_rank(1) | {RANK_ANNOTATION: "\u001b[31m\n\u202e"},
    "only a rank": {RANK_ANNOTATION: "1"},
    "2 000 other annotations": {f"note-{number}": "x" * 100 for number in range(2_000)},
}
"""Title -> annotations."""

_ranks: st.SearchStrategy[dict[str, str]] = st.one_of(
    st.integers(1, 3_000).map(annotate_rank),
    st.integers(-(2**31), 2**31 - 1).map(lambda cost: {DELETION_COST: f"{cost}"}),
    st.text(max_size=50).map(lambda text: annotate_rank(1) | {RANK_ANNOTATION: text}),
    st.just({}),
)


@st.composite
def generated_pods(draw: st.DrawFn) -> tuple[Json, int]:
    """Draw a labelled pod without a name and a namespace, and the depth of its managedFields."""
    uid = draw(st.sampled_from([CROWD, "u1", "u2", "x" * 500]))
    node = draw(st.sampled_from([*NODES, "", "none"]))
    pod = labelled("", "", node, uid=uid, annotations=draw(_ranks))
    depth = draw(st.sampled_from([0, 0, *DEPTHS]) | st.integers(10, 9_900))
    return pod, depth


bindings = st.fixed_dictionaries(
    {
        "name": st.text("abc-", min_size=1, max_size=20),
        "node": st.sampled_from([*NODES, "", "none"]) | st.text(max_size=20),
        "annotations": st.none() | st.dictionaries(st.text(max_size=20), st.text(), max_size=3),
    }
)
"""Arguments of ``binding_body``, mostly of pods that do not exist."""
