"""
kube-scheduler's validation of the arguments of its PodTopologySpread plugin, with its messages.

They check less than the API rules do; ``webhook.config`` adds the checks that apply because
evenspread writes the defaults into pods.

Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go
``ValidatePodTopologySpreadArgs``.
"""

from collections.abc import Iterator, Sequence

from webhook.policy.api import fielderrors, labels
from webhook.policy.api.fielderrors import FieldError
from webhook.policy.model import UNSATISFIABLE_ACTIONS, Constraint

SCHEDULER_GROUP = "kubescheduler.config.k8s.io"
SCHEDULER_KIND = "KubeSchedulerConfiguration"
ARGS = "PodTopologySpreadArgs"
PLUGIN = "PodTopologySpread"

SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"
DEFAULTING_TYPES = (SYSTEM_DEFAULTING, LIST_DEFAULTING)

CONSTRAINTS = "defaultConstraints"


def defaulting_type_errors(
    defaulting_type: str, constraints: Sequence[Constraint]
) -> Iterator[FieldError]:
    """Validate the type: it is known, and only List allows constraints."""
    if defaulting_type not in DEFAULTING_TYPES:
        yield fielderrors.not_supported("defaultingType", defaulting_type, DEFAULTING_TYPES)
    elif defaulting_type == SYSTEM_DEFAULTING and constraints:
        problem = f"when .{CONSTRAINTS} are not empty"
        yield fielderrors.invalid("defaultingType", defaulting_type, problem)


def constraint_errors(constraint: Constraint, at: str) -> Iterator[FieldError]:
    """
    Validate one constraint by itself, at a field path as ``defaultConstraints[0]``.

    Its minDomains, matchLabelKeys and node inclusion policies are ignored.
    """
    if constraint.max_skew <= 0:
        yield fielderrors.invalid(
            f"{at}.maxSkew", constraint.max_skew, "not in valid range (0, inf)"
        )
    key = constraint.topology_key
    if not key:
        yield fielderrors.required(f"{at}.topologyKey", "can not be empty")
    for problem in labels.key_problems(key) if key else ():
        yield fielderrors.invalid(f"{at}.topologyKey", key, problem)
    action = constraint.when_unsatisfiable
    if not action:
        yield fielderrors.required(f"{at}.whenUnsatisfiable", "can not be empty")
    elif action not in UNSATISFIABLE_ACTIONS:
        yield fielderrors.not_supported(f"{at}.whenUnsatisfiable", action, UNSATISFIABLE_ACTIONS)
    if constraint.label_selector is not None:
        problem = "constraint must not define a selector, as they deduced for each pod"
        yield fielderrors.forbidden(f"{at}.labelSelector", problem)


def duplicate_error(constraint: Constraint, at: str) -> FieldError:
    """Report that an earlier constraint has the same topologyKey and whenUnsatisfiable."""
    pair = f"{{{constraint.topology_key}, {constraint.when_unsatisfiable}}}"
    return fielderrors.duplicate(at, pair)
