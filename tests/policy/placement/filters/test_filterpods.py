from typing import Any

import pytest

from webhook.policy.model import LabelSelector
from webhook.policy.placement.filters.filterpods import AffinityTerm

WEB, TEAM_X = (LabelSelector(match_labels=pairs) for pairs in ({"app": "web"}, {"team": "x"}))

# term, namespace, labels, labels of the namespace, whether it is selected
SELECTIONS: dict[str, tuple[dict[str, Any], str, dict[str, str], dict[str, str], bool]] = {
    "a listed namespace": ({"namespaces": ("shop",)}, "shop", {"app": "web"}, {}, True),
    "another namespace": ({"namespaces": ("shop",)}, "bank", {"app": "web"}, {}, False),
    "other labels": ({"namespaces": ("shop",)}, "shop", {"app": "db"}, {}, False),
    "no selector": ({"namespaces": ("shop",), "selector": None}, "shop", {"app": "web"}, {}, False),
    "an empty selector": (
        {"namespaces": ("shop",), "selector": LabelSelector()}, "shop", {}, {}, True
    ),
    "a selected namespace": (
        {"namespace_selector": TEAM_X}, "bank", {"app": "web"}, {"team": "x"}, True
    ),
    "a namespace that is not selected": (
        {"namespace_selector": TEAM_X}, "bank", {"app": "web"}, {"team": "y"}, False
    ),
    "all namespaces": (
        {"namespace_selector": LabelSelector()}, "bank", {"app": "web"}, {}, True
    ),
    "neither listed nor selected": ({}, "shop", {"app": "web"}, {}, False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "namespace", "labels", "namespace_labels", "selected"),
    SELECTIONS.values(),
    ids=SELECTIONS.keys(),
)
def test_a_term_selects_pods_by_namespace_and_labels(
    changes: dict[str, Any],
    namespace: str,
    labels: dict[str, str],
    namespace_labels: dict[str, str],
    selected: bool,
) -> None:
    written = {"selector": WEB, "namespaces": (), "namespace_selector": None, **changes}
    term = AffinityTerm(topology_key="zone", **written)

    assert term.selects(namespace, labels, namespace_labels) is selected
