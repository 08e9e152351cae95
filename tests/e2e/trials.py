"""Objects to try on API servers: of all kinds, with constraint lists of all sorts."""

import json
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests import strategies
from tests.controlplane.api import Json
from webhook.policy import render
from webhook.policy.kinds import BUILT_IN_TEMPLATES, POD
from webhook.policy.model import GroupKind

JOB = GroupKind("batch", "Job")
FIXED = frozenset({POD, JOB})  # kinds whose constraints an update cannot change

NAME = "tried"
SELECTED = {"sel": "x"}

_SPECIFICATIONS: Mapping[str, Json] = {
    "ReplicationController": {"selector": SELECTED},
    "Deployment": {"selector": {"matchLabels": SELECTED}},
    "ReplicaSet": {"selector": {"matchLabels": SELECTED}},
    "StatefulSet": {"selector": {"matchLabels": SELECTED}, "serviceName": "tried"},
    "DaemonSet": {"selector": {"matchLabels": SELECTED}},
    "CronJob": {"schedule": "0 0 1 1 *"},
}
"""What kinds demand besides a pod template."""


class Trial(NamedTuple):
    """
    A create, or an update of what another trial created.

    Attributes:
        labels: Of the pods.
        constraints: The list as a client sends it.
        image: Of the only container; the other one is a change that is not about spreading.
        mark: A label of the object itself.
    """

    kind: GroupKind
    labels: Mapping[str, str]
    constraints: Any
    image: str = "one"
    mark: str = "one"

    @property
    def object(self) -> Json:
        """The object as a client sends it."""
        never = {"restartPolicy": "Never"} if self.kind.group == "batch" else {}
        pod = {
            "containers": [{"name": "main", "image": self.image}],
            "automountServiceAccountToken": False,  # or a volume is added, of a random name
            "topologySpreadConstraints": self.constraints,
            **never,
        }
        inner: Json = {"metadata": {"labels": {**self.labels, **SELECTED}}, "spec": pod}
        for member in reversed(BUILT_IN_TEMPLATES[self.kind]):
            inner = {member: inner}
        if "spec" in inner and self.kind != POD:
            inner["spec"] |= _SPECIFICATIONS.get(self.kind.kind, {})
        metadata = inner.get("metadata", {})
        named = {"name": NAME, "namespace": "default"}
        labels = {**metadata.get("labels", {}), "mark": self.mark}
        version = f"{self.kind.group}/v1" if self.kind.group else "v1"
        identified = {"apiVersion": version, "kind": self.kind.kind}
        return {**inner, **identified, "metadata": {**metadata, **named, "labels": labels}}


def listed(constraints: Any) -> list[Json]:
    """
    As a client sends them, without characters that are not assigned in the Unicode of Python 3.11.

    Go has a newer one, and so quotes some of them otherwise.
    """
    text = json.dumps(
        [render.constraint(constraint) for constraint in constraints], ensure_ascii=False
    )
    known = ("?" if unicodedata.category(character) == "Cn" else character for character in text)
    decoded: list[Json] = json.loads("".join(known))
    return decoded


selectors = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(strategies.keys, strategies.values, max_size=1),
        "matchExpressions": st.lists(
            st.builds(
                lambda key, operator: {"key": key, "operator": operator},
                strategies.keys,
                st.sampled_from(["Exists", "DoesNotExist"]),
            ),
            max_size=2,
        ),
    },
)
tame_constraints = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 2),
        "topologyKey": strategies.topology_keys,
        "whenUnsatisfiable": st.just("DoNotSchedule"),
        "labelSelector": selectors,
    },
    optional={
        "minDomains": st.integers(1, 2),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
        "matchLabelKeys": st.lists(strategies.keys, max_size=2),
    },
)
tame_lists = st.lists(
    tame_constraints, max_size=2, unique_by=lambda constraint: constraint["topologyKey"]
)
"""Lists that are mostly taken, with every field that a gate guards."""

lists = tame_lists | strategies.json_lists | strategies.any_lists.map(listed)
trials = st.builds(
    Trial,
    st.sampled_from(sorted(BUILT_IN_TEMPLATES)),
    st.dictionaries(strategies.keys, strategies.values, max_size=3),
    lists,
    st.just("one"),
    st.just("one"),
)
changes = st.fixed_dictionaries(
    {},
    optional={"constraints": lists | tame_lists, "image": st.just("two"), "mark": st.just("two")},
)
