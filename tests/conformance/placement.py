"""Conformance cases of placement: what kube-scheduler's PodTopologySpread plugin answers."""

from functools import lru_cache
from typing import Any

import msgspec

from tests.conformance import cluster
from tests.conformance.case import Answer, Case
from tests.policy.placement.clusters import write_status
from webhook.policy.api.gates import Gate, Gates, resolve
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS
from webhook.policy.defaulting.selector import derive_selector
from webhook.policy.model import Constraint
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.placement.place import incoming_pod, place_pod, tally_constraints
from webhook.policy.placement.spreads import DefaultConstraints
from webhook.policy.placement.spreads import resolve_constraints as resolve_spreads
from webhook.policy.placement.topology import Topology

RECORDED = Version(1, 36)  # the kube-scheduler that the cases were recorded from


def answer(case: Case) -> Answer:
    """
    Answer one case.

    Args:
        case: ``pod``, ``cluster``, and perhaps ``defaults`` and ``featureGates``.

    Returns:
        ``filter`` and ``preScore``; where any node was scored ``rawScore`` and ``score``.
    """
    pod = msgspec.convert(case["pod"], SchedulingPod)
    arriving = incoming_pod(pod)
    topology = Topology(cluster.nodes(case["cluster"]))
    gates = _gates(frozenset((case.get("featureGates") or {}).items()))
    spreads = resolve_spreads(pod.constraints, pod.labels, gates, _defaults(case, pod))
    measured = tally_constraints(arriving, spreads, topology, cluster.pods(case["cluster"]))
    placement = place_pod(measured, topology)
    given: Answer = {
        "filter": {
            name: write_status(status) if spreads.hard else "Skip"
            for name, status in placement.statuses.items()
        },
        "preScore": "Skip" if placement.scores is None else "Success",
    }
    if placement.scores is not None and placement.scores.raw:
        given["rawScore"] = dict(placement.scores.raw)
        given["score"] = dict(placement.scores.normalized)
    return given


@lru_cache
def _gates(requested: frozenset[tuple[str, bool]]) -> Gates:
    """Return the gates in force; SelectorMerge, which the scheduler lacks, needs MatchLabelKeys."""
    wanted = dict(requested)
    wanted.setdefault(Gate.SELECTOR_MERGE, wanted.get(Gate.MATCH_LABEL_KEYS, True))
    return resolve(RECORDED, wanted, allow_locked=True)


def _defaults(case: Case, pod: SchedulingPod) -> DefaultConstraints:
    requested: dict[str, Any] = case.get("defaults") or {}
    derived = derive_selector(
        pod, incoming_pod(pod).namespace, cluster.RecordedFacts(case["cluster"])
    )
    selector = derived.selector if derived else None
    if requested.get("defaultingType") == "System":
        return DefaultConstraints(SYSTEM_CONSTRAINTS, selector, system=True)
    listed = requested.get("defaultConstraints") or ()
    return DefaultConstraints(msgspec.convert(listed, tuple[Constraint, ...]), selector)
