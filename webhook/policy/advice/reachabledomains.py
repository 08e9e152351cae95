"""
The domains that pods can reach, by the indexes of admission, which do not know single nodes.

Requirements of nodes about other labels than the topology key are not looked at.
"""

from collections.abc import Collection, Iterator

from webhook.policy.facts import Facts
from webhook.policy.model import Taint
from webhook.policy.placement.allowedvalues import find_allowed
from webhook.policy.placement.nodes import Demands, find_untolerated


def count_reachable(key: str, demands: Demands, facts: Facts) -> int:
    """Count the domains of a topology key that pods can reach: the most there can be."""
    allowed = find_allowed(key, demands)
    tainted = (values for values, _ in list_tainted(key, demands, facts))
    return allowed.count(facts.domains(key)) - sum(map(allowed.count, tainted))


def list_tainted(
    key: str, demands: Demands, facts: Facts
) -> Iterator[tuple[Collection[str], Taint]]:
    """List the domains whose taints a pod does not tolerate, with one of these taints."""
    if demands.tolerations is None:
        return
    for domains in facts.tainted_domains(key):
        # A domain is closed if the pod tolerates none of the sets of taints that its nodes have.
        taints = [find_untolerated(one, demands.tolerations) for one in domains.taints]
        if taints[0] is not None and None not in taints:
            yield domains.values, taints[0]
