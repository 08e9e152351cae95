"""
Default constraints of new pods: which ones a pod gets, or why it gets none.

``inject`` is the entry point. It reads the pod and the facts and changes nothing; ``policy.patch``
turns its result into a patch.

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
from webhook.policy.defaulting.profiles import Merge, Mode, Policy, Profile, ScaleDown
from webhook.policy.defaulting.provenance import Provenance
from webhook.policy.defaulting.selector import DerivedSelector, derive_selector
from webhook.policy.facts import Facts
from webhook.policy.gangs import gang_field
from webhook.policy.model import MAX_CONSTRAINTS, ZONE, Constraint, PodTemplate
from webhook.policy.policyexceptions import PolicyException, find_default_exception

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"  # core/v1 annotation_key_constants.go
SKIP_LABEL = "evenspread.io/skip"

CACHED_INJECTIONS = 512  # of about 8 KiB each: the ReplicaSets that create pods at one time

DEFAULTING_GATES = frozenset((Gate.DEFAULTS, Gate.EVEN_PODS_SPREAD))  # no defaults without both

Constraints: TypeAlias = tuple[Constraint, ...]

_Source: TypeAlias = tuple[str, ScaleDown, Mode]
"""The name of a profile, and what it does to pods besides its defaults; a key of caches."""

_NO_PROFILE: _Source = ("", ScaleDown.NONE, Mode.APPLY)

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
    EXCEPTION = "exception"
    GANG = "gang"
    OWN_CONSTRAINTS = "own-constraints"
    NOTHING_TO_ADD = "nothing-to-add"
    NO_SELECTOR = "no-selector"


class InjectedConstraint(msgspec.Struct, frozen=True, gc=False):
    """
    One constraint to inject.

    Attributes:
        constraint: The constraint of the profile, without a selector.
        written: The JSON of the constraint with its selector, as the pod gets it.
        digest: Identifies the constraint in later calls.
    """

    constraint: Constraint
    written: msgspec.Raw
    digest: str


class Injection(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """
    The default constraints of a pod.

    Injections compare by identity: the pods of one ReplicaSet share one, by which verdicts and
    encoded responses are cached.

    Attributes:
        skip: Why there are no defaults; NONE if there are some.
        profile: The name of the profile that applies; empty if none does.
        previous: The pod's constraints that an earlier call injected: index -> digest.
        entries: The constraints that replace them, at the end of the list.
        keys: Their topology keys, in order.
        annotation: The value of the defaults annotation; empty if nothing is injected.
        zone_left_out: Whether System's zone constraint is omitted because nodes lack zones.
        keeps_spread: Whether the profile labels pods so that a scale-down keeps their spread.
        recommended: Whether the policy, or the profile, only recommends the defaults and the label.
        is_small: Whether results built from this injection may be cached.
        exception: Name of the SpreadPolicyException for which there are no defaults, if that is
            why; otherwise empty.
    """

    skip: SkipReason
    profile: str = ""
    previous: dict[int, str] = msgspec.field(default_factory=dict[int, str])
    entries: tuple[InjectedConstraint, ...] = ()
    keys: tuple[str, ...] = ()
    annotation: str = ""
    zone_left_out: bool = False
    keeps_spread: bool = False
    recommended: bool = False
    is_small: bool = True
    exception: str = ""

    @property
    def is_in_place(self) -> bool:
        """Whether the pod already has its defaults and needs no change."""
        return [*self.previous.values()] == [entry.digest for entry in self.entries]

    def ranks(self, constraints: Constraints) -> bool:
        """Whether the profile ranks a pod with these constraints: it has some in the end."""
        return self.keeps_spread and (bool(self.entries) or len(constraints) > len(self.previous))

    def applied_to(self, constraints: Constraints) -> Constraints:
        """Build the constraint list of the pod after the injection."""
        if self.is_in_place:
            return constraints
        kept = (constraint for i, constraint in enumerate(constraints) if i not in self.previous)
        return (*kept, *(_decode_constraint(entry.written) for entry in self.entries))


def is_mirror(pod: PodTemplate) -> bool:
    """Whether a Pod represents a static pod of a kubelet, which the API server cannot change."""
    return pod.metadata is not None and MIRROR_ANNOTATION in pod.metadata.annotations


def reason_to_leave_alone(pod: PodTemplate, namespace: str, policy: Policy) -> SkipReason:
    """Find why the constraints of a pod must not be changed, regardless of the profiles."""
    if not policy.gates.on.issuperset(DEFAULTING_GATES):
        return SkipReason.GATE_OFF
    if namespace in policy.exempt_namespaces:
        return SkipReason.EXEMPT_NAMESPACE
    if pod.spec is None or pod.metadata is None:
        return SkipReason.NO_SPEC
    if MIRROR_ANNOTATION in pod.metadata.annotations:
        return SkipReason.MIRROR_POD
    if pod.spec.node_name:
        return SkipReason.BOUND
    skips = pod.metadata.labels.get(SKIP_LABEL) == "true"
    return SkipReason.SKIP_LABEL if skips else SkipReason.NONE


def profile_of(pod: PodTemplate, namespace: str, policy: Policy, facts: Facts) -> Profile | None:
    """Find the first profile that fits a pod."""
    for profile in policy.profiles:
        if profile.fits(pod) and (
            profile.namespace_selector is None
            or profile.fits_namespace(namespace, facts.namespace_labels(namespace))
        ):
            return profile
    return None


def is_excepted(pod: PodTemplate, namespace: str, profile: Profile, facts: Facts) -> bool:
    """Whether an exception of the namespace exempts a pod from everything its profile does."""
    return _find_exception(pod, namespace, profile, facts) is not None


def _find_exception(
    pod: PodTemplate, namespace: str, profile: Profile, facts: Facts
) -> PolicyException | None:
    exceptions = facts.exceptions(namespace)
    if not (exceptions and profile.allows_exceptions):  # nearly always
        return None
    return find_default_exception(exceptions, pod.labels)


def complete_selectors(
    constraints: Constraints, pod: PodTemplate, namespace: str, facts: Facts
) -> Constraints:
    """
    Fill in the null selectors of a pod's own constraints, never an empty one.

    A constraint stays unchanged if its matchLabelKeys list a key of the selector: API servers of
    some versions refuse such a pair, and the user's keys must not be changed.
    """
    derived = derive_selector(pod, namespace, facts)
    if derived is None:
        return constraints
    selected = derived.keys
    return tuple(
        constraint
        if constraint.label_selector is not None
        or selected.intersection(constraint.match_label_keys)
        else replace(constraint, label_selector=derived.selector)
        for constraint in constraints
    )


def inject(pod: PodTemplate, namespace: str, policy: Policy, facts: Facts) -> Injection:
    """
    Determine the default constraints of a new pod.

    Args:
        pod: The pod after all other changes.
        namespace: The namespace in which the pod is created.
        policy: The profiles and gates in force.
        facts: The current facts of the cluster.
    """
    skip = reason_to_leave_alone(pod, namespace, policy)
    if skip or pod.metadata is None:
        return _skip(skip)
    own = pod.constraints
    annotation = pod.metadata.annotations.get(provenance.DEFAULTS_ANNOTATION)
    previous = provenance.recognize_constraints(annotation, own) if annotation and own else None
    if previous:  # another webhook changed the pod after our first call: compute the defaults again
        own = tuple(constraint for i, constraint in enumerate(own) if i not in previous)
    injection = _inject_beside(own, pod, namespace, policy, facts)
    return replace(injection, previous=previous) if previous else injection


def _inject_beside(
    own: Constraints, pod: PodTemplate, namespace: str, policy: Policy, facts: Facts
) -> Injection:
    """Determine the defaults of a pod with these constraints of its own."""
    profile = profile_of(pod, namespace, policy, facts)
    if profile is None:
        return _skip(SkipReason.NO_PROFILE)
    source = profile.name, profile.scale_down, policy.mode_of(profile)
    exception = _find_exception(pod, namespace, profile, facts)
    if exception is not None:
        return _skip(SkipReason.EXCEPTION, source, exception.name)
    constraints = _choose_constraints(profile, own, policy)
    if isinstance(constraints, SkipReason):
        return _skip(constraints, source)
    if not profile.gangs and gang_field(pod):
        return _skip(SkipReason.GANG, source)
    derived = derive_selector(pod, namespace, facts)
    if derived is None:
        return _skip(SkipReason.NO_SELECTOR, source)
    left_out = find_left_out(constraints, facts) if profile.system else ""
    if left_out:
        constraints = tuple(
            constraint for constraint in constraints if constraint.topology_key != left_out
        )
    if policy.gates.fields_off:  # seldom; the call alone takes 1 us for each pod
        constraints = fieldgates.drop_disabled_fields(constraints, None, policy.gates).constraints
    build = _build_injection if derived.is_small else _build_injection.__wrapped__
    return build(constraints, derived, left_out, source)


@lru_cache(CACHED_INJECTIONS)
def _skip(reason: SkipReason, source: _Source = _NO_PROFILE, exception: str = "") -> Injection:
    profile, scale_down, mode = source
    return Injection(
        skip=reason,
        profile=profile,
        keeps_spread=scale_down is ScaleDown.KEEP_SPREAD and reason is not SkipReason.EXCEPTION,
        recommended=mode is Mode.RECOMMEND,
        exception=exception,
    )


def find_left_out(constraints: Constraints, facts: Facts) -> str:
    """
    Return the topology key whose System constraint must be omitted: the zone's, or an empty one.

    An explicit constraint makes nodes without the label score last; the scheduler's own System
    defaults do not, so the constraint is omitted while any schedulable node lacks the label.
    """
    if facts.nodes_with(ZONE) < facts.schedulable_nodes() and any(
        constraint.topology_key == ZONE for constraint in constraints
    ):
        return ZONE
    return ""


def _choose_constraints(
    profile: Profile, own: Constraints, policy: Policy
) -> Constraints | SkipReason:
    """Choose the constraints of a profile that join a pod's own, or find why there are none."""
    if profile.system and Gate.DEFAULT_POD_TOPOLOGY_SPREAD not in policy.gates:
        return SkipReason.GATE_OFF
    if not own:
        return profile.constraints or SkipReason.NOTHING_TO_ADD
    if profile.merge is Merge.IF_EMPTY:
        return SkipReason.OWN_CONSTRAINTS
    used = {constraint.topology_key for constraint in own}
    chosen = tuple(
        constraint for constraint in profile.constraints if constraint.topology_key not in used
    )
    # A longer list would be denied by our own validating hook, though the user's list is valid.
    is_too_long = len(own) + len(chosen) > MAX_CONSTRAINTS
    return SkipReason.OWN_CONSTRAINTS if is_too_long or not chosen else chosen


@lru_cache(CACHED_INJECTIONS)
def _build_injection(
    constraints: Constraints, derived: DerivedSelector, left_out: str, source: _Source
) -> Injection:
    """
    Build the defaults for one derived selector.

    The result is cached: the pods of a ReplicaSet are created in large numbers and have the same
    labels, owner and Services.
    """
    profile, scale_down, mode = source
    selector = render.encode(render.selector_of(derived.pairs, derived.expressions)) + b"}"
    entries = [
        _render_entry(_drop_selected_keys(constraint, derived), selector)
        for constraint in constraints
    ]
    keys = tuple([entry.constraint.topology_key for entry in entries])
    digests = ",".join([entry.digest for entry in entries])
    value = Provenance(profile, derived.sources, keys, digests)
    return Injection(
        skip=SkipReason.NONE if entries else SkipReason.NOTHING_TO_ADD,
        profile=profile,
        entries=tuple(entries),
        keys=keys,
        annotation=render.encode(value).decode() if entries else "",
        zone_left_out=bool(left_out),
        keeps_spread=scale_down is ScaleDown.KEEP_SPREAD,
        recommended=mode is Mode.RECOMMEND,
        is_small=derived.is_small,
    )


def _drop_selected_keys(constraint: Constraint, derived: DerivedSelector) -> Constraint:
    """Remove the matchLabelKeys that the selector contains already."""
    if not constraint.match_label_keys:
        return constraint
    keys = tuple(key for key in constraint.match_label_keys if key not in derived.keys)
    return replace(constraint, match_label_keys=keys)


def _render_entry(constraint: Constraint, selector: bytes) -> InjectedConstraint:
    written = render.opening(constraint) + selector
    return InjectedConstraint(constraint, msgspec.Raw(written), provenance.digest(written))
