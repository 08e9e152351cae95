from typing import Any

import pytest

from webhook.cli.terminal import Terminal
from webhook.cli.views.explanation import (
    BAR,
    HEIGHT,
    MOST_COLUMNS,
    MOST_TABLE_ROWS,
    bar,
    render_page,
    show,
)
from webhook.policy.explain.changes import SuggestedChange
from webhook.policy.explain.explanation import (
    ConstraintExplanation,
    DomainRow,
    Explanation,
    NodeExplanation,
    NodeGroup,
)
from webhook.policy.explain.rollout import Rollout

ZONE = "topology.kubernetes.io/zone"
FULL = "█" * BAR


def constraint(*domains: DomainRow, **changes: Any) -> ConstraintExplanation:
    """A hard constraint over zones."""
    parts: dict[str, Any] = {
        "index": 0,
        "topology_key": ZONE,
        "when_unsatisfiable": "DoNotSchedule",
        "max_skew": 1,
        "min_domains": 1,
        "selector": "app=web",
        "node_affinity_policy": "Honor",
        "node_taints_policy": "Ignore",
        "selects_pod": True,
        "global_minimum": 0,
        "minimum_because": "no pod in b",
        "pods": 2,
        "unevenness": 2,
        "domains": domains,
        "left_out": (),
    }
    return ConstraintExplanation(**{**parts, **changes})


def explanation(*constraints: ConstraintExplanation, **changes: Any) -> Explanation:
    """A pod that fits on one node."""
    parts: dict[str, Any] = {
        "subject": "Pod shop/web",
        "sentence": "can be placed on 1 of 1 nodes",
        "placeable": True,
        "nodes": (NodeExplanation(name="n1", passes=True, best=True, score=100, raw_score=7),),
    }
    return Explanation(constraints=constraints, **{**parts, **changes})


def text_of(
    explained: Explanation, capsys: pytest.CaptureFixture[str], rollout: Rollout | None = None
) -> list[str]:
    show(explained, rollout, Terminal())
    return capsys.readouterr().out.splitlines()


def test_a_hard_constraint_shows_its_domains_and_their_skew(
    capsys: pytest.CaptureFixture[str],
) -> None:
    domains = (
        DomainRow("a", 1, 1, 2, skew=3, fits=False),
        DomainRow("b", 1, 0, 0, skew=1, fits=True),
        DomainRow("c", 0, 1, 0, skew=1, fits=False),
    )
    group = NodeGroup("node(s) had untolerated taint", 4, ("n1", "n2", "n3"))

    lines = text_of(explanation(constraint(*domains, left_out=(group,))), capsys)

    assert lines == [
        "Pod shop/web can be placed on 1 of 1 nodes",
        "",
        "constraint 0: zone, maxSkew 1, DoNotSchedule, pods app=web",
        "  global minimum 0: no pod in b",
        "  domain  nodes   pods                        skew",
        f"  a       1 (+1)  2     {FULL}  3     over 1",
        "  b       1       0                           1     fits",
        "  c       0 (+1)  0                           1     no domain",
        "  left out: 4 node(s) had untolerated taint: n1, n2, n3, ...",
        "",
        "1 of 1 node can take it",
        "  node  score  raw",
        "  n1    100    7    best",
        "not considered: resources, ports, volumes, pod affinity",
    ]


def test_a_soft_constraint_names_what_is_unusual(capsys: pytest.CaptureFixture[str]) -> None:
    unusual = constraint(
        DomainRow("a", 1, 0, 0, skew=None, fits=True),
        when_unsatisfiable="ScheduleAnyway",
        selector="",
        selects_pod=False,
        node_affinity_policy="Ignore",
        node_taints_policy="Honor",
    )

    lines = text_of(explanation(unusual, defaulted=True), capsys)

    assert lines[2:8] == [
        "default 0: zone, maxSkew 1, ScheduleAnyway, pods {}",
        "  the pod itself is not among the pods that count",
        "  nodeAffinityPolicy Ignore",
        "  nodeTaintsPolicy Honor",
        "  domain  nodes  pods                        skew",
        "  a       1      0",
    ]


def test_a_constraint_without_domains_has_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text_of(explanation(constraint()), capsys)

    assert lines[3:5] == ["  global minimum 0: no pod in b", ""]


def test_long_tables_keep_the_fullest_domains_and_the_best_nodes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    many = MOST_TABLE_ROWS + 2
    domains = [DomainRow(f"d{i:02}", 1, 0, i, skew=i, fits=True) for i in range(many)]
    nodes = tuple(
        NodeExplanation(name=f"n{i:02}", passes=True, best=False, score=i) for i in range(many)
    )

    lines = text_of(explanation(constraint(*domains), nodes=nodes), capsys)

    assert lines[5].startswith("  d02 ")
    assert "  ... and 2 more domains" in lines
    assert lines[-3].startswith("  n02 ")
    assert lines[-2] == "  ... and 2 more nodes"


def test_a_pod_without_a_node_has_rejections_and_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "a-host-name-of-more-than-28-characters"
    rejected = (NodeGroup("node(s) were unschedulable", 1, (name,)),)
    nodes = (NodeExplanation(name=name, passes=False, best=False),)
    change = SuggestedChange(f"uncordon node {name}", (), (name,))

    lines = text_of(
        explanation(placeable=False, nodes=nodes, rejected=rejected, changes=(change,)), capsys
    )

    assert lines[1:-1] == [
        "  no constraints: spreading allows every node and prefers none",
        "",
        "0 of 1 node can take it",
        f"  cannot: 1 node(s) were unschedulable: {name}",
        "",
        "any one of these changes makes it schedulable, as simulated:",
        f"  - uncordon node {name} (then {name})",
    ]


def test_nodes_without_scores_have_dashes_and_long_names_are_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nodes = (NodeExplanation(name="n" * 40, passes=True, best=True),)

    lines = text_of(explanation(nodes=nodes), capsys)

    assert lines[-2] == f"  {'n' * 27}…  -      -    best"


def test_a_rollout_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    rollout = Rollout(
        sentence="3 of 4 replicas would run",
        edits=(),
        replicas=4,
        running=2,
        placed={"n1": 1},
        pending=1,
        skews=(),
    )

    lines = text_of(explanation(), capsys, rollout)

    assert lines[:6] == [
        "3 of 4 replicas would run",
        "  running  2 stay where they are",
        "  placed   n1 (1)",
        "  pending  1",
        "",
        "Pod shop/web can be placed on 1 of 1 nodes",
    ]


# pods, the number that fills the bar, the bar without padding
BARS = {
    "nothing": (0, 4, ""),
    "no pod anywhere": (0, 0, ""),
    "half": (2, 4, "█" * 10),
    "all": (4, 4, FULL),
    "an eighth of a cell": (1, 8 * BAR, "▏"),
}


@pytest.mark.parametrize(("pods", "most", "drawn"), BARS.values(), ids=BARS.keys())
def test_a_bar_is_drawn_in_eighths_of_a_cell(pods: int, most: int, drawn: str) -> None:
    assert bar(pods, most) == drawn.ljust(BAR)


def domains(number: int) -> list[DomainRow]:
    """Domains with 0, 1, 2 and more pods."""
    return [DomainRow(f"d{i:03}", 1, 0, i, skew=i, fits=True) for i in range(number)]


def test_a_diagram_has_a_column_for_each_domain() -> None:
    page = render_page([(explanation(constraint(*domains(3))), None)])

    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 1
    assert page.count("<g") == 3
    assert f'height="{HEIGHT:.1f}"' in page  # of the fullest domain


def test_a_diagram_keeps_the_fullest_domains() -> None:
    page = render_page([(explanation(constraint(*domains(MOST_COLUMNS + 5))), None)])

    assert page.count("<g") == MOST_COLUMNS
    assert "5 emptier domains are not drawn." in page


def test_a_constraint_without_domains_has_an_empty_diagram() -> None:
    soft = constraint(when_unsatisfiable="ScheduleAnyway")

    assert "<g" not in render_page([(explanation(soft), None)])


def test_a_diagram_of_nothing_has_no_height() -> None:
    zero = constraint(*domains(1), max_skew=0, global_minimum=0)

    assert 'height="0.0"' in render_page([(explanation(zero), None)])


def test_text_of_objects_is_escaped() -> None:
    page = render_page([(explanation(subject="Pod <script>\x1b"), None)])

    assert "<script" not in page
    assert "Pod &lt;script&gt;\\x1b" in page
