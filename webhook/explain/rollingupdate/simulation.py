"""
Simulate a rolling update of a workload: ``simulate``.

Before the first step, replicas that are missing are placed, as ``newpods`` does. Every pod that has
a node gets ready, and a pod that is deleted is gone at once.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.explain.newpods import NewPod
from webhook.explain.replicaskew import count_values, measure_skew
from webhook.explain.rollingupdate.placer import Placer
from webhook.explain.rollingupdate.report import (
    RolloutDomain,
    RolloutForecast,
    RolloutSkew,
    RolloutStep,
    StopBounds,
    summarize_forecast,
)
from webhook.explain.rollingupdate.search import (
    Exploration,
    RolloutController,
    Round,
    explore,
    follow,
)
from webhook.explain.rollingupdate.state import ReplicaKind, RolloutState
from webhook.explain.rollingupdate.symmetry import NodeSymmetry
from webhook.explain.rollout import unevenness
from webhook.explain.scenario import Scenario, ScenarioEdit
from webhook.explain.sentences import summarize
from webhook.policy.model import HOSTNAME


class RolloutSetup(msgspec.Struct, frozen=True):
    """
    A rolling update to simulate.

    Attributes:
        scenario: The nodes, and the pods of other workloads alone.
        kinds: The kinds of pods, by their numbers; at least one of them is new.
        start: The present pods.
        filling: The controllers before the rolling update, which create what is missing.
        updating: The controllers during it.
        strategy: Describes how pods are replaced.
        replicas: Desired number of pods.
        find_next: Finds the pod that the controllers create next, beside those of a state.
        notes: What is supposed; sentences.
    """

    scenario: Scenario
    kinds: Sequence[ReplicaKind]
    start: RolloutState
    filling: RolloutController
    updating: RolloutController
    strategy: str
    replicas: int
    find_next: Callable[[RolloutState], NewPod]
    notes: tuple[str, ...] = ()


def simulate(
    setup: RolloutSetup, edits: Sequence[ScenarioEdit] = ()
) -> tuple[RolloutForecast, Scenario]:
    """
    Simulate a rolling update, and try other choices within the bounds of ``search``.

    Args:
        edits: The edits that the scenario contains, for the sentence.

    Returns:
        The result, and the scenario of a new pod at its end: the one that has no node, if it stops,
        and else the next one.
    """
    placer = Placer(setup.scenario, setup.kinds)
    filled = list(follow(setup.filling, placer, setup.start))
    start = filled[-1].state if filled else setup.start
    course = _Course(start, tuple(follow(setup.updating, placer, start)), _explore(setup, placer))
    waiting = _find_waiting(placer, course.end)
    if waiting is None:
        scenario = placer.enter(setup.find_next(course.end), course.end)
    else:
        scenario = placer.describe(waiting, course.end)
    return _report(setup, edits, placer, course), scenario


class _Course(NamedTuple):
    """What happens with the first choices, and with all that were tried."""

    start: RolloutState
    rounds: Sequence[Round]
    explored: Exploration

    @property
    def end(self) -> RolloutState:
        """The state after the last step."""
        return self.rounds[-1].state if self.rounds else self.start


def _explore(setup: RolloutSetup, placer: Placer) -> Exploration:
    """Try all choices; if they are too many, those that remain if the nodes of a domain are one."""
    # Argo Rollouts may create one pod more than the replicas of each of two revisions.
    most = len(list(setup.start.list_kinds())) + 2 * (setup.replicas + 1)
    keys, signatures = placer.list_keys(), placer.sign_nodes(most)
    exact = NodeSymmetry(placer.nodes, keys, signatures)
    found = _try_choices(setup.filling, setup.updating, placer, exact, setup.start)
    if found.is_complete or not (exact.can_merge and placer.are_pods_alike):
        return found
    merged = NodeSymmetry(placer.nodes, keys, signatures, merges_nodes=True)
    controllers = setup.filling.ignore_nodes(), setup.updating.ignore_nodes()
    rough = _try_choices(*controllers, placer, merged, setup.start)
    return rough if rough.is_complete else found


def _try_choices(
    filling: RolloutController,
    updating: RolloutController,
    placer: Placer,
    symmetry: NodeSymmetry,
    start: RolloutState,
) -> Exploration:
    filled = explore(filling, placer, symmetry, [start])
    found = explore(updating, placer, symmetry, filled.ends)
    return replace(found, is_complete=found.is_complete and filled.is_complete)


def _report(
    setup: RolloutSetup, edits: Sequence[ScenarioEdit], placer: Placer, course: _Course
) -> RolloutForecast:
    is_finished, explored = setup.updating.is_finished, course.explored
    finishes = is_finished(course.end)
    fates = {finishes, *map(is_finished, explored.ends)}
    key = _choose_key(setup)
    forecast = RolloutForecast(
        sentence="",
        edits=tuple(edits),
        strategy=setup.strategy,
        replicas=setup.replicas,
        topology_key=key,
        start=_show_state("", course.start, setup, key),
        steps=tuple(_show_state(action, state, setup, key) for action, state in course.rounds),
        finishes=finishes,
        can_finish=True in fates,
        can_stop=False in fates,
        all_tried=explored.is_complete,
        reason="" if finishes else _explain_stop(setup, placer, course.end),
        stops_with=_bound_stops(
            setup, [one for one in (course.end, *explored.ends) if not is_finished(one)]
        ),
        skews=tuple(_compare_skews(setup, placer, course)),
        notes=(*setup.notes, *_describe_bounds(explored)),
    )
    return replace(forecast, sentence=summarize_forecast(forecast, setup.scenario.names))


def _choose_key(setup: RolloutSetup) -> str:
    """Choose the key of the domains to show: the first one that is not the hostname, if any."""
    keys = [spread.topology_key for spread in setup.scenario.spreads.by_index]
    return next((key for key in keys if key != HOSTNAME), keys[0] if keys else "")


def _show_state(action: str, state: RolloutState, setup: RolloutSetup, key: str) -> RolloutStep:
    kinds = setup.kinds
    values = {node.name: node.labels.get(key, "") for node in setup.scenario.topology.nodes}
    # A node that is not known has no domain.
    pods = Counter(
        (values.get(node), kinds[kind].is_new) for node, on in state.placed for kind in on
    )
    pending = sum(kinds[kind].is_new for kind in state.pending)
    new = sum(number for (_, is_new), number in pods.items() if is_new)
    return RolloutStep(
        action=action,
        old=len(list(state.list_kinds())) - new - pending,
        new=new,
        pending=pending,
        domains=tuple(
            RolloutDomain(value, pods[value, False], pods[value, True])
            for value in sorted(set(values.values()) if key else ())
        ),
    )


def _bound_stops(setup: RolloutSetup, stopped: Sequence[RolloutState]) -> StopBounds | None:
    placed = [
        sum(setup.kinds[kind].is_new for _, pods in state.placed for kind in pods)
        for state in stopped
    ]
    return StopBounds(min(placed), max(placed)) if placed else None


def _explain_stop(setup: RolloutSetup, placer: Placer, end: RolloutState) -> str:
    """Explain why nothing happens any more."""
    kind = _find_waiting(placer, end)
    if kind is None:
        name = _name_unready(setup, end)
        return f"it waits for {name}, which is not ready" if name else _UNREADY
    failure = summarize(placer.describe(kind, end), placer.place(kind, end), "")
    if setup.kinds[kind].is_new:
        return f"a new pod {failure}"
    name = setup.updating.name_pod(kind)
    return f"it waits for {name}, which {failure}" if name else f"an old pod {failure}"


_UNREADY = "it waits for a pod that is not ready"


def _name_unready(setup: RolloutSetup, end: RolloutState) -> str:
    """Name the first pod that is not ready; empty if none has a name that is determined."""
    unready = [
        setup.kinds[kind]
        for kind in end.list_kinds()
        if kind in end.pending or not setup.kinds[kind].is_ready
    ]
    first = min(unready, key=lambda kind: kind.owner, default=None)
    return setup.updating.name_pod(first.number) if first else ""


def _find_waiting(placer: Placer, state: RolloutState) -> int | None:
    """Find the kind of a pending pod, a new one if there is any; None if no pod is pending."""
    pending = sorted(placer.list_pending(state), key=lambda kind: not placer.kinds[kind].is_new)
    return next(iter(pending), None)


def _compare_skews(setup: RolloutSetup, placer: Placer, course: _Course) -> Iterator[RolloutSkew]:
    new = next(kind for kind in placer.kinds if kind.is_new and kind.new is not None)
    old = _choose_old(setup, new)
    before = _measure_skews(placer, old, course.start)
    after = _measure_skews(placer, new, course.end)
    others = [_measure_skews(placer, new, state) for state in course.explored.ends]
    tallies = placer.tally(new.number, course.end)
    for place, (index, key, skew) in enumerate(after):
        known = [skew, *(found[place][2] for found in others)]
        first = next((found for at, name, found in before if (at, name) == (index, key)), 0)
        domains = tallies[place].domains.sizes
        own = [_measure_own(setup, state, key, domains) for state in (course.start, course.end)]
        yield RolloutSkew(index, key, first, skew, min(known), max(known), *own)


def _choose_old(setup: RolloutSetup, new: ReplicaKind) -> ReplicaKind:
    """
    Choose the kind of old pods whose constraints measure the skew at the start.

    It has as many constraints in common with the new pods as possible. Of several, one that is not
    Pending is preferred, since Pending pods may be of an older template.
    """
    wanted = _list_keys(new)
    old = (kind for kind in setup.kinds if not kind.is_new and kind.new is not None)
    pending = setup.start.pending
    return min(
        old,
        key=lambda kind: (-len(wanted & _list_keys(kind)), kind.number in pending),
        default=new,
    )


def _list_keys(kind: ReplicaKind) -> set[tuple[int, str]]:
    """List the constraints of a pod to place, by their index and key."""
    spreads = kind.new.spreads.by_index if kind.new else ()
    return {(spread.index, spread.topology_key) for spread in spreads}


def _measure_skews(
    placer: Placer, kind: ReplicaKind, state: RolloutState
) -> list[tuple[int, str, int]]:
    """Measure the skew of each constraint of a kind of pods: its index, its key, and the skew."""
    tallies = placer.tally(kind.number, state)
    return [(one.spread.index, one.spread.topology_key, unevenness(one)) for one in tallies]


def _measure_own(
    setup: RolloutSetup, state: RolloutState, key: str, domains: Collection[str]
) -> int:
    """Measure the skew of the workload's own pods, over the domains that count."""
    values = {node.name: node.labels.get(key, "") for node in setup.scenario.topology.nodes}
    placed = {node: len(list(on)) for node, on in state.placed}
    return measure_skew(count_values(values, placed), domains)


def _describe_bounds(explored: Exploration) -> Iterator[str]:
    if not explored.is_complete:
        yield ("there are too many choices to try all of them: other ones may have another result")
