"""
Default constraints: which ones a new pod gets, and why it gets none.

Source: kube-scheduler plugins/podtopologyspread/common.go ``buildDefaultConstraints``; KEP-1258.
"""

from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.policy import render
from webhook.policy.api import fieldgates
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting import provenance
from webhook.policy.defaulting.profiles import ZONE, Merge, Policy, Profile
from webhook.policy.defaulting.provenance import Provenance
from webhook.policy.defaulting.selector import DerivedSelector, derive_selector
from webhook.policy.facts import Facts
from webhook.policy.model import MAX_CONSTRAINTS, Constraint, ObjectMeta, PodSpec, PodTemplate

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"  # core/v1 annotation_key_constants.go
SKIP_LABEL = "evenspread.io/skip"

CACHED_INJECTIONS = 512  # remembered, about 8 KiB each: the ReplicaSets that create pods at a time

_GATES = frozenset((Gate.DEFAULTS, Gate.EVEN_PODS_SPREAD))  # without both there are no defaults

Constraints: TypeAlias = tuple[Constraint, ...]

_decode_constraint = msgspec.json.Decoder(Constraint).decode


class SkipReason(StrEnum):
    """Why a pod gets no defaults; a label of ``evenspread_defaults_skipped_total``."""

    NONE = ""
    GATE_OFF = "gate-off"
    NO_SPEC = "no-spec"
    MIRROR_POD = "mirror-pod"
    BOUND = "bound"
    EXEMPT_NAMESPACE = "exempt-namespace"
    SKIP_LABEL = "skip-label"
    NO_PROFILE = "no-profile"
    OWN_CONSTRAINTS = "own-constraints"
    NOTHING_TO_ADD = "nothing-to-add"
    NO_SELECTOR = "no-selector"


class InjectedConstraint(msgspec.Struct, frozen=True, gc=False):
    """
    One constraint to inject.

    Attributes:
        constraint: The profile's, without the selector.
        written: As it shall stand in the pod, selector and all, in JSON.
        digest: By which it is recognised later.
    """

    constraint: Constraint
    written: msgspec.Raw
    digest: str


class Injection(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """
    What a pod's defaults should be.

    Told apart by identity: those of one ReplicaSet's pods are one object, by which verdicts and
    answers are remembered.

    Attributes:
        skip: Why there are none; NONE if there are some.
        profile: The name of the profile that decided; empty if none did.
        ours: Those of the pod's constraints that an earlier call injected: index -> digest.
        entries: What should stand there instead, at the end of the list.
        annotation: How to say so; empty if there is nothing to say.
        zone_left_out: Whether System's zone constraint was left out, since nodes lack zones.
        is_small: Whether what is made from it may be remembered.
    """

    skip: SkipReason
    profile: str = ""
    ours: dict[int, str] = msgspec.field(default_factory=dict[int, str])
    entries: tuple[InjectedConstraint, ...] = ()
    annotation: str = ""
    zone_left_out: bool = False
    is_small: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The topology keys of what is injected, in order."""
        return tuple(entry.constraint.topology_key for entry in self.entries)

    @property
    def is_in_place(self) -> bool:
        """Whether the pod has its defaults already, and needs no change."""
        return [*self.ours.values()] == [entry.digest for entry in self.entries]

    def applied_to(self, constraints: Constraints) -> Constraints:
        """Give the constraint list of the pod once its defaults are injected."""
        if self.is_in_place:
            return constraints
        others = (each for i, each in enumerate(constraints) if i not in self.ours)
        return (*others, *(_decode_constraint(entry.written) for entry in self.entries))


def is_mirror(pod: PodTemplate) -> bool:
    """Whether a Pod stands for one that a kubelet runs from a file, and that nobody can change."""
    return pod.metadata is not None and MIRROR_ANNOTATION in pod.metadata.annotations


def reason_to_leave_alone(pod: PodTemplate, namespace: str, policy: Policy) -> SkipReason:
    """Why a pod's constraints are not ours to change, whatever the profiles say."""
    if not policy.gates.on.issuperset(_GATES):
        return SkipReason.GATE_OFF
    if namespace in policy.exempt_namespaces:
        return SkipReason.EXEMPT_NAMESPACE
    if pod.spec is None or pod.metadata is None:
        return SkipReason.NO_SPEC
    return _mark(pod.metadata, pod.spec)


def _mark(metadata: ObjectMeta, spec: PodSpec) -> SkipReason:
    if MIRROR_ANNOTATION in metadata.annotations:
        return SkipReason.MIRROR_POD
    if spec.node_name:
        return SkipReason.BOUND
    return SkipReason.SKIP_LABEL if metadata.labels.get(SKIP_LABEL) == "true" else SkipReason.NONE


def profile_of(pod: PodTemplate, namespace: str, policy: Policy, facts: Facts) -> Profile | None:
    """The first profile that fits a pod."""
    for profile in policy.profiles:
        if profile.fits(pod) and (
            profile.namespace_selector is None
            or profile.fits_namespace(facts.namespace_labels(namespace))
        ):
            return profile
    return None


def complete_selectors(
    constraints: Constraints, pod: PodTemplate, namespace: str, facts: Facts
) -> Constraints:
    """
    Fill in the null selectors of a pod's own constraints, never an empty one.

    One whose matchLabelKeys would then name a selected key is left as it is: the API server of
    some versions refuses such a pair, and the keys are not ours to change.
    """
    derived = derive_selector(pod, namespace, facts)
    if derived is None:
        return constraints
    pinned = derived.keys
    return tuple(
        constraint
        if constraint.label_selector is not None or pinned.intersection(constraint.match_label_keys)
        else replace(constraint, label_selector=derived.selector)
        for constraint in constraints
    )


def inject(pod: PodTemplate, namespace: str, policy: Policy, facts: Facts) -> Injection:
    """
    Decide a new pod's default constraints.

    Args:
        pod: The pod as it stands after everything else was done to it.
        namespace: Where it is created.
        policy: The profiles and gates in force.
        facts: The cluster as it is known.
    """
    skip = reason_to_leave_alone(pod, namespace, policy)
    if skip or pod.metadata is None:
        return _none(skip)
    annotation = pod.metadata.annotations.get(provenance.DEFAULTS_ANNOTATION)
    ours = provenance.recognize_constraints(annotation, pod.constraints)
    if not ours:
        return _beside(pod.constraints, pod, namespace, policy, facts)
    others = tuple(each for i, each in enumerate(pod.constraints) if i not in ours)
    return replace(_beside(others, pod, namespace, policy, facts), ours=ours)


def _beside(
    others: Constraints, pod: PodTemplate, namespace: str, policy: Policy, facts: Facts
) -> Injection:
    """Decide the defaults of a pod that has these constraints of its own."""
    profile = profile_of(pod, namespace, policy, facts)
    if profile is None:
        return _none(SkipReason.NO_PROFILE)
    if profile.system and Gate.DEFAULT_POD_TOPOLOGY_SPREAD not in policy.gates:
        return _none(SkipReason.GATE_OFF, profile.name)
    wanted = _wanted(profile, others)
    if not wanted:
        return _none(
            SkipReason.OWN_CONSTRAINTS if others else SkipReason.NOTHING_TO_ADD, profile.name
        )
    derived = derive_selector(pod, namespace, facts)
    if derived is None:
        return _none(SkipReason.NO_SELECTOR, profile.name)
    spared = profile.system and _lacks_zones(wanted, facts)
    if spared:
        wanted = tuple(each for each in wanted if each.topology_key != ZONE)
    kept = fieldgates.drop_disabled_fields(wanted, None, policy.gates).constraints
    make = _some if derived.is_small else _some.__wrapped__
    return make(profile.name, kept, derived, spared)


@lru_cache(CACHED_INJECTIONS)
def _none(skip: SkipReason, profile: str = "") -> Injection:
    return Injection(skip=skip, profile=profile)


def _lacks_zones(wanted: Constraints, facts: Facts) -> bool:
    """
    Whether System's zone constraint must be left out.

    An explicit constraint makes nodes without the label score last; the scheduler's own System
    defaults do not, so there must be none while any schedulable node lacks it.
    """
    return facts.nodes_with(ZONE) < facts.schedulable_nodes() and any(
        each.topology_key == ZONE for each in wanted
    )


def _wanted(profile: Profile, others: Constraints) -> Constraints:
    if not others:
        return profile.constraints
    if profile.merge is Merge.IF_EMPTY:
        return ()
    mentioned = {constraint.topology_key for constraint in others}
    wanted = tuple(each for each in profile.constraints if each.topology_key not in mentioned)
    # A longer list would be denied by our own validating hook, though its author did no wrong.
    return wanted if len(others) + len(wanted) <= MAX_CONSTRAINTS else ()


@lru_cache(CACHED_INJECTIONS)
def _some(profile: str, wanted: Constraints, derived: DerivedSelector, spared: bool) -> Injection:  # noqa: FBT001
    """
    The defaults for one derived selector.

    Remembered, since the pods of a ReplicaSet come in numbers and differ in nothing that counts.
    """
    selector = render.encode(render.selector(derived.selector)) + b"}"
    entries = tuple(_entry(_unpinned(each, derived), selector) for each in wanted)
    keys = tuple(entry.constraint.topology_key for entry in entries)
    digests = ",".join(entry.digest for entry in entries)
    told = Provenance(profile, derived.sources, keys, digests)
    return Injection(
        skip=SkipReason.NONE if entries else SkipReason.NOTHING_TO_ADD,
        profile=profile,
        entries=entries,
        annotation=render.encode(told).decode() if entries else "",
        zone_left_out=spared,
        is_small=derived.is_small,
    )


def _unpinned(constraint: Constraint, derived: DerivedSelector) -> Constraint:
    """Without the matchLabelKeys that the selector says something about already."""
    if not constraint.match_label_keys:
        return constraint
    keys = tuple(key for key in constraint.match_label_keys if key not in derived.keys)
    return replace(constraint, match_label_keys=keys)


def _entry(constraint: Constraint, selector: bytes) -> InjectedConstraint:
    written = render.opening(constraint) + selector
    return InjectedConstraint(constraint, msgspec.Raw(written), provenance.digest(written))
