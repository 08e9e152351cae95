"""
A configuration of kube-scheduler with the default constraints of profiles.

``export_scheduler`` is the entry point. kube-scheduler has one list of defaults for all pods of a
scheduler, so that only a profile without conditions on namespaces, labels and controllers fits.

Source: k8s.io/kube-scheduler config/v1 ``KubeSchedulerConfiguration``, ``PodTopologySpreadArgs``.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from webhook.export.exported import Export, Manifest, Omission
from webhook.policy import render
from webhook.policy.api import fieldgates
from webhook.policy.api.schedulerargs import (
    CONSTRAINTS,
    LIST_DEFAULTING,
    PLUGIN,
    SCHEDULER_GROUP,
    SCHEDULER_KIND,
    SYSTEM_DEFAULTING,
)
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.inject import DEFAULTING_GATES, SKIP_LABEL
from webhook.policy.defaulting.profiles import Merge, Mode, Policy, Profile, ScaleDown
from webhook.policy.selectors import SELECT_ALL

SCHEDULER_SINCE = Version(1, 25)  # the first one with kubescheduler.config.k8s.io/v1


def export_scheduler(policy: Policy) -> Export:
    """Export, for each scheduler, the first profile that fits all of its pods."""
    if not policy.gates.on.issuperset(DEFAULTING_GATES):
        off = ", ".join(sorted(gate for gate in DEFAULTING_GATES if gate not in policy.gates))
        return Export((), (Omission("feature gates", f"pods get no defaults without {off}"),))
    chosen = _choose_profiles(policy.profiles)
    omissions = [
        omission
        for profile in policy.profiles
        for omission in _describe_profile(profile, is_chosen=profile in chosen.values())
    ]
    if not chosen:
        return Export((), tuple(omissions))
    profiles = [_write_profile(name, profile, policy) for name, profile in chosen.items()]
    configuration = {
        "apiVersion": f"{SCHEDULER_GROUP}/v1",
        "kind": SCHEDULER_KIND,
        "profiles": profiles,
    }
    return Export((configuration,), (*omissions, *_describe_policy(policy)))


def _choose_profiles(profiles: Sequence[Profile]) -> dict[str, Profile]:
    """Choose the profile of each scheduler; none for one whose profiles all have conditions."""
    chosen: dict[str, Profile] = {}
    for profile in profiles:
        if not _has_conditions(profile):
            for name in sorted(profile.scheduler_names):
                chosen.setdefault(name, profile)
    return chosen


def _has_conditions(profile: Profile) -> bool:
    selectors = (profile.namespace_selector, profile.object_selector)
    return profile.owner_kinds is not None or any(
        selector not in (None, SELECT_ALL) for selector in selectors
    )


def _write_profile(name: str, profile: Profile, policy: Policy) -> Manifest:
    kept = fieldgates.drop_disabled_fields(profile.constraints, None, policy.gates).constraints
    constraints = [
        render.constraint(replace(constraint, match_label_keys=())) for constraint in kept
    ]
    if profile.system and constraints:
        args: Manifest = {"defaultingType": SYSTEM_DEFAULTING}
    else:
        args = {"defaultingType": LIST_DEFAULTING, CONSTRAINTS: constraints}
    return {"schedulerName": name, "pluginConfig": [{"name": PLUGIN, "args": args}]}


def _describe_profile(profile: Profile, *, is_chosen: bool) -> Iterator[Omission]:
    subject = f"profile {profile.name!r}"
    if not is_chosen:
        reason = "an earlier profile fits all pods of its schedulers"
        if _has_conditions(profile):
            reason = "kube-scheduler has the same defaults for all pods of a scheduler"
        yield Omission(subject, f"is left out: {reason}")
        return
    if profile.mode is Mode.RECOMMEND:
        yield Omission(subject, "mode recommend: the file applies the defaults")
    if profile.merge is Merge.PER_TOPOLOGY_KEY:
        yield Omission(subject, "merge: a pod with a constraint of its own gets no defaults")
    if any(constraint.match_label_keys for constraint in profile.constraints):
        yield Omission(subject, "matchLabelKeys: kube-scheduler ignores them in defaults")
    if profile.complete_selectors:
        yield Omission(subject, "completeSelectors: null selectors of a pod stay null")
    if profile.scale_down is ScaleDown.KEEP_SPREAD:
        yield Omission(subject, "scaleDown: kube-scheduler gives no ranks to pods")
    if not profile.gangs:
        yield Omission(subject, "gangs: pods of gangs get the defaults too")


def _describe_policy(policy: Policy) -> Iterator[Omission]:
    yield Omission(
        "other settings",
        "kube-scheduler runs only the profiles of its file: add each pluginConfig to the profile "
        "with this schedulerName in your file",
    )
    if policy.mode is Mode.RECOMMEND:
        yield Omission("mode recommend", "the file applies the defaults")
    if policy.exempt_namespaces:
        names = ", ".join(sorted(policy.exempt_namespaces))
        yield Omission("exempt namespaces", f"the pods of {names} get the defaults too")
    yield Omission("label", f"pods with {SKIP_LABEL} get the defaults too")
    yield Omission(
        "pods",
        "the defaults are not written into pods, so that the cluster autoscaler, Karpenter and the "
        "descheduler do not see them, and their selectors follow changes of Services",
    )
