"""
Exceptions from policies: objects that a namespace exempts from rules, or from default constraints.

``PolicyException`` is the value of a ``SpreadPolicyException``; ``find_exceptions`` and
``find_default_exception`` find the one that covers a pod. A selector selects by the labels of the
pods, as those of Services do, so that a workload and its pods have the same exceptions. Facts
contain only exceptions that have not expired: this module reads no clock.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import msgspec

from webhook.policy.model import LabelSelector
from webhook.policy.selectors import SELECT_ALL, matches

MOST_EXCEPTIONS = 100
"""
Exceptions of a namespace that count, the first ones by name, also expired ones.

Every review of a pod tries all of them, which takes 1.6 ms with the largest selectors.
"""


class PolicyException(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    An exception of a namespace.

    Attributes:
        rules: Ids of policy rules.
        defaults: Whether pods get nothing from their profile: no default constraints, no completed
            selectors and no label for scale-downs.
        selector: Selects pods, and workloads by the labels of their pod template; an empty one
            selects all of the namespace.
        reason: Why; not empty.
        expires: When the exception ends; aware. None if it does not.
    """

    namespace: str
    name: str
    reason: str
    rules: tuple[str, ...] = ()
    defaults: bool = False
    selector: LabelSelector = SELECT_ALL
    expires: datetime | None = None

    def is_expired(self, now: datetime) -> bool:
        """Whether the exception has ended; ``now`` is aware."""
        return self.expires is not None and self.expires <= now

    def covers(self, labels: Mapping[str, str]) -> bool:
        """Whether pods with these labels are selected."""
        return matches(self.selector, labels)


def find_exceptions(
    exceptions: Iterable[PolicyException],
    labels: Mapping[str, str],
    not_exemptible: Collection[str],
) -> dict[str, PolicyException]:
    """
    Find the exceptions from rules for pods with these labels.

    Args:
        exceptions: Those in force in the namespace, in order; of several, the first one counts.
        not_exemptible: Rules from which no exception has an effect.

    Returns:
        Id of a rule -> exception.
    """
    found: dict[str, PolicyException] = {}
    for exception in exceptions:
        if exception.rules and exception.covers(labels):
            for rule in exception.rules:
                if rule not in not_exemptible:
                    found.setdefault(rule, exception)
    return found


def find_default_exception(
    exceptions: Iterable[PolicyException], labels: Mapping[str, str]
) -> PolicyException | None:
    """Find the first exception that exempts pods with these labels from defaults, if one does."""
    return next((one for one in exceptions if one.defaults and one.covers(labels)), None)
