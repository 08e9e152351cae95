"""
The default constraints of a profile that running pods have, and their replacements get.

``list_defaults`` is the entry point. The constraints are not in the object: the mutating webhook
adds them to its pods. A pod whose defaults are missing or outdated is the subject of TSC115.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.fields import counts_revisions_together
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.inject import inject
from webhook.policy.model import Constraint, PodTemplate
from webhook.policy.selectors import merge_match_label_keys


class GivenDefaults(NamedTuple):
    """
    The defaults of some pods, as they have them.

    Attributes:
        constraints: The constraints; empty if the pods have none.
        profile: The name of the profile; empty without constraints.
    """

    constraints: tuple[Constraint, ...] = ()
    profile: str = ""


NOTHING_GIVEN = GivenDefaults()


def list_defaults(
    groups: Iterable[RunningPods], subject: Subject, context: AdviceContext
) -> list[GivenDefaults]:
    """
    List the defaults of running pods that are not in the object.

    Args:
        groups: Pods of the subject.

    Returns:
        One for each group. All are empty if some pods lack what they would get if they were created
        now, since these do not return with the constraints that they have.
    """
    found = [_find_defaults(group, subject, context) for group in groups]
    return found if all(one.constraints for one in found) else [NOTHING_GIVEN] * len(found)


def _find_defaults(group: RunningPods, subject: Subject, context: AdviceContext) -> GivenDefaults:
    pod, own = group.pod, subject.pod.constraints
    if pod.spec is None or not context.policy.profiles:
        return NOTHING_GIVEN
    spec = replace(pod.spec, node_name="", topology_spread_constraints=own)
    created = PodTemplate(pod.metadata, spec)
    injection = inject(created, subject.namespace, context.policy, context.facts)
    if injection.recommended or injection.previous:
        return NOTHING_GIVEN
    expected = injection.applied_to(own)[len(own) :]
    merged = merge_match_label_keys(expected, pod.labels)
    carried = [
        one for pair in zip(expected, merged, strict=True) for one in pod.constraints if one in pair
    ]
    # A Deployment's default counts revisions together only if its ReplicaSet was not known.
    if len(carried) < len(expected) or any(
        counts_revisions_together(one, subject) for one in carried
    ):
        return NOTHING_GIVEN
    return GivenDefaults(tuple(carried), injection.profile)
