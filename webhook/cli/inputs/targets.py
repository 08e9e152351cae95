"""
Placement targets: a pod, or the next pod of a workload, with everything that decides its node.

Entry point: ``TargetBuilder.build``. It reads facts and constraints; it places nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.daemons import gather_daemon_pods, is_host_network
from webhook.cli.inputs.nextpods import build_next_pod, foresee_selector
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.inputs.refusals import find_refusals
from webhook.cli.inputs.removals import gather_pods
from webhook.cli.inputs.replicas import select_replicas
from webhook.cli.inputs.rollouts import RolloutPlan, mark_revision, read_plan
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.forecast import ForecastFacts
from webhook.policy.defaulting.inject import inject, profile_of
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, SYSTEM_CONSTRAINTS, ScaleDown
from webhook.policy.defaulting.selector import derive_selector
from webhook.policy.explain.caveats import ALWAYS_IGNORED, find_caveats
from webhook.policy.explain.daemons import DaemonPods
from webhook.policy.explain.explanation import Refusal
from webhook.policy.explain.newpods import NewPod, PodSuccession
from webhook.policy.explain.removal import WorkloadPods
from webhook.policy.explain.scenario import Scenario
from webhook.policy.explain.terms import PlacementTerms, find_terms
from webhook.policy.facts import Facts
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, POD, REPLICA_SET, ROLLOUT, STATEFUL_SET
from webhook.policy.model import Constraint, GroupKind
from webhook.policy.nextrevision import read_partitioned
from webhook.policy.paths import find_value
from webhook.policy.placement.census import Census, ObservedPod
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.placement.place import incoming_pod
from webhook.policy.placement.spreads import (
    DefaultConstraints,
    SpreadConstraints,
    resolve_constraints,
)
from webhook.policy.placement.topology import Topology
from webhook.policy.selectors import has_pairs


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
        rollout: How it rolls out a new revision; None if that is not modelled.
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
    rollout: RolloutPlan | None = None


class TargetBuilder:
    """Builds placement targets from objects, under one configuration."""

    def __init__(
        self, requested: RequestedPolicy, cluster: ClusterReader, *, replaces: bool, now: float
    ) -> None:
        """
        Store the sources; ``build`` reads them.

        Args:
            replaces: Whether the profiles are kube-scheduler's own defaults, which its
                configuration replaces; otherwise our webhook writes them into new pods.
            now: The present time, in seconds since 1970, for the age of pods.
        """
        self._now = now
        self._policy = requested.policy
        self._cluster = cluster
        self._replaces = replaces

    def build(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        """
        Build the target for a pod, or for the next pod of a workload.

        Raises:
            SourceError: A value has a wrong type, or the pod template is missing.
        """
        target = self._of_pod(subject) if subject.kind == POD else self._of_workload(subject)
        claims = find_value(subject.value, ("spec", "volumeClaimTemplates"))
        caveats = find_caveats(find_value(subject.value, subject.path), has_claims=bool(claims))
        refused = find_refusals(subject, self._policy.gates)
        return replace(target, caveats=caveats, name=str(subject), refused=refused)

    def _of_pod(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        pod = subjects.decode_template(subject)
        namespace = subject.namespace
        facts = self._cluster.facts(namespace)
        observed = self._cluster.pods(namespace)
        others = [other for other in observed if other.metadata.name != subject.name]
        own = [other for other in observed if other.metadata.name == subject.name and other.counts]
        alike = [other for other in others if other.counts and _is_like(pod, other)]
        running = Counter(other.spec.node_name or "" for other in (*alike, *own))
        situation = self._situation(
            pod, namespace, facts, Census(others), is_new=not subject.exists
        )
        node = pod.spec.node_name if pod.spec else ""
        terms = self._find_terms(subject, pod, is_running=bool(node))
        return PlacementTarget(
            subject=str(subject),
            kind=subject.kind,
            situation=situation,
            runs_on="" if terms.phase else node,
            replicas=len(alike) + 1,
            running=running,
            present=replace(situation, census=Census(observed)),
            terms=terms,
        )

    def _of_workload(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        workload = subjects.read_workload(subject)
        part = workload.part
        namespace = subject.namespace
        facts: Facts = self._cluster.facts(namespace)
        observed = self._cluster.pods(namespace)
        selected = select_replicas(subject, observed, self._cluster)
        own = [other for other in selected if other.counts]
        pod, is_known = self._build_next_pod(subject, workload, own)
        if not is_known:  # foresee the objects that will own it
            facts = ForecastFacts(facts, foresee_selector(subject, pod))
        census = Census(observed)
        running = Counter(other.spec.node_name or "" for other in own)
        situation = self._situation(pod, namespace, facts, census, is_new=True)
        if subject.kind.kind == DAEMON_SET.kind:  # also that of OpenKruise
            return _build_daemon_target(subject, situation, selected, running)
        terms = self._find_terms(subject, pod)
        situation = terms.restrict(situation)
        pods = gather_pods(subject, selected, observed, self._cluster, self._now)
        foresee = partial(self._foresee_pod, subject, own, situation, terms)
        if subject.kind == STATEFUL_SET and pods is not None:
            policy = find_value(subject.value, ("spec", "podManagementPolicy"))
            start, is_parallel = read_partitioned(subject.value).start, policy == "Parallel"
            pods = replace(pods, succession=PodSuccession(cache(foresee), start, is_parallel))
        return PlacementTarget(
            subject=f"the next pod of {subject}" + (f", template {part}" if part else ""),
            kind=subject.kind,
            situation=situation,
            runs_on="",
            replicas=1 if workload.replicas is None else workload.replicas,
            running=running,
            present=situation,
            pods=pods,
            keeps_spread=self._keeps_spread(pod, namespace, facts),
            terms=terms,
            rollout=read_plan(subject, self._cluster, self._policy.gates.version, foresee, own),
        )

    def _foresee_pod(
        self,
        subject: subjects.ExplainSubject,
        replicas: Sequence[ObservedPod],
        situation: Scenario,
        terms: PlacementTerms,
        /,
        ordinal: int,
        *,
        revision: str = "",
    ) -> NewPod:
        """
        Foresee a new pod of a workload; ``situation`` is that of the next one.

        Args:
            ordinal: Its ordinal in a StatefulSet.
            revision: Value of the label that shows its revision; empty for the present one.
        """
        template = subjects.decode_template(subject)
        pod = build_next_pod(subject, template, replicas, ordinal=ordinal)
        pod = mark_revision(pod, subject.kind, revision)
        facts: Facts = self._cluster.facts(subject.namespace)
        forecast = ForecastFacts(facts, foresee_selector(subject, pod))
        incoming = incoming_pod(pod, subject.namespace)
        spreads = self._find_spreads(pod, subject.namespace, forecast, is_new=True)
        found = terms.restrict(replace(situation, pod=incoming, spreads=spreads))
        return NewPod(found.pod, found.spreads)

    def _find_terms(
        self, subject: subjects.ExplainSubject, pod: SchedulingPod, *, is_running: bool = False
    ) -> PlacementTerms:
        written = find_value(subject.value, subject.path)
        return find_terms(pod, written, self._policy.scheduler_defaults, is_running=is_running)

    def _keeps_spread(self, pod: SchedulingPod, namespace: str, facts: Facts) -> bool:
        profile = profile_of(pod, namespace, self._policy, facts)
        return profile is not None and profile.scale_down is ScaleDown.KEEP_SPREAD

    def _situation(
        self, pod: SchedulingPod, namespace: str, facts: Facts, census: Census, *, is_new: bool
    ) -> Scenario:
        return Scenario(
            incoming_pod(pod, namespace),
            self._find_spreads(pod, namespace, facts, is_new=is_new),
            Topology(self._cluster.facts(namespace).node_store),
            census,
            Gate.NODE_INCLUSION_POLICY in self._policy.gates,
        )

    def _find_spreads(
        self, pod: SchedulingPod, namespace: str, facts: Facts, *, is_new: bool
    ) -> SpreadConstraints:
        constraints = pod.constraints
        if is_new and not self._replaces:
            # The webhook will patch the pod: apply its defaults before the scheduler sees it.
            injection = inject(pod, namespace, self._policy, facts)
            kept = (entry for i, entry in enumerate(constraints) if i not in injection.previous)
            added = (_decode_constraint(entry.written) for entry in injection.entries)
            constraints = (*kept, *added)
        return self._resolve(constraints, pod, namespace, facts)

    def _resolve(
        self, constraints: tuple[Constraint, ...], pod: SchedulingPod, namespace: str, facts: Facts
    ) -> SpreadConstraints:
        """Add kube-scheduler's own default constraints, which apply to pods without any."""
        derived = derive_selector(pod, namespace, facts)
        selector = derived.selector if derived else None
        gates = self._policy.gates
        if self._replaces:
            profile = profile_of(pod, namespace, self._policy, facts)
            defaults, system = (profile.constraints, profile.system) if profile else ((), False)
        else:
            scheduler = (pod.spec.scheduler_name if pod.spec else "") or DEFAULT_SCHEDULER
            known = scheduler in self._policy.scheduler_defaults
            system = known and Gate.DEFAULT_POD_TOPOLOGY_SPREAD in gates
            defaults = SYSTEM_CONSTRAINTS if system else ()
        return resolve_constraints(
            constraints, pod.labels, gates, DefaultConstraints(defaults, selector, system)
        )

    def _build_next_pod(
        self, subject: subjects.ExplainSubject, workload: Subject, replicas: Sequence[ObservedPod]
    ) -> tuple[SchedulingPod, bool]:
        """
        Build the next pod of a workload; also return whether the controller that owns it exists.

        It is one of the newest ReplicaSet with this template. Without one, the template is a new
        revision, unless no ReplicaSet of the workload is known.

        Source: pkg/controller/deployment/util ``FindNewReplicaSet``, ``EqualIgnoreHash``.
        """
        template, part = subjects.decode_template(subject), workload.part
        if subject.kind not in (DEPLOYMENT, ROLLOUT):
            return build_next_pod(subject, template, replicas, part=part), False
        found = self._cluster.list_objects_of(REPLICA_SET, subject.namespace)
        owned = [value for value in found if subjects.is_controlled_by(value, subject)]
        for value in sorted(owned, key=subjects.revision_of, reverse=True):
            replica_set = replace(subject, kind=REPLICA_SET, value=value)
            pod = subjects.decode_template(replica_set)
            if subjects.is_same_template(pod, template):
                return build_next_pod(replica_set, pod), True
        return build_next_pod(subject, template, replicas, is_new=bool(owned)), False


def _build_daemon_target(
    subject: subjects.ExplainSubject,
    situation: Scenario,
    selected: Sequence[ObservedPod],
    running: Mapping[str, int],
) -> PlacementTarget:
    demands = daemon_demands(situation.pod.demands, host_network=is_host_network(subject))
    pinned = replace(situation, pod=replace(situation.pod, demands=demands))
    return PlacementTarget(
        subject=str(subject),
        kind=subject.kind,
        situation=pinned,
        runs_on="",
        replicas=0,
        running=running,
        present=pinned,
        daemon=gather_daemon_pods(subject, selected),
    )


def _is_like(pod: SchedulingPod, other: ObservedPod) -> bool:
    """Whether another pod has all labels of a pod that has some."""
    return bool(pod.labels) and has_pairs(other.metadata.labels or {}, pod.labels)


_decode_constraint = msgspec.json.Decoder(Constraint).decode
