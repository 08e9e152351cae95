"""
Sentences about a placement: its summary, and the reasons for single numbers.

``summarize`` is the entry point; ``explanation`` arranges the sentences with the figures.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from webhook.explain.keynames import KeyNames
from webhook.explain.scenario import Scenario
from webhook.policy.advice.findings import count_of, join_names
from webhook.policy.placement.filters.nodefilters import TAINT
from webhook.policy.placement.filters.run import LAST
from webhook.policy.placement.nodes import (
    NodeRejection,
    RejectionReason,
    admits_node,
    find_untolerated,
    render_taint,
)
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.tallies import MinimumReason, PodTally

_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}


def domain_name(value: str) -> str:
    """Return the value of a topology key, or a word for nodes that lack the key."""
    return value or "(none)"


def summarize(scenario: Scenario, placement: PodPlacement, runs_on: str) -> str:
    """
    Summarize where a pod can go, or the main reason why it cannot be placed.

    ``runs_on`` is the node that the pod runs on; empty if it does not run.
    """
    nodes, passing = len(scenario.topology.nodes), len(placement.passing)
    runs = f"runs on {runs_on}"
    if nodes and runs_on not in placement.statuses:
        runs = f"is bound to node {runs_on}, which does not exist"
    if not passing:
        failure = (
            f"cannot be placed{' anew' if runs_on else ''}: {_explain_failure(scenario, placement)}"
        )
        return f"{runs}; it {failure}" if runs_on else failure
    can = f"can be placed{' anew' if runs_on else ''} on {passing} of {count_of(nodes, 'node')}"
    if placement.scores is not None and len(placement.best) < passing:
        can += f"; spreading prefers {join_names(placement.best)}"
    if not runs_on:
        return can
    is_kept = runs_on in placement.passing or runs_on not in placement.statuses
    return f"{runs}; it {can}{'' if is_kept else f', but not on {runs_on} again'}"


def rejection_reason(node: str, scenario: Scenario, placement: PodPlacement) -> str:
    """Explain why the first filter that rejects a node does so; empty if none does."""
    rejection, status = placement.refused.get(node), placement.statuses[node]
    if rejection is not None and (status.spread is None or rejection.plugin != LAST):
        return _describe_refusal(node, scenario, placement)
    if status.spread is None:
        return ""
    key = status.spread.topology_key
    if status.skew is None:
        return render_rejection(NodeRejection(RejectionReason.MISSING_KEY, key))
    name = scenario.names.short(key)
    return f"{name}: skew {status.skew} > maxSkew {status.spread.max_skew}"


def _describe_refusal(node: str, scenario: Scenario, placement: PodPlacement) -> str:
    """Describe why a filter besides the constraints rejects a node, with the taint if it is one."""
    rejection, demands = placement.refused[node], scenario.pod.demands
    if rejection.plugin == TAINT.plugin:
        taint = find_untolerated(scenario.cluster.nodes[node].taints, demands.tolerations or ())
        about = render_taint(taint) if taint else ""
        return render_rejection(NodeRejection(RejectionReason.TAINT, about))
    nominated = scenario.cluster.nominated.get(node, ())
    counting = f", with {count_of(len(nominated), 'nominated pod')}" if nominated else ""
    return " and ".join(rejection.reasons) + counting


def render_rejection(rejection: NodeRejection) -> str:
    """Format a rejection with its topology key or taint."""
    return f"{rejection.reason} {rejection.about}".rstrip()


def explain_minimum(tally: PodTally, names: KeyNames) -> str:
    """Explain why the global minimum is what it is; ``names`` are those of label keys."""
    sizes, pods = tally.domains.sizes, tally.pods
    least = tuple(domain_name(one) for one in sizes if pods.get(one, 0) == tally.minimum)
    match tally.minimum_reason:
        case MinimumReason.NO_DOMAIN:
            return f"no node counts for {names.short(tally.spread.topology_key)}"
        case MinimumReason.TOO_FEW_DOMAINS:
            return f"minDomains {tally.spread.min_domains}, found {len(sizes)}"
        case MinimumReason.EMPTY_DOMAIN:
            return f"no pod in {join_names(least)}"
        case _:
            return f"fewest pods in {join_names(least)}"


def _explain_failure(scenario: Scenario, placement: PodPlacement) -> str:
    nodes = scenario.topology.nodes
    if not nodes:
        return "there is no node"
    rejection = placement.others.pod_rejection
    if rejection is not None:
        return f"no node takes it: {' and '.join(rejection.reasons)}"
    refused = {name: _describe_refusal(name, scenario, placement) for name in placement.refused}
    if len(refused) == len(nodes):
        return f"no node takes it: {_count_reasons(refused.values())}"
    hard = placement.tallies.hard
    for tally in hard:
        if not any(map(tally.fits, tally.domains.sizes)):
            return _explain_closed(tally, scenario.names)
    for tally in hard:
        fitting = set(filter(tally.fits, tally.domains.sizes))
        inside = [node for node in nodes if node.labels.get(tally.spread.topology_key) in fitting]
        found = [refused[node.name] for node in inside if node.name in refused]
        if inside and len(found) == len(inside):
            allowed = _describe_allowed(tally, scenario.names)
            return f"{allowed}, where no node takes it: {_count_reasons(found)}"
    allowing = "; ".join(_describe_allowed(tally, scenario.names) for tally in hard)
    return f"{allowing}; {_explain_together(scenario, placement, refused)}"


def _explain_together(
    scenario: Scenario, placement: PodPlacement, refused: Mapping[str, str]
) -> str:
    """Explain why no node takes a pod that every constraint allows on some node."""
    names = tuple(
        node.name
        for node in scenario.topology.nodes
        if placement.statuses[node.name].passes and admits_node(scenario.pod.demands, node)
    )
    if not names:
        return "no node satisfies all of them"
    hard = placement.tallies.hard
    if all(any(name in tally.domains.left_out for tally in hard) for name in names):
        # The domains above are those of nodes that count; the others satisfy a constraint, too.
        verbs = "does not count, and rejects" if len(names) == 1 else "do not count, and reject"
        reasons = _count_reasons(refused[name] for name in names)
        return (
            f"no node that counts satisfies all of them; {join_names(names)} {verbs} it: {reasons}"
        )
    verbs = "satisfies all of them, and rejects" if len(names) == 1 else "satisfy all, and reject"
    reasons = _count_reasons(refused[name] for name in names)
    return f"only {join_names(names)} {verbs} it: {reasons}"


def _explain_closed(tally: PodTally, names: KeyNames) -> str:
    name, found = (
        names.short(tally.spread.topology_key),
        tuple(map(domain_name, sorted(tally.domains.sizes))),
    )
    if not found:
        left_out = map(render_rejection, tally.domains.left_out.values())
        return f"no node counts for {name}: {_count_reasons(left_out)}"
    ordinal = _ORDINALS.get(len(found) + 1)
    missing = f"a {ordinal} domain" if ordinal else "one more domain"
    there = f"{len(found)}: {join_names(found, most=6)}"
    return f"{name} needs {missing} (minDomains {tally.spread.min_domains}, found {there})"


def _describe_allowed(tally: PodTally, names: KeyNames) -> str:
    fitting = tuple(map(domain_name, sorted(filter(tally.fits, tally.domains.sizes))))
    name = names.short(tally.spread.topology_key)
    only = "only " if len(fitting) < len(tally.domains.sizes) else ""
    return f"{name} (maxSkew {tally.spread.max_skew}) allows {only}{join_names(fitting)}"


def _count_reasons(found: Iterable[str]) -> str:
    """Count reasons, the most frequent first: ``3 node(s) were unschedulable``."""
    return ", ".join(f"{number} {reason}" for reason, number in Counter(found).most_common())
