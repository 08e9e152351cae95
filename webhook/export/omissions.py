"""
What MutatingAdmissionPolicies do not do of a policy, as sentences for its operator.

``describe_profile`` describes one profile, ``describe_policy`` what holds for all of them.
"""

from collections.abc import Iterator

from webhook.export.exported import Omission
from webhook.export.precedence import controller_rows
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.inject import DEFAULTING_GATES
from webhook.policy.defaulting.profiles import FieldDefaults, Mode, Policy, Profile, ScaleDown
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.facts import Facts
from webhook.policy.kinds import BUILT_IN_OWNERS
from webhook.policy.model import ZONE

MUTATING_STABLE_SINCE = Version(1, 36)
"""First version with MutatingAdmissionPolicy in admissionregistration.k8s.io/v1, switched on."""

_KINDS = [row.kind for row in BUILT_IN_OWNERS]
_CONTROLLERS = f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
_RANKS = (
    "scaleDown: KeepSpread has no effect: the rank of a pod depends on its node and on the other "
    "pods of its workload, and a policy reads neither"
)
_NO_BINDING = (
    "mode recommend: has no binding, so that it changes no pod; a policy cannot warn of what it "
    "would change"
)
_COMPLETION = "completeSelectors has no effect: null selectors of a pod's own constraints stay null"


def describe_profile(profile: Profile, hidden_by: str, facts: Facts) -> Iterator[Omission]:
    """
    Describe what the policy of one profile does not do.

    Args:
        hidden_by: The earlier profile that fits all of its pods; empty if none does.
        facts: The Nodes, on which the System defaults depend.
    """
    subject = f"profile {profile.name!r}"
    reason = _find_reason_for_none(profile, hidden_by, facts)
    if reason:
        yield Omission(subject, f"has no policy: {reason}")
        return
    if profile.system:
        yield Omission(subject, _describe_zone(facts))
    if profile.mode is Mode.RECOMMEND:
        yield Omission(subject, _NO_BINDING)
    if profile.complete_selectors:
        yield Omission(subject, _COMPLETION)
    if profile.scale_down is ScaleDown.KEEP_SPREAD:
        yield Omission(subject, _RANKS)


def _find_reason_for_none(profile: Profile, hidden_by: str, facts: Facts) -> str:
    if not controller_rows(profile):
        return (
            f"match.ownerKinds names no {_CONTROLLERS}; of other pods, the selector consists of "
            "labels of Services or custom resources, which a policy does not read"
        )
    if hidden_by:
        return f"the earlier profile {hidden_by!r} fits all of its pods"
    if profile.system and profile.constraints and not facts.schedulable_nodes():
        return (
            "System defaults have a zone constraint only if all Nodes have a zone, and no Node is "
            "known: name the cluster with --facts or --live, or write defaultConstraints"
        )
    if not profile.constraints:
        return "it has no constraints; its pods get none from later profiles either"
    return ""


def _describe_zone(facts: Facts) -> str:
    nodes, zoned = facts.schedulable_nodes(), facts.nodes_with(ZONE)
    again = "a policy does not read Nodes: export again when this changes"
    if zoned < nodes:
        return (
            f"has no zone constraint, because {nodes - zoned} of {nodes} Nodes lack {ZONE}; {again}"
        )
    return f"has the zone constraint, because all {nodes} Nodes have {ZONE}; {again}"


def describe_policy(policy: Policy, *, is_exported: bool) -> Iterator[Omission]:
    """
    Describe what no MutatingAdmissionPolicy does.

    Args:
        is_exported: Whether there is a policy of any profile.
    """
    off = sorted(gate for gate in DEFAULTING_GATES if gate not in policy.gates)
    if off:
        yield Omission("feature gates", f"no profile is exported, because {', '.join(off)} is off")
    if not is_exported:
        return
    version = policy.gates.version
    if version < MUTATING_STABLE_SINCE:
        yield Omission(
            f"Kubernetes {version}",
            "kube-apiserver evaluates the policies only with the flags "
            "--feature-gates=MutatingAdmissionPolicy=true and "
            "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
        )
    if policy.mode is Mode.RECOMMEND:
        yield Omission(
            "mode recommend",
            "the policies have no bindings, so that they change no pod; a policy cannot warn of "
            "what it would change",
        )
    yield from _describe_selectors()
    yield Omission("exceptions", "SpreadPolicyExceptions exempt no pod: a policy reads none")
    if policy.field_defaults is not FieldDefaults.NONE:
        yield Omission(
            f"fieldDefaults {policy.field_defaults}",
            "omitted fields of a pod's own constraints stay omitted, and API servers refuse the "
            "pod",
        )
    yield Omission(
        "provenance",
        f"pods get no annotation {DEFAULTS_ANNOTATION}, so that audits and `explain` take the "
        "constraints for the pod's own",
    )


def _describe_selectors() -> Iterator[Omission]:
    yield Omission(
        "pods of other controllers",
        f"a pod without a {_CONTROLLERS} gets no defaults, also if a Service selects it: a policy "
        "reads neither Services nor custom resources",
    )
    yield Omission(
        "selectors",
        "consist of all labels of the pod template, and not of those in the selectors of the "
        "controller and the Services. They select the same pods if all pods that the controller's "
        "selector selects have the labels of its template; they select fewer pods if these labels "
        "change during a rollout of a StatefulSet, or if another workload has pods with the labels "
        "of the selector alone",
    )
