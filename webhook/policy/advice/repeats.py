"""
Suggestions that repeat no other constraint: what makes a constraint soft, or corrects its key.

kube-apiserver refuses two constraints with the same topologyKey and whenUnsatisfiable (TSC004).
Where the suggested value would make a constraint repeat another one, it is to be removed instead.
"""

from collections.abc import Iterable

from webhook.policy.advice.findings import quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.model import SCHEDULE_ANYWAY, UNSATISFIABLE_ACTIONS, Constraint


def find_actions(key: str, entries: Iterable[tuple[int, Constraint]]) -> dict[str, int]:
    """Map whenUnsatisfiable of every constraint with a topology key to its index."""
    return {one.when_unsatisfiable: index for index, one in entries if one.topology_key == key}


def suggest_soft(constraint: Constraint, subject: Subject) -> str:
    """
    Suggest what makes a hard constraint of a subject soft.

    Returns:
        YAML, without minDomains, which a soft constraint must not have; a comment if another
        constraint is soft over the same key already, or may be.
    """
    key, action = constraint.topology_key, SCHEDULE_ANYWAY
    found = find_actions(key, enumerate(subject.pod.constraints))
    if action in found:
        other = _name(found[action])
        return f"# remove this constraint: {other} already spreads softly over {quote_value(key)}"
    if obstacle := describe_repeated(key, action, subject):
        return f"# {obstacle}"
    soft = member("whenUnsatisfiable", action)
    return soft if constraint.min_domains is None else f"{soft}\n{member('minDomains', None)}"


def describe_repeated(key: str, action: str, subject: Subject) -> str:
    """
    Describe what to do with an entry that would repeat another one with this key and action.

    Returns:
        Empty if it certainly repeats none.
    """
    found = find_actions(key, enumerate(subject.pod.constraints))
    if action in found:
        return f"remove this entry: it repeats {_name(found[action])}"
    unclear = (
        index for other, index in found.items() if not {action, other} <= {*UNSATISFIABLE_ACTIONS}
    )
    if (index := next(unclear, None)) is not None:
        return f"correct whenUnsatisfiable first: {_name(index)} has {member('topologyKey', key)}"
    return ""


def _name(index: int) -> str:
    return f"topologySpreadConstraints[{index}]"
