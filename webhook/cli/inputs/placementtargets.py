"""
A pod to place, with everything that decides its node: ``PlacementTarget``.

``targets`` builds them.
"""

from collections.abc import Mapping

import msgspec

from webhook.cli.inputs.rollouts import RolloutPlan
from webhook.explain.caveats import ALWAYS_IGNORED
from webhook.explain.daemons import DaemonPods
from webhook.explain.explanation import Refusal
from webhook.explain.removal import WorkloadPods
from webhook.explain.scenario import Scenario
from webhook.explain.terms import PlacementTerms
from webhook.policy.model import GroupKind


class PlacementTarget(msgspec.Struct, frozen=True):
    """
    A pod to place.

    Attributes:
        runs_on: Its node; empty if it is Pending, has ended, or does not exist yet.
        replicas: Desired number of pods like it.
        running: Node name -> number of such pods there now, at least 1, with the pod itself.
        present: Where a what-if starts: the scenario with the pod itself, if it counts on a node.
        pods: The same pods and those without a node, with what decides which of them are removed
            first; None if scaling down never removes them.
        daemon: The pods of a DaemonSet; None for others.
        caveats: What the pod uses and placement does not model.
        name: Name of the object, as ``Deployment shop/web``.
        keeps_spread: Whether its new pods get ranks, so that a scale-down keeps their spread.
        refused: Why kube-apiserver accepts no such pod; empty if it does.
        terms: What decides on its node besides kube-scheduler.
        unknown: Revision that new pods may have and whose template is not known; usually empty.
        rollout: How it rolls out a new revision; None if that is not modelled, or not requested.
    """

    subject: str
    kind: GroupKind
    situation: Scenario
    runs_on: str
    replicas: int
    running: Mapping[str, int]
    present: Scenario
    pods: WorkloadPods | None = None
    daemon: DaemonPods | None = None
    caveats: tuple[str, ...] = ALWAYS_IGNORED
    name: str = ""
    keeps_spread: bool = False
    refused: tuple[Refusal, ...] = ()
    terms: PlacementTerms = PlacementTerms()
    unknown: str = ""
    rollout: RolloutPlan | None = None


class TargetOptions(msgspec.Struct, frozen=True, kw_only=True):
    """
    What the questions about targets need.

    Attributes:
        now: The present time, in seconds since 1970, for the age of pods.
        rolls_out: Whether to read how the workloads roll out a new revision.
        simulates: Whether missing pods are placed, too.
        scale: The number of replicas to set; None to keep it.
    """

    now: float
    rolls_out: bool = False
    simulates: bool = False
    scale: int | None = None
