"""
The rolling update of a target, as a setup to simulate: ``prepare_rollout``.

Edits of the cluster and of the number of replicas are applied before it.
"""

from msgspec.structs import replace

from webhook.cli.inputs.placementtargets import PlacementTarget
from webhook.cli.inputs.rollouts import RolloutPlan
from webhook.errors import ConfigError
from webhook.explain.removal import Surplus, WorkloadPods
from webhook.explain.removedpods import remove_pods
from webhook.explain.rollingupdate.setup import (
    prepare_ordinals,
    prepare_sets,
)
from webhook.explain.rollingupdate.simulation import RolloutSetup
from webhook.explain.rollingupdate.statefulsets import StatefulSetPlan
from webhook.explain.rollout import find_lost
from webhook.explain.scenario import Scale, Scenario, ScenarioEdit, apply_all

MOST_REPLICAS = 500  # of a simulated rollout; more take seconds

_OPTION = "--what-if rollout"


def check_rollout(target: PlacementTarget, scale: int | None) -> None:
    """
    Check that the rollout of a target is modelled, and that it is not too large.

    Args:
        scale: The number of replicas to set before it; None to keep it.

    Raises:
        ConfigError: It is not modelled, or there are too many replicas.
    """
    if target.rollout is None:
        problem = (
            f"the rollout of a {target.kind.kind} is not modelled: name a Deployment, a "
            "StatefulSet or an Argo Rollout"
        )
        raise ConfigError(problem, _OPTION)
    if target.rollout.obstacle:
        problem = f"the rollout cannot be simulated: {target.rollout.obstacle}"
        raise ConfigError(problem, _OPTION)
    replicas = _count_replicas(target, scale)
    if replicas > MOST_REPLICAS:
        problem = f"{replicas} replicas are too many to simulate: at most {MOST_REPLICAS}"
        raise ConfigError(problem, _OPTION)


def _count_replicas(target: PlacementTarget, scale: int | None) -> int:
    return target.replicas if scale is None else scale


def prepare_rollout(
    target: PlacementTarget, edits: tuple[ScenarioEdit, ...], scale: int | None
) -> tuple[RolloutSetup, tuple[ScenarioEdit, ...]]:
    """
    Prepare the rolling update of a target, which ``check_rollout`` has accepted.

    Args:
        scale: The number of replicas to set before it; None to keep it.

    Returns:
        The setup, and all edits that it contains.
    """
    plan, pods = target.rollout, target.pods
    assert plan is not None, "check_rollout is called before"
    assert pods is not None, "all kinds with a plan have pods that can be removed"
    replicas = _count_replicas(target, scale)
    changed = apply_all(edits, target.present)
    pods, surplus = pods.lose_nodes(find_lost(target.present, changed)), Surplus()
    is_scaled = scale is not None and not pods.is_updating(replicas)
    if is_scaled or isinstance(plan.choose(replicas), StatefulSetPlan):
        # otherwise, pods beyond the replicas are those of a rollout that runs
        surplus = pods.find_surplus(replicas)
    changed = remove_pods(changed, surplus.pods, pods.placed)
    setup = _prepare(changed, _remove(pods, surplus), plan, replicas)
    notes = (*target.terms.notes, *plan.notes, *surplus.notes, *setup.notes)
    edits = edits if scale is None else (*edits, Scale(scale))
    return replace(setup, notes=notes), edits


def _remove(pods: WorkloadPods, surplus: Surplus) -> WorkloadPods:
    removed = {pod.metadata.name for pod in surplus.pods}
    return replace(pods, pods=tuple(pod for pod in pods.pods if pod.metadata.name not in removed))


def _prepare(
    scenario: Scenario, pods: WorkloadPods, plan: RolloutPlan, replicas: int
) -> RolloutSetup:
    strategy = plan.choose(replicas)
    if isinstance(strategy, StatefulSetPlan):
        return prepare_ordinals(scenario, pods, strategy, plan.revisions, replicas)
    return prepare_sets(scenario, pods, strategy, plan.revisions, plan.sets)
