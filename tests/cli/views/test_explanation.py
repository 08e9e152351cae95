from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.conftest import Screen
from tests.cli.views.explanations import AT_LIMIT, ROLLOUT, ZONE, constraint, explanation
from webhook.cli.terminal import Terminal
from webhook.cli.views.explanation import (
    BAR,
    MOST_TABLE_ROWS,
    NO_CHANGE,
    WIDE_TABLES,
    bar,
    describe_absence,
    describe_placed,
    show,
)
from webhook.explain.caveats import ALWAYS_IGNORED
from webhook.explain.changes import SuggestedChange
from webhook.explain.constraints import DomainRow, NodeGroup
from webhook.explain.daemonreport import DaemonReport, MissingPod
from webhook.explain.explanation import Explanation, NodeExplanation, Refusal, explain_refusal
from webhook.explain.replicaskew import DomainReplicas, SkewChange
from webhook.explain.rollout import Rollout, ScaleDownReport

FULL = "█" * BAR


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
        "  c       0 (+1)  0                           -     no domain",
        "  left out: 4 node(s) had untolerated taint: n1, n2, n3, ...",
        "",
        "1 of 1 node can take it",
        "  node  score  raw",
        "  n1    100    7    best",
        f"not considered: {ALWAYS_IGNORED[0]}",
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


def test_wide_tables_are_not_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    many = MOST_TABLE_ROWS + 2
    name = "n" * 40
    domains = [DomainRow(f"d{i:02}", 1, 0, i, skew=i, fits=True) for i in range(many)]
    nodes = tuple(
        NodeExplanation(name=f"{name}{i:02}", passes=True, best=False, score=i) for i in range(many)
    )

    show(explanation(constraint(*domains), nodes=nodes), None, Terminal(), WIDE_TABLES)

    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("  d") for line in lines) == many + 1  # and the headings
    assert sum(line.startswith(f"  {name}") for line in lines) == many
    assert not any("more" in line or "…" in line for line in lines)


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


PLACED: dict[tuple[int | None, int], str] = {
    (1, 1): "",
    (2, 3): "; 2 of 3 missing replicas",
    (2, 2): "; both missing replicas",
    (3, 3): "; all 3 missing replicas",
    (None, 3): "; tried for the next pod only",
}


@pytest.mark.parametrize(("numbers", "text"), PLACED.items())
def test_changes_show_how_many_replicas_they_place(
    numbers: tuple[int | None, int], text: str
) -> None:
    assert describe_placed(SuggestedChange("uncordon node n1", (), ("n1",), *numbers)) == text


def test_nodes_without_scores_have_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    name = "n" * 40

    lines = text_of(
        explanation(nodes=(NodeExplanation(name=name, passes=True, best=True),)), capsys
    )

    assert lines[-2] == f"  {name}  -      -    best"


POOL = "gke-production-cluster-default-pool-1a2b3c4d"
MACHINES = (f"{POOL}-x7k2", f"{POOL}-p0q9")


# what is shown, and the part of its table that has the names
LONG_NAMES: dict[str, tuple[Explanation, str]] = {
    "domains": (
        explanation(constraint(*(DomainRow(name, 1, 0, 3, 4, fits=False) for name in MACHINES))),
        f"  gke-production…-1a2b3c4d-{{}}  1      3     {FULL}  4     over 1",
    ),
    "nodes": (
        explanation(
            nodes=tuple(NodeExplanation(name=name, passes=True, best=True) for name in MACHINES)
        ),
        f"  {POOL}-{{}}  -      -    best",
    ),
    "missing pods": (
        explanation(
            daemon=DaemonReport(
                2, 0, tuple(MissingPod(one, f"{POOL}-pod", "Pending", "") for one in MACHINES), ()
            )
        ),
        "  gke-productio…-1a2b3c4d-{}  gke-productio…l-1a2b3c4d-pod  Pending  can be placed",
    ),
}


@pytest.mark.parametrize(("explained", "row"), LONG_NAMES.values(), ids=LONG_NAMES.keys())
def test_long_names_stay_different_in_a_terminal_of_80_columns(
    explained: Explanation, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen()

    show(explained, None, Terminal(screen))

    assert {row.format(end) for end in ("x7k2", "p0q9")} <= set(screen.getvalue().splitlines())


def test_a_rollout_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text_of(explanation(), capsys, ROLLOUT)

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


def test_missing_pods_of_a_daemon_set_are_listed_and_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing = tuple(
        MissingPod(f"n{number:02}", "", "not created", "" if number else "zone: skew 2 > maxSkew 1")
        for number in range(MOST_TABLE_ROWS + 3)
    )
    report = DaemonReport(len(missing), 0, missing, ("g1",))
    rejected = (NodeGroup("node(s) had untolerated taint gpu", 1, ("g1",)),)
    explained = explanation(constraint(*AT_LIMIT), daemon=report, rejected=rejected)

    lines = text_of(explained, capsys)

    assert lines[2] == "missing pods, each of which is pinned to its node"
    assert lines[4] == "  n00        not created  cannot be placed: zone: skew 2 > maxSkew 1"
    assert "  n01        not created  can be placed" in lines
    assert "  ... and 3 more" in lines
    assert "  needs no pod: 1 node(s) had untolerated taint gpu: g1" in lines
    assert "  has a pod and needs none: g1" in lines
    assert "for the pod of node n00" in lines


def test_a_daemon_set_with_all_pods_has_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text_of(explanation(daemon=DaemonReport(1, 1, (), ())), capsys)

    assert lines[2:] == [f"not considered: {ALWAYS_IGNORED[0]}"]


def test_removed_pods_and_notes_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ranks = ScaleDownReport(
        sentence="2 of 2 pods have a rank by zone",
        topology_key=ZONE,
        configured=True,
        pods=2,
        ranked=2,
        removed=(),
    )
    rollout = replace(
        ROLLOUT, removed=("web-1", "web-2"), notes=("it is not known",), scale_down=ranks
    )

    lines = text_of(explanation(), capsys, rollout)

    assert lines[4:7] == [
        "  removed  web-1, web-2",
        "  note     it is not known",
        "  ranks    2 of 2 pods have a rank by zone",
    ]


def test_a_refusal_is_all_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    refused = (Refusal("TSC001", "a", "b"), Refusal("TSC003", "c", "d"), Refusal("", "e", "f"))

    show(explain_refusal("Pod shop/x", refused), None, Terminal())

    assert capsys.readouterr().out.splitlines() == [
        "Pod shop/x is refused by kube-apiserver: a: b (TSC001)",
        "  also c: d (TSC003)",
        "  also e: f",
        "nothing is placed: first correct what kube-apiserver refuses",
    ]


def test_replicas_are_shown_beside_counted_pods(capsys: pytest.CaptureFixture[str]) -> None:
    domains = (DomainReplicas("", 1, 0), DomainReplicas("a", 3, 2))
    skews = (SkewChange(0, ZONE, 0, 0, 0, 3, domains), SkewChange(1, ZONE, 0, 0))
    end = Explanation(subject="it", sentence="can", placeable=True)

    show(end, replace(ROLLOUT, skews=skews), Terminal())

    zones = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  zone")]
    assert zones == ["  zone     its own pods: a 3 (counted 2), (none) 1 (counted 0)"]


def test_a_missing_pod_that_others_keep_away(capsys: pytest.CaptureFixture[str]) -> None:
    pod = MissingPod("a2", "", "not created", "", "zone: skew 2 > maxSkew 1")
    report = DaemonReport(desired=1, running=0, missing=(pod,), unneeded=())
    found = Explanation(subject="it", sentence="lacks", placeable=False, daemon=report)

    show(found, None, Terminal())

    fate = "cannot be placed after the others: zone: skew 2 > maxSkew 1"
    assert fate in capsys.readouterr().out


REFUSAL = Refusal("TSC001", "spec", "is wrong")

# what differs from a pod that cannot be placed, whether it is said that no change helps
LACKING: dict[str, tuple[dict[str, Any], bool]] = {
    "no change helps": ({}, True),
    "one helps": ({"changes": (SuggestedChange("add 1 node", (), ("new-1",)),)}, False),
    "the pod can be placed": ({"placeable": True}, False),
    "kube-scheduler does not place it": ({"bound_to": "n1"}, False),
    "no pod is created": ({"closed": "it has completed"}, False),
    "no such pod is accepted": ({"refused": (REFUSAL,)}, False),
}


@pytest.mark.parametrize(("changes", "is_said"), LACKING.values(), ids=LACKING.keys())
def test_it_is_said_that_no_change_helps(
    changes: dict[str, Any], capsys: pytest.CaptureFixture[str], *, is_said: bool
) -> None:
    lines = text_of(explanation(**{"placeable": False, **changes}), capsys)

    assert (NO_CHANGE in lines) is is_said


ABSENCES: dict[str, tuple[dict[str, str], str]] = {
    "placed by kube-scheduler": ({}, "spreading allows every node"),
    "bound by its template": ({"bound_to": "a1"}, "none is evaluated"),
    "another scheduler": ({"scheduler": "volcano"}, "those of volcano are not known"),
}


@pytest.mark.parametrize(("changes", "words"), ABSENCES.values(), ids=ABSENCES)
def test_the_absence_of_constraints_is_described(changes: dict[str, str], words: str) -> None:
    assert words in describe_absence(explanation(**changes))


def test_the_message_of_the_event_follows_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    event = "0/1 nodes are available: 1 Insufficient cpu."

    lines = text_of(explanation(failed_scheduling=event), capsys)

    assert lines[1] == f"FailedScheduling: {event}"
