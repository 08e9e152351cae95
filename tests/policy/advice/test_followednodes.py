"""Nodes are grouped where required affinity keeps all pods of a workload together."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import audit, deployed, node, zones
from webhook.policy.advice.followednodes import group_nodes, matches_itself
from webhook.policy.advice.podaffinity import PodAffinityTerm
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, ZONE, LabelSelector

NODES = [*zones("a1", "a2", "b1"), node("x")]
OTHERS = {"Deployment/cache": {"app": "web"}}
ZONES = [{"a1", "a2"}, {"b1"}]


def term(**changes: Any) -> Json:
    """Make a term of affinity over zones to the pods of the application web."""
    return {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}, **changes}


def beside(*terms: Json, **changes: Any) -> Subject:
    """Make a Deployment with required terms of affinity."""
    among = {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}
    return deployed(template_spec={"affinity": {"podAffinity": among}}, **changes)


# subject, members of other workloads, the names of the nodes in each group
GROUPS: dict[str, tuple[Subject, dict[str, Json], list[set[str]] | None]] = {
    "no affinity": (deployed(), {}, None),
    "the same zone": (beside(term()), {}, ZONES),
    "the pods of a revision": (beside(term(matchLabelKeys=["pod-template-hash"])), {}, ZONES),
    "the same zone and node": (
        beside(term(), term(topologyKey=HOSTNAME)), {}, [{"a1"}, {"a2"}, {"b1"}]
    ),
    "a label of no node": (beside(term(topologyKey="rack")), {}, []),
    "their namespace, by name": (beside(term(namespaces=["shop"])), {}, ZONES),
    "pods of others, too": (beside(term()), OTHERS, None),
    "any pods": (beside(term(labelSelector={})), {}, None),
    "pods of another namespace, too": (beside(term(namespaces=["shop", "bank"])), {}, None),
    "pods of selected namespaces": (beside(term(namespaceSelector={})), {}, None),
    "pods of others only": (
        beside(term(), term(labelSelector={"matchLabels": {"app": "cache"}})), {}, None
    ),
    "one of several templates": (replace(beside(term()), part="worker"), {}, None),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "members", "groups"), GROUPS.values(), ids=GROUPS.keys())
def test_nodes_of_which_the_first_pod_chooses_a_group(
    advised: Subject, members: dict[str, Json], groups: list[set[str]] | None
) -> None:
    cluster = audit(NODES, members=members).cluster
    assert cluster is not None

    found = group_nodes([one.name for one in NODES], advised, cluster)

    assert (found if found is None else [*map(set, found)]) == groups


MATCHED = PodAffinityTerm(LabelSelector({"app": "web"}), ZONE)
TERMS = {
    "its own labels": (MATCHED, True),
    "any namespace": (replace(MATCHED, namespace_selector=LabelSelector()), True),
    "another namespace": (replace(MATCHED, namespaces=("bank",)), False),
    "other labels": (replace(MATCHED, label_selector=LabelSelector({"app": "cache"})), False),
    "no selector": (replace(MATCHED, label_selector=None), False),
    "no key": (replace(MATCHED, topology_key=None), False),
    "another value of its label": (replace(MATCHED, mismatch_label_keys=("app",)), False),
}


@pytest.mark.parametrize(("affinity", "matched"), TERMS.values(), ids=TERMS)
def test_a_term_matches_the_pods_that_have_it(affinity: PodAffinityTerm, matched: bool) -> None:
    assert matches_itself(affinity, deployed(spread())) is matched
