"""
Checks that kube-apiserver got after the fields that they are about.

``split_violations`` divides the violations of a list into those for which a version of
kube-apiserver refuses the object, and those that only its pods show. ``WARNS_SINCE`` has the first
version of each warning.

Source: kubernetes pkg/apis/core/validation/validation.go ``validateTopologySpreadConstraints``,
pkg/apis/apps/validation/validation.go ``ValidatePodTemplateSpecForStatefulSet`` and
pkg/api/pod/warnings.go of v1.22.17, v1.24.17, v1.25.16, v1.26.15, v1.27.16, v1.28.15, v1.33.7 and
v1.34.0.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from webhook.policy.api.fielderrors import FORBIDDEN
from webhook.policy.api.rules import ApiViolation
from webhook.policy.api.versions import Version
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import GroupKind

VALIDATES_SELECTORS = Version(1, 27)
"""First version that validates selectors, and refuses matchLabelKeys without one."""

VALIDATES_STATEFUL_SETS = Version(1, 34)
"""First version that validates the specification of the pods in a StatefulSet."""

WARNS_SINCE: Mapping[str, Version] = MappingProxyType(
    {"TSC020": Version(1, 25), "TSC021": Version(1, 28)}
)
"""Rule -> the first version of kube-apiserver that warns of it."""

PODS_REFUSED = "kube-apiserver accepts this object, and refuses all its pods"
PODS_PENDING = "kube-apiserver accepts this object, and kube-scheduler cannot place its pods"


def split_violations(
    violations: Iterable[ApiViolation], kind: GroupKind, version: Version
) -> tuple[list[ApiViolation], list[ApiViolation]]:
    """
    Divide the violations of a list.

    Args:
        kind: That of the object.
        version: That of kube-apiserver.

    Returns:
        Those that it reports; then those that it accepts, with what becomes of the pods.
    """
    reported: list[ApiViolation] = []
    accepted: list[ApiViolation] = []
    for one in violations:
        is_early = version < VALIDATES_SELECTORS
        if is_early and one.rule == "TSC008" and one.error.reason == FORBIDDEN:
            continue  # kube-scheduler then counts by the keys alone
        if is_early and one.rule == "TSC009":  # kube-scheduler cannot read the selector
            accepted.append(_describe(one, PODS_PENDING))
        elif version < VALIDATES_STATEFUL_SETS and kind == STATEFUL_SET:
            accepted.append(_describe(one, PODS_REFUSED))
        else:
            reported.append(one)
    return reported, accepted


def _describe(violation: ApiViolation, outcome: str) -> ApiViolation:
    error = violation.error
    problem = f"{error.problem}: {outcome}" if error.problem else outcome
    return ApiViolation(violation.rule, replace(error, problem=problem))
