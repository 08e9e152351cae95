"""
Rules about single fields, TSC107, TSC111 and TSC117.

They are about matchLabelKeys and fields behind gates. They judge the object and the feature gates
alone; of the cluster, only its StorageClasses change what TSC117 suggests. Which labels controllers
add is the subject of ``policy.podlabels``.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.countedgroups import is_unique
from webhook.policy.advice.counting import counts_itself, list_revision_keys, may_add
from webhook.policy.advice.findings import RuleViolation, clip
from webhook.policy.advice.flow import member
from webhook.policy.advice.nearestkey import KEY_CHARACTERS, KEY_SIMILARITY, nearest_key
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.volumes import volumes_return
from webhook.policy.api import fieldgates
from webhook.policy.api.gates import Gate
from webhook.policy.kinds import DEPLOYMENT, DEPLOYMENT_CONFIG, ROLLOUT
from webhook.policy.model import IGNORE, Constraint
from webhook.policy.podlabels import (
    ADDED_LABELS,
    REVISION_KEYS,
    ROLLOUT_HASH,
    added_keys,
    may_carry,
    revision_key,
)
from webhook.policy.selectors import compared_keys, selected_keys

JUDGED_KEYS = 16  # matchLabelKeys of a constraint; real ones have one or two
MOST_SEARCHES = 2  # keys of a constraint for which a similar label is searched, 1 ms each
COMPARED_LABELS = 16  # labels of a pod that a key is compared with; real pods have ten

SURGING = frozenset({DEPLOYMENT, DEPLOYMENT_CONFIG, ROLLOUT})
"""Kinds that run pods of two revisions beside each other during a rollout."""


def revisions_count_apart(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC107: a rollout places new pods around the old ones, and may leave them uneven.

    Without additional pods, each new one takes the place of an old one that is gone.
    """
    if (
        subject.pods_kind not in SURGING
        or subject.is_alone
        or subject.is_bound
        or not subject.surges
    ):
        return
    if Gate.MATCH_LABEL_KEYS not in context.gates:
        return  # the fix is not available
    revision = revision_key(subject.pods_kind)
    for i, constraint in enumerate(subject.constraints):
        if not counts_revisions_together(constraint, subject):
            continue
        if counts_itself(constraint, subject, context.gates):
            yield RuleViolation(
                subject.field(i, "matchLabelKeys"),
                f"{revision} is compared neither here nor by labelSelector: while a new revision "
                "is rolled out, its pods are counted together with the old ones, and may be uneven "
                "once those are gone",
                suggest_revision(constraint, subject),
                f"without {revision} a rollout counts old and new pods together",
            )


def suggest_revision(constraint: Constraint, subject: Subject) -> str:
    """Suggest matchLabelKeys that count each revision apart; labelSelector must not have them."""
    own, selecting = correct_keys(constraint, subject), selected_keys(constraint.label_selector)
    keys = [key for key in dict.fromkeys(own) if key and key not in selecting]  # as TSC008 wants
    missing = [key for key in list_revision_keys(subject) if key not in keys]
    selected = selecting.intersection(missing)
    if selected:
        return f"# move {', '.join(sorted(selected))} from labelSelector to matchLabelKeys"
    return member("matchLabelKeys", [*keys, *missing])


def counts_revisions_together(constraint: Constraint, subject: Subject) -> bool:
    """Whether a rollout places pods of a new revision around the old ones."""
    if subject.pods_kind not in SURGING or subject.recreates:
        return False
    return not compares_revisions(constraint, subject)


def compares_revisions(constraint: Constraint, subject: Subject) -> bool:
    """Whether a constraint counts the pods of each revision apart from those of others."""
    known = compared_keys(constraint.label_selector).union(correct_keys(constraint, subject))
    return not known.isdisjoint((revision_key(subject.pods_kind), ROLLOUT_HASH))


def fields_are_in_force(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC111: Kubernetes silently drops fields of new objects whose feature gate is off."""
    for drop in fieldgates.drop_disabled_fields(subject.constraints, None, context.gates).drops:
        at = subject.list_path if drop.entry is None else subject.field(drop.entry, drop.field)
        yield RuleViolation(
            at,
            f"it has no effect, since {fieldgates.explain_disabled_gate(drop.gate, context.gates)}",
            f"# leave {drop.field or 'it'} out",
            f"no effect, feature gate {drop.gate} is off",
        )


def pods_carry_keys(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC117: kube-scheduler ignores a key in matchLabelKeys that is no label of the pod.

    With a key that differs for every pod, the constraint counts no other pod.
    """
    for i, constraint in enumerate(subject.constraints):
        if not constraint.match_label_keys:
            continue  # most workloads
        intended = correct_keys(constraint, subject)
        corrected = propose_keys(constraint, subject, context)
        for j, key in enumerate(constraint.match_label_keys):
            meant, written = intended[j], corrected[j]
            if meant == key:
                continue
            named = clip(key, KEY_CHARACTERS)
            if is_unique(key, subject):
                yield RuleViolation(
                    subject.field(i, f"matchLabelKeys[{j}]"),
                    f"{named} has another value on each of its pods: every pod counts only itself, "
                    "and the constraint spreads nothing",
                    suggest_keys(corrected),
                    f"by {named} every pod counts only itself",
                )
                continue
            carried = f"; they carry {meant}" if meant else ""
            if meant != written:
                carried += ", but with it a rollout may have no place for a pod on the nodes that "
                carried += "can access its volume"
            brief = f"its pods carry {written}" if written else "its pods never carry it"
            yield RuleViolation(
                subject.field(i, f"matchLabelKeys[{j}]"),
                f"its pods never carry {named}, so kube-scheduler ignores it{carried}",
                suggest_keys(corrected),
                f"matchLabelKeys names {named}; {brief}",
            )


LEAVE_OUT_KEYS = "# leave matchLabelKeys out"
"""What to do about matchLabelKeys of which no key is to be kept."""


def suggest_keys(corrected: list[str]) -> str:
    """Suggest matchLabelKeys; empty keys stand for nothing."""
    keys = [key for key in corrected if key]
    return member("matchLabelKeys", keys) if keys else LEAVE_OUT_KEYS


def correct_keys(constraint: Constraint, subject: Subject) -> list[str]:
    """
    Correct the matchLabelKeys of a constraint.

    Returns:
        A key for each of them, in order. A key that the pods never carry is replaced by the one
        that it was probably meant to be; it is empty if that is unknown, or there already.
    """
    if not constraint.match_label_keys:
        return []  # most constraints
    known = _known_keys(constraint, subject)
    taken = {*selected_keys(constraint.label_selector), *known}
    corrected: list[str] = []
    searches = MOST_SEARCHES
    for key, kept in zip(constraint.match_label_keys, known, strict=True):
        meant = kept
        if not kept and searches and not is_unique(key, subject):
            searches -= 1
            found = _find_meant(key, subject)
            meant = "" if found in taken else found
        corrected.append(meant)
        taken.add(meant)
    return corrected


def propose_keys(constraint: Constraint, subject: Subject, context: AdviceContext) -> list[str]:
    """
    Correct the matchLabelKeys of a constraint, unless a rollout would then leave pods Pending.

    Pods that return to the nodes that can access their volumes fit there beside the other pods,
    and so does each pod of a DaemonSet on its node. Those of their revision alone may be uneven:
    then no label of a revision replaces a key without effect, and leaving the key out changes
    nothing. Where affinity is honored, only the node of a DaemonSet's pod counts.

    Returns:
        A key for each of them, in order; empty if it is to be left out.
    """
    corrected = correct_keys(constraint, subject)
    counts_others = subject.is_daemon and constraint.node_affinity_policy == IGNORE
    if not counts_others and not volumes_return(constraint, subject, context.cluster):
        return corrected
    written = constraint.match_label_keys
    return [
        "" if meant != key and meant in REVISION_KEYS else meant
        for key, meant in zip(written, corrected, strict=True)
    ]


def _known_keys(constraint: Constraint, subject: Subject) -> list[str]:
    """Return each of the matchLabelKeys that the pods may carry, and an empty text for others."""
    keys = constraint.match_label_keys
    if subject.is_partial:
        return [*keys]
    creator = subject.creator
    # Until a Rollout has taken over, the Deployment with its template has pods of its own.
    both = creator is not None and revision_key(creator) in keys
    return [
        ""
        if is_unique(key, subject)
        or not (
            i >= JUDGED_KEYS or _may_carry(key, subject) or (both and may_carry(subject.kind, key))
        )
        else key
        for i, key in enumerate(keys)
    ]


def _may_carry(key: str, subject: Subject) -> bool:
    if key in subject.labels or any(key in group.pod.labels for group in subject.running):
        return True
    if subject.pods_kind not in ADDED_LABELS:
        return not subject.running  # the pods of an unknown controller show what it adds
    return may_add(subject, key) or (key == ROLLOUT_HASH and _may_have_rollout(subject))


def _may_have_rollout(subject: Subject) -> bool:
    """Whether a Rollout that is not known may create pods from the template of a Deployment."""
    return subject.kind == DEPLOYMENT and not subject.running and not subject.is_unreferred


def _find_meant(key: str, subject: Subject) -> str:
    """Find the label that a key, which the pods never carry, was meant to be; empty if unknown."""
    kinds = (subject.pods_kind, subject.kind) if subject.is_shared else (subject.pods_kind,)
    added = (key for kind in kinds for key in added_keys(kind))
    carried = {*subject.labels, *subject.next_labels, *added}
    meant = nearest_key(key, [*REVISION_KEYS, *islice(sorted(carried), COMPARED_LABELS)])
    if "/" in key and SequenceMatcher(None, key, meant).ratio() < KEY_SIMILARITY:
        return ""  # a label of another domain, although its name is alike
    if meant in carried or meant not in REVISION_KEYS:
        return meant
    shown = next((name for name in REVISION_KEYS if name in carried), "")
    return revision_key(subject.pods_kind) or shown
