"""What is said of a placement: the one sentence on top, and why a number is what it is."""

from collections import Counter

from webhook.policy.explain.scenario import Scenario, counted, listed, short_key
from webhook.policy.placement.nodes import NodeRejection, RejectionReason
from webhook.policy.placement.place import Placement
from webhook.policy.placement.tallies import MinimumReason, PodTally

_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}


def summarize(situation: Scenario, placement: Placement, runs_on: str) -> str:
    """
    Where a pod can go, or the one thing that most keeps it from being placed.

    Args:
        situation: The pod and its surroundings.
        placement: Where it can go.
        runs_on: The node that the pod runs on already; empty if it does not.
    """
    nodes, passing = len(situation.topology.nodes), len(placement.passing)
    if not passing:
        trouble = f"cannot be placed{' anew' if runs_on else ''}: {_trouble(situation, placement)}"
        return f"runs on {runs_on}; it {trouble}" if runs_on else trouble
    can = f"can be placed{' anew' if runs_on else ''} on {passing} of {counted(nodes, 'node')}"
    if placement.scores is not None and len(placement.best) < passing:
        can += f"; spreading prefers {listed(placement.best)}"
    if not runs_on:
        return can
    kept = "" if runs_on in placement.passing else f", but not on {runs_on} again"
    return f"runs on {runs_on}; it {can}{kept}"


def rejection_reason(node: str, placement: Placement) -> str:
    """Why a node does not pass; empty if it does. Other filters are asked first."""
    obstacle = placement.refused.get(node)
    if obstacle is not None:
        return render_rejection(obstacle)
    status = placement.statuses[node]
    if status.spread is None:
        return ""
    key = status.spread.topology_key
    if status.skew is None:
        return render_rejection(NodeRejection(RejectionReason.MISSING_KEY, key))
    return f"{short_key(key)}: skew {status.skew} > maxSkew {status.spread.max_skew}"


def render_rejection(obstacle: NodeRejection) -> str:
    """An obstacle, and what it is about."""
    return f"{obstacle.reason} {obstacle.about}".rstrip()


def explain_minimum(tally: PodTally) -> str:
    """What makes the global minimum what it is."""
    sizes, pods = tally.domains.sizes, tally.pods
    least = tuple(value for value in sizes if pods.get(value, 0) == tally.minimum)
    match tally.minimum_reason:
        case MinimumReason.NO_DOMAIN:
            return f"no node counts for {short_key(tally.spread.topology_key)}"
        case MinimumReason.TOO_FEW_DOMAINS:
            return f"minDomains {tally.spread.min_domains}, found {len(sizes)}"
        case MinimumReason.EMPTY_DOMAIN:
            return f"no pod in {listed(least)}"
        case _:
            return f"fewest pods in {listed(least)}"


def _trouble(situation: Scenario, placement: Placement) -> str:
    nodes = situation.topology.nodes
    if not nodes:
        return "there is no node"
    if len(placement.refused) == len(nodes):
        return f"no node takes it: {_obstacles(list(placement.refused.values()))}"
    hard = placement.tallies.hard
    blocking = next((tally for tally in hard if not _open(tally)), None)
    if blocking is not None:
        return _closed(blocking)
    for tally in hard:
        there = [node for node in nodes if tally.spread.topology_key in node.labels]
        inside = [node for node in there if tally.fits(node.labels[tally.spread.topology_key])]
        refused = [
            placement.refused[node.name] for node in inside if node.name in placement.refused
        ]
        if inside and len(refused) == len(inside):
            return f"{_allows(tally)}, where no node takes it: {_obstacles(refused)}"
    return f"{'; '.join(map(_allows, hard))}; no node meets all of that"


def _open(tally: PodTally) -> bool:
    """Whether there is a domain that the constraint lets the pod go to."""
    return any(map(tally.fits, tally.domains.sizes))


def _closed(tally: PodTally) -> str:
    """Say why a constraint lets the pod go nowhere: only for want of domains can that be."""
    name, found = short_key(tally.spread.topology_key), tuple(sorted(tally.domains.sizes))
    if not found:
        return f"no node counts for {name}: {_obstacles(list(tally.domains.left_out.values()))}"
    ordinal = _ORDINALS.get(len(found) + 1)
    wanted = f"a {ordinal} domain" if ordinal else "one more domain"
    there = f"{len(found)}: {listed(found, most=6)}"
    return f"{name} needs {wanted} (minDomains {tally.spread.min_domains}, found {there})"


def _allows(tally: PodTally) -> str:
    fitting = tuple(sorted(filter(tally.fits, tally.domains.sizes)))
    name = short_key(tally.spread.topology_key)
    return f"{name} (maxSkew {tally.spread.max_skew}) allows only {listed(fitting)}"


def _obstacles(found: list[NodeRejection]) -> str:
    """Count obstacles, the commonest first: ``3 node(s) were unschedulable``."""
    return ", ".join(
        f"{number} {said}" for said, number in Counter(map(render_rejection, found)).most_common()
    )
