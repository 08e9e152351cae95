"""
What exceptions can exempt from, by the profiles of the objects that they select.

``ExemptibleScopes`` is the entry point. With ``exemptible: false`` of a rule, or of a profile, an
exception has no effect; profiles differ, and so do the objects that an exception selects.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from webhook.audit.exemptionreport import FROM_DEFAULTS
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.profilerules import find_profile
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.policyexceptions import PolicyException


class _ProfiledSubject(NamedTuple):
    subject: Subject
    profile: Profile | None


class ExemptibleScopes:
    """The rules, and ``FROM_DEFAULTS``, from which exceptions can exempt some object."""

    def __init__(
        self,
        subjects: Iterable[Subject],
        context: AdviceContext,
        exceptions: Iterable[PolicyException],
    ) -> None:
        """
        Find the profile of each subject that an exception may select.

        Args:
            subjects: All objects of the namespaces of the exceptions.
        """
        namespaces = {exception.namespace for exception in exceptions}
        self._policy = context.policy
        self._subjects: dict[str, list[_ProfiledSubject]] = defaultdict(list)
        for subject in subjects:
            if subject.namespace in namespaces:
                found = _ProfiledSubject(subject, find_profile(context, subject))
                self._subjects[subject.namespace].append(found)

    def can_exempt(self, exception: PolicyException, scope: str) -> bool:
        """Whether an exception can have an effect; that of one without objects may have later."""
        answers = list(self._judge(exception, scope))
        return any(answers) if answers else _is_exemptible(self._policy, scope)

    def _judge(self, exception: PolicyException, scope: str) -> Iterator[bool]:
        """Yield for each object that it selects whether it can exempt the object."""
        for subject, profile in self._subjects[exception.namespace]:
            if not exception.covers(subject.labels):
                continue
            if scope != FROM_DEFAULTS:
                configured = scope not in self._policy.not_exemptible
                yield profile.exemptible.get(scope, configured) if profile else configured
            elif profile is not None:
                yield profile.allows_exceptions


def _is_exemptible(policy: Policy, scope: str) -> bool:
    """Whether an exception can have an effect for any object."""
    if scope == FROM_DEFAULTS:  # without profiles, they are no restriction
        return not policy.profiles or policy.has_exemptible_defaults
    return policy.is_exemptible(scope)
