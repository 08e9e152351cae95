"""A plan of evictions is shown with the pods of each domain before and after it."""

import pytest
from msgspec.structs import replace

from tests.policy.placement.clusters import node, spread_over
from tests.rebalance.situations import Situation, budget, web_pods, workload_pod, zone_nodes
from webhook.cli.terminal import Terminal
from webhook.cli.views.evictionscript import format_script
from webhook.cli.views.rebalance import MOST_DOMAINS, MOST_STEPS, show_plan, summarize_plan
from webhook.policy.advice.leastskew import LeastSkew
from webhook.policy.model import HOSTNAME, ZONE, LabelSelector
from webhook.policy.placement.filters.filterpods import CLAIM, PodVolume
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.plan import RebalancePlan
from webhook.rebalance.pods import EvictionObstacle

PLAN = Situation(web_pods({"a1": 3, "b1": 1, "c1": 1})).plan()

SOLO = spread_over(label_selector=LabelSelector({"app": "solo"}))


def show(plan: RebalancePlan, capsys: pytest.CaptureFixture[str]) -> str:
    show_plan(plan, Terminal())
    return capsys.readouterr().out


def test_bars_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    assert show(PLAN, capsys) == (
        "Deployment/web in shop\n"
        "  zone, maxSkew 1, DoNotSchedule: skew 2, after the plan 1\n"
        "  domain  before                        after\n"
        "  a       3       ████████████████████  2      █████████████▎\n"
        "  b       1       ██████▋               2      █████████████▎\n"
        "  c       1       ██████▋               1      ██████▋\n"
        "\n"
        "  pod         workload        node  its replacement\n"
        "  shop/web-0  Deployment/web  a1    b1 or c1\n"
        "\n"
        "1 eviction; no plan needs fewer\n"
    )


def test_sections_with_one_heading_name_their_selectors(capsys: pytest.CaptureFixture[str]) -> None:
    """Each revision has its own constraint by ``matchLabelKeys``."""
    pods = [
        workload_pod(
            f"web-{revision}-{number}",
            "a1",
            [spread_over(match_label_keys=("rev",))],
            labels={"app": "web", "rev": revision},
        )
        for revision in "xy"
        for number in range(2)
    ]

    lines = show(Situation(pods).plan(), capsys).splitlines()

    assert [line for line in lines if line.startswith("Deployment/web")] == [
        "Deployment/web in shop, pods with app=web,rev=x",
        "Deployment/web in shop, pods with app=web,rev=y",
    ]


def test_constraints_that_hold_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    plan = Situation(web_pods({"a1": 1, "b1": 1, "c1": 1})).plan()

    assert show(plan, capsys) == "no evictions: every constraint holds\n"
    assert summarize_plan(Situation([]).plan()) == (
        "no pod has constraints that a rebalancing can restore"
    )


def test_pods_on_nodes_without_a_key_are_not_said_to_be_even(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nodes = [*zone_nodes("a", "b"), replace(node("x1", "x"), labels={})]
    pods = [*web_pods({"a1": 1, "b1": 1}), workload_pod("web-9", "x1")]

    assert show(Situation(pods, nodes).plan(), capsys).splitlines() == [
        "not counted, pods on nodes without a topology key of their constraints: 1: shop/web-9",
        "no evictions: every constraint holds for the pods that it counts",
    ]


def test_pods_without_a_node_are_not_said_to_be_even() -> None:
    pods = [*web_pods({"a1": 1, "b1": 1, "c1": 1}), workload_pod("web-9", "", [spread_over()])]

    assert summarize_plan(Situation(pods).plan()) == (
        "no evictions: every constraint holds for the pods that run"
    )


def test_what_prevents_a_constraint_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    pods = web_pods({"a1": 4, "b1": 1, "c1": 1})
    fixed = [replace(one, obstacle=EvictionObstacle.TERMINATING) for one in pods[:4]]

    out = show(Situation([*fixed, *pods[4:]]).plan(), capsys)

    assert "  not reached: pods that cannot be evicted are too many in a domain: a\n" in out
    assert out.endswith(
        "not evicted, it is being deleted: 4 pods: shop/web-0, shop/web-1, shop/web-2, shop/web-3\n"
        "no evictions: 1 constraint cannot be restored\n"
    )


def test_domains_whose_nodes_take_too_few_pods_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = Situation(web_pods({"a1": 5, "b1": 2}), slots={"c1": 0}).plan()

    out = show(plan, capsys)

    reason = "  not reached: the nodes of a domain take too few pods: c; see evenspread explain "
    assert f"{reason}deployment/web -n shop\n" in out


def test_volumes_may_keep_pods_in_their_domains(capsys: pytest.CaptureFixture[str]) -> None:
    plan = Situation(web_pods({"a1": 5, "b1": 2}), slots={"c1": 0}).plan()
    (result,) = plan.goals
    pod = replace(result.goal.pod, volumes=(PodVolume(CLAIM, "data", "shop"),))
    claiming = replace(result, goal=replace(result.goal, pod=pod))

    out = show(replace(plan, goals=(claiming,)), capsys)

    assert "too few pods: c; volumes of claims may keep its pods in their domains\n" in out


def test_constraints_of_pods_that_no_plan_evicts_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    solo = workload_pod("solo-0", "a1", [SOLO], workload="", labels={"app": "solo"})
    solo = replace(solo, obstacle=EvictionObstacle.NO_CONTROLLER)
    bare = [solo, replace(solo, pod=replace(solo.pod, name="solo-1"))]

    out = show(Situation([*bare, *web_pods({"a1": 1, "b1": 1})]).plan(), capsys)

    assert out.startswith("pods without a controller in shop\n  zone, maxSkew 1, DoNotSchedule:")
    assert out.endswith(
        "  not reached: no pod that has it is evicted\n"
        "\n"
        "not evicted, no controller replaces it: 2 pods: shop/solo-0, shop/solo-1\n"
        "no evictions: 1 constraint cannot be restored\n"
    )


def test_constraints_that_count_only_other_pods_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    solo = [workload_pod(f"solo-{number}", "a1", labels={"app": "solo"}) for number in range(2)]
    out = show(Situation([*web_pods({"a1": 1}, spread_over(), SOLO), *solo]).plan(), capsys)

    assert out == (
        "not planned, uneven constraints that count only other pods: 1: Deployment/web in shop\n"
        "no evictions: every other constraint holds\n"
    )


def test_long_plans_are_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = zone_nodes("a", nodes=MOST_DOMAINS + MOST_STEPS + 2)
    pods = [
        workload_pod(f"web-{number}", "a1", [spread_over(HOSTNAME)])
        for number in range(MOST_STEPS + 2)
    ]

    out = show(Situation(pods, nodes).plan(), capsys)

    assert f"  ... and {MOST_STEPS + 2} more domains\n" in out
    assert "  ... and 1 more eviction\n" in out
    assert " others\n" in out


def test_long_names_of_nodes_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    step = replace(PLAN.steps[0], candidates=("b1", "c" * 40), target="b1")

    several = show(replace(PLAN, steps=(step,)), capsys)
    one = show(replace(PLAN, steps=(replace(step, candidates=("c" * 50,)),)), capsys)

    assert "  a1    b1 or 1 other\n" in several
    assert f"  a1    {'c' * 50}\n" in one


def test_a_plan_that_is_not_proven_says_so() -> None:
    plan = replace(PLAN, least=0, is_certain=False)

    assert summarize_plan(plan) == "1 eviction; any plan needs at least 0; more may be necessary"
    assert summarize_plan(PLAN.without_proof()) == (
        "1 eviction; not all objects were read, so this may be too few or too many"
    )


@pytest.mark.parametrize(
    ("obstacle", "text"),
    [
        (GoalObstacle.CONFLICT, "1 constraint cannot be restored"),
        (GoalObstacle.UNKNOWN, "1 constraint for which the search was given up"),
        (GoalObstacle.PENDING_PODS, "1 constraint not planned, as pods have no node"),
        (GoalObstacle.SCORES, "1 constraint that kube-scheduler may not restore"),
    ],
)
def test_the_sum_says_what_is_known(obstacle: GoalObstacle, text: str) -> None:
    (goal,) = PLAN.goals

    plan = replace(PLAN, goals=(replace(goal, obstacle=obstacle),))

    assert summarize_plan(plan) == f"1 eviction; no plan needs fewer; {text}"
    both = (replace(goal, obstacle=obstacle), replace(goal, obstacle=GoalObstacle.NO_NODES))
    assert "cannot be restored" in summarize_plan(replace(PLAN, goals=both))


def test_the_hard_constraint_that_is_the_obstacle_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (goal,) = PLAN.goals
    found = replace(goal, obstacle=GoalObstacle.HARD_CONSTRAINT, least=LeastSkew(2, ZONE))

    out = show(replace(PLAN, goals=(found,)), capsys)

    line = "not reached: a hard constraint of its pods requires a larger skew: zone allows no skew"
    assert f"  {line} below 2\n" in out


def test_a_budget_that_refuses_now_is_named_before_the_plan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pods = web_pods({"a1": 3, "b1": 1, "c1": 1})
    plan = Situation(pods, budgets=[budget(1, 5, is_exhausted=True)]).plan()

    out = show(plan, capsys)

    line = "kube-apiserver refuses evictions now, by the status of PodDisruptionBudgets unlike"
    assert out.startswith(line)
    assert out.count(line) == 1
    assert f"# {line}" in format_script(plan)
