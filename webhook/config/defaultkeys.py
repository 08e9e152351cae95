"""
Find matchLabelKeys of profiles that are labels of none of their pods.

``find_absent_keys`` is the entry point. kube-scheduler and kube-apiserver ignore such a key, and
the constraint counts the pods of all revisions. Only labels by which controllers distinguish
revisions are judged: any other label can be in the template of a workload.
"""

from collections.abc import Iterator
from difflib import get_close_matches

from webhook.policy.advice.nearestkey import KEY_CHARACTERS, KEY_SIMILARITY
from webhook.policy.defaulting.forecast import POD_CONTROLLERS
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.podlabels import ADDED_LABELS, REVISION_KEYS, revision_key
from webhook.policy.selectors import selected_keys


def find_absent_keys(policy: Policy) -> list[str]:
    """Describe the keys, each in a sentence without a final full stop."""
    return [sentence for profile in policy.profiles for sentence in _judge_profile(profile)]


def _judge_profile(profile: Profile) -> Iterator[str]:
    """Describe the keys of a profile, each of which is judged once."""
    selected = selected_keys(profile.object_selector)
    keys = {key for constraint in profile.constraints for key in constraint.match_label_keys}
    problems = {key: tuple(_find_problems(key, profile)) for key in keys - selected}
    for constraint in profile.constraints:
        for key in constraint.match_label_keys:
            for problem in problems.get(key, ()):
                yield (
                    f"profile {profile.name!r}: matchLabelKeys of the default on "
                    f"{constraint.topology_key}: {problem}"
                )


def _find_problems(key: str, profile: Profile) -> Iterator[str]:
    if key not in REVISION_KEYS:
        for meant in get_close_matches(key[:KEY_CHARACTERS], REVISION_KEYS, 1, KEY_SIMILARITY):
            yield f"no controller adds {key} to pods: did you mean {meant}?"
        return
    owners = sorted(profile.owner_kinds or ())
    created = [list(_list_workloads(owner)) for owner in owners]
    if not all(created):
        return  # pods of any owner, or of one whose controller is unknown
    workloads = [kind for kinds in created for kind in kinds]
    if workloads and not any(key in ADDED_LABELS[kind].keys for kind in workloads):
        built_in = (revision_key(kind) for kind in workloads if kind in BUILT_IN_TEMPLATES)
        meant = next(filter(None, built_in), "")
        yield (
            f"pods of a {' or '.join(owners)} never carry {key}, so kube-scheduler ignores it: "
            f"{f'write {meant}' if meant else 'leave it out'}"
        )


def _list_workloads(owner: str) -> Iterator[GroupKind]:
    """List the kinds of workloads whose pods have a controller of this kind."""
    for kind in ADDED_LABELS:
        row = POD_CONTROLLERS.get(kind)
        if owner == (row.kind if row else kind.kind):
            yield kind
