"""Hypothesis strategies for objects that an API server takes, names as long as may be."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.build import Json
from tests.policy.advice.subjects import ROLLOUT, workload
from webhook.policy.api.labels import NAME_BYTES, PREFIX_BYTES, VALUE_BYTES
from webhook.policy.kinds import BUILT_IN_TEMPLATES, POD
from webhook.policy.model import HOSTNAME, ZONE, GroupKind, Node, Taint
from webhook.policy.paths import TemplatePath

LONGEST_NAME = 253  # of an object, RFC 1123
PREFIX = ".".join(["p" * 62] * 4)[:PREFIX_BYTES]

KEYS = ["app", "tier", "app.kubernetes.io/name", f"{PREFIX}/{'n' * NAME_BYTES}", "N" * NAME_BYTES]
VALUES = ["web", "", "x", "v" * VALUE_BYTES]
TOPOLOGY_KEYS = [ZONE, HOSTNAME, "zone", "rack", KEYS[3], "t" * NAME_BYTES]
EXEMPTIONS = [
    "TSC101=" + "r" * 300, "TSC101", "x" * 500, "TSC102=one,TSC102=two", "TSC110=a reason", ",,=",
]  # fmt: skip

keys = st.sampled_from(KEYS)
values = st.sampled_from(VALUES)
labels = st.dictionaries(keys, values, max_size=4)
some_labels = st.dictionaries(keys, values, min_size=1, max_size=4)


def _expression(key: str, operator: str, listed: Sequence[str]) -> Json:
    requirement: Json = {"key": key, "operator": operator}
    return {**requirement, "values": list(listed)} if operator in {"In", "NotIn"} else requirement


expressions = st.builds(
    _expression,
    keys,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.lists(values, min_size=1, max_size=3, unique=True),
)
selectors = st.builds(
    lambda pairs, more: {"matchLabels": pairs, "matchExpressions": more},
    labels,
    st.lists(expressions, max_size=2),
)


@st.composite
def constraints(draw: st.DrawFn) -> Json:
    """Draw one that the API takes, at any version that knows its fields."""
    hard = draw(st.booleans())
    made: Json = {
        "maxSkew": draw(st.sampled_from([1, 1, 2, 6, 2**31 - 1])),
        "topologyKey": draw(st.sampled_from(TOPOLOGY_KEYS)),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    if draw(st.booleans()):
        made["labelSelector"] = draw(selectors)
        named = {*made["labelSelector"]["matchLabels"]}
        named |= {expression["key"] for expression in made["labelSelector"]["matchExpressions"]}
        free = [key for key in [*KEYS, "pod-template-hash"] if key not in named]
        made["matchLabelKeys"] = draw(st.lists(st.sampled_from(free), max_size=2, unique=True))
    if hard and draw(st.booleans()):
        made["minDomains"] = draw(st.sampled_from([1, 2, 3, 2**31 - 1]))
    if draw(st.booleans()):
        made["nodeAffinityPolicy"] = draw(st.sampled_from(["Honor", "Ignore"]))
    if draw(st.booleans()):
        made["nodeTaintsPolicy"] = draw(st.sampled_from(["Honor", "Ignore"]))
    return made


constraint_lists = st.lists(
    constraints(),
    max_size=5,
    unique_by=lambda constraint: (constraint["topologyKey"], constraint["whenUnsatisfiable"]),
)
names = st.sampled_from(["web", "w" * LONGEST_NAME])
taints = st.builds(
    Taint,
    key=st.sampled_from(["gpu", KEYS[3]]),
    value=values,
    effect=st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
node_labels = st.dictionaries(
    st.sampled_from(TOPOLOGY_KEYS), st.sampled_from(["a", "b", "v" * VALUE_BYTES])
)


@st.composite
def node_lists(draw: st.DrawFn) -> list[Node]:
    """Draw nodes, some of which lack keys, are tainted or cordoned, or have long names."""
    made: list[Node] = []
    for i in range(draw(st.integers(0, 6))):
        name = f"n{i}" + draw(st.sampled_from(["", "n" * (LONGEST_NAME - 2)]))
        carried = {**draw(node_labels), HOSTNAME: name[:VALUE_BYTES]}
        some = tuple(draw(st.lists(taints, max_size=2)))
        made.append(Node(name, carried, some, unschedulable=draw(st.booleans())))
    return made


KINDS: Mapping[GroupKind, TemplatePath] = {
    ROLLOUT: ("spec", "template"),
    **{kind: path for kind, path in BUILT_IN_TEMPLATES.items() if path == ("spec", "template")},
}


@st.composite
def objects(draw: st.DrawFn, *, pods: bool = False) -> Json:
    """Draw a workload of any kind with a template in its specification, or a Pod; or Pods only."""
    spec: Json = {
        "nodeSelector": draw(st.just({}) | node_labels),
        "tolerations": draw(st.just([]) | st.just([{"key": "gpu", "operator": "Exists"}])),
    }
    if draw(st.integers(0, 9)) == 0:
        spec["nodeName"] = "n0"
    made = workload(
        *draw(constraint_lists),
        kind=draw(st.sampled_from(list(KINDS))),
        replicas=draw(st.none() | st.integers(0, 7)),
        labels=draw(some_labels | st.just({"app": "web"})),
        template_spec=spec,
        **draw(st.just({}) | st.just({"volumeClaimTemplates": [{"metadata": {"name": "data"}}]})),
    )
    metadata: Json = {"name": draw(names)}
    if draw(st.booleans()):
        metadata["annotations"] = {"evenspread.io/exempt": draw(st.sampled_from(EXEMPTIONS))}
    if pods or draw(st.integers(0, 4)) == 0:
        inner: dict[str, Any] = made["spec"]["template"]
        metadata["labels"] = inner["metadata"]["labels"]
        return {"apiVersion": "v1", "kind": POD.kind, "metadata": metadata, "spec": inner["spec"]}
    return {**made, "metadata": metadata}
