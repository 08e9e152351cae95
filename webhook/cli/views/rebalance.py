"""A plan of evictions as a table, with bars of the pods of each domain: ``show_plan``."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.explanation import bar
from webhook.explain.keynames import SHORT_NAMES
from webhook.explain.sentences import domain_name
from webhook.policy.advice.findings import count_of, join_names
from webhook.policy.placement.filters.filterpods import CLAIM, FilterPod
from webhook.policy.selectors import render
from webhook.rebalance.goals import GoalObstacle, find_excess
from webhook.rebalance.notes import NoteKind, PlanNote
from webhook.rebalance.plan import GoalResult, ImmovablePod, RebalancePlan
from webhook.rebalance.replay import EvictionStep

MOST_DOMAINS = 20  # of a constraint; of more, those that change come first
MOST_STEPS = 40
SHOWN_CANDIDATES = 3  # that a replacement may go to, in a row
MOST_CANDIDATE_CHARACTERS = 40  # of the names of candidates in a row


def show_plan(plan: RebalancePlan, terminal: Terminal) -> None:
    """Write the constraints that do not hold, the evictions, and a summary."""
    early = tuple(find_refusals(plan))
    for line in early:
        terminal.line((line, Style.BAD))
    shown = [one for one in plan.goals if find_excess(one.before) or _has_changes(one)]
    sections = Counter(map(_identify, shown))
    for result in shown:
        heading, _ = identity = _identify(result)
        selector = result.goal.spread.selector if sections[identity] > 1 else None
        suffix = "" if selector is None else f", pods with {render(selector)}"
        _show_goal(result, f"{heading}{suffix}", terminal)
        terminal.line()
    if plan.steps:
        terminal.table(("pod", "workload", "node", "its replacement"), _format_steps(plan.steps))
        if len(plan.steps) > MOST_STEPS:
            terminal.line(f"  ... and {count_of(len(plan.steps) - MOST_STEPS, 'more eviction')}")
        terminal.line()
    for line in _format_immovable(plan.immovable):
        terminal.line(line)
    for line in map(_format_note, plan.notes):
        if line not in early:
            terminal.line(line)
    terminal.line((summarize_plan(plan), Style.PLACE))


def _format_note(note: PlanNote) -> str:
    return f"{note.kind}: {len(note.names)}: {join_names(note.names, most=5)}"


def find_refusals(plan: RebalancePlan) -> Iterator[str]:
    """Yield the line that says which PodDisruptionBudgets refuse evictions of the plan now."""
    if plan.steps:
        found = (note for note in plan.notes if note.kind is NoteKind.BUDGET_STATUS)
        yield from map(_format_note, found)


def _has_changes(result: GoalResult) -> bool:
    return result.before.pods != result.after.pods


def _identify(result: GoalResult) -> tuple[str, str]:
    """Return the workloads with their namespace, and the topology key."""
    workloads = result.goal.workloads or ("pods without a controller",)
    heading = f"{join_names(workloads)} in {result.goal.pod.namespace}"
    return heading, result.goal.spread.topology_key


def _show_goal(result: GoalResult, heading: str, terminal: Terminal) -> None:
    spread, before, after = result.goal.spread, result.before, result.after
    terminal.line((heading, Style.PLACE))
    skews = f"skew {before.largest_skew}, after the plan {after.largest_skew}"
    terminal.line(
        f"  {SHORT_NAMES.short(spread.topology_key)}, maxSkew {spread.max_skew}, "
        f"{spread.constraint.when_unsatisfiable}: ",
        (skews, Style.GOOD if result.holds else Style.BAD),
    )
    domains = sorted(before.domains.sizes)
    if len(domains) > MOST_DOMAINS:
        domains.sort(key=lambda name: not _changes(result, name))
    most = max((*before.pods.values(), *after.pods.values()), default=0)
    rows = [_format_domain(result, name, most) for name in domains[:MOST_DOMAINS]]
    terminal.table(("domain", "before", "", "after", ""), rows)
    if len(domains) > MOST_DOMAINS:
        terminal.line(f"  ... and {count_of(len(domains) - MOST_DOMAINS, 'more domain')}")
    if result.obstacle is not None:
        listed = [domain_name(name) for name in result.obstacle_domains]
        places = f": {join_names(listed, most=5)}" if listed else ""
        hint = _explain_nodes(result) if result.obstacle is GoalObstacle.NO_NODES else ""
        if result.least is not None:
            key = SHORT_NAMES.short(result.least.key)
            hint = f": {key} allows no skew below {result.least.skew}"
        terminal.line(("  not reached: ", Style.DOUBTFUL), f"{result.obstacle}{places}{hint}")


def _explain_nodes(result: GoalResult) -> str:
    """Explain why the nodes of a domain may take no pod, or name the command that does."""
    pod = result.goal.pod
    if isinstance(pod, FilterPod) and any(volume.kind == CLAIM for volume in pod.volumes):
        return "; volumes of claims may keep its pods in their domains"
    kind, _, name = result.goal.workloads[0].partition("/")
    return f"; see evenspread explain {kind.lower()}/{name} -n {result.goal.pod.namespace}"


def _changes(result: GoalResult, name: str) -> bool:
    return result.before.pods.get(name, 0) != result.after.pods.get(name, 0)


def _format_domain(result: GoalResult, name: str, most: int) -> Sequence[str]:
    before, after = result.before.pods.get(name, 0), result.after.pods.get(name, 0)
    return domain_name(name), f"{before}", bar(before, most), f"{after}", bar(after, most)


def _format_steps(steps: Sequence[EvictionStep]) -> Iterator[Sequence[str]]:
    for step in steps[:MOST_STEPS]:
        others = f" or {count_of(len(step.candidates) - 1, 'other')}"
        listed = " or ".join(step.candidates)
        is_short = (
            len(step.candidates) <= SHOWN_CANDIDATES and len(listed) <= MOST_CANDIDATE_CHARACTERS
        )
        places = listed if is_short or len(step.candidates) == 1 else f"{step.target}{others}"
        yield f"{step.namespace}/{step.pod}", step.workload, step.node, places


def _format_immovable(pods: Sequence[ImmovablePod]) -> Iterator[str]:
    found = defaultdict[str, list[str]](list)
    for one in pods:
        budgets = f" ({join_names(one.budgets)})" if one.budgets else ""
        found[f"{one.obstacle}{budgets}"].append(f"{one.namespace}/{one.pod}")
    for reason, names in found.items():
        yield f"not evicted, {reason}: {count_of(len(names), 'pod')}: {join_names(names, most=5)}"


_UNEVEN = (NoteKind.FOREIGN, NoteKind.CLOSED)
"""Notes about constraints that do not hold, and are no part of a plan."""


def summarize_plan(plan: RebalancePlan) -> str:
    """Summarize a plan in one line."""
    if not plan.is_complete:
        doubt = "not all objects were read, so this may be too few or too many"
        return f"{count_of(len(plan.steps), 'eviction')}; {doubt}"
    if not plan.goals:
        return "no pod has constraints that a rebalancing can restore"
    left = "; ".join(_count_missed(plan))
    if not plan.steps:
        return f"no evictions: {left or _describe_kept(plan)}"
    least = "no plan needs fewer" if plan.is_least else f"any plan needs at least {plan.least}"
    most = "" if plan.is_certain else "more may be necessary"
    return "; ".join(filter(None, (count_of(len(plan.steps), "eviction"), least, most, left)))


def _describe_kept(plan: RebalancePlan) -> str:
    """Describe which constraints hold, if no goal of the plan is missed."""
    kinds = {note.kind for note in plan.notes}
    which = "every constraint" if kinds.isdisjoint(_UNEVEN) else "every other constraint"
    counted = " for the pods that it counts" if NoteKind.NO_KEY in kinds else ""
    waiting = not kinds.isdisjoint((NoteKind.PENDING, NoteKind.MISSING))
    return f"{which} holds{' for the pods that run' if waiting else counted}"


def _count_missed(plan: RebalancePlan) -> Iterator[str]:
    """Count the constraints that the plan does not restore, apart by what is known of them."""
    missed = Counter(
        _KNOWN_OF.get(result.obstacle, "cannot be restored")
        for result in plan.goals
        if result.obstacle is not None
    )
    yield from (f"{count_of(number, 'constraint')} {text}" for text, number in missed.items())


_KNOWN_OF = {
    GoalObstacle.UNKNOWN: "for which the search was given up",
    GoalObstacle.PENDING_PODS: "not planned, as pods have no node",
    GoalObstacle.MISSING_PODS: "not planned, as pods are missing",
    GoalObstacle.SCORES: "that kube-scheduler may not restore",
}
"""What is known of a constraint, unless it is proven that no plan restores it."""
