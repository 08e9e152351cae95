"""
Placement targets: a pod, or the next pod of a workload, with everything that decides its node.

Entry point: ``TargetBuilder.build``. It reads facts and constraints; it places nothing.
"""

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.placementtargets import PlacementTarget, TargetOptions
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.inputs.refusals import find_refusals
from webhook.cli.inputs.replicas import is_like
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cli.inputs.setvolumes import list_templates
from webhook.cli.inputs.unknownnamespaces import find_unfit_profiles
from webhook.cli.inputs.workloadtargets import WorkloadTargetBuilder
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.caveats import find_caveats
from webhook.explain.explanation import Refusal
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD, STATEFUL_SET
from webhook.policy.paths import find_value, format_path


class TargetBuilder:
    """Builds placement targets from objects, under one configuration."""

    def __init__(
        self,
        requested: RequestedPolicy,
        cluster: ClusterReader,
        options: TargetOptions,
        *,
        replaces: bool,
    ) -> None:
        """
        Store the sources; ``build`` reads them.

        Args:
            replaces: As in ``ScenarioReader``.
        """
        self._cluster, self._policy = cluster, requested.policy
        self._reader = ScenarioReader(requested, cluster, replaces=replaces)
        self._simulates = options.simulates
        self._workloads = WorkloadTargetBuilder(self._reader, cluster, options)

    def build(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        """
        Build the target for a pod, or for the next pod of a workload.

        Raises:
            SourceError: A value has a wrong type, or the pod template is missing.
        """
        pod = subjects.decode_template(subject)  # reports the path of a wrong type
        facts = self._cluster.facts(subject.namespace)
        admitted = self._reader.server.admit(subject, facts)
        subject = admitted.subject
        is_pod = subject.kind == POD
        target = self._build_pod_target(subject) if is_pod else self._workloads.build(subject)
        caveats = (
            *self._find_caveats(subject, target),
            *target.caveats,
            *self._find_unfit(subject, facts),
        )
        refused = admitted.refused or find_refusals(subject, self._policy.gates)
        refused = refused or self._find_conflicts(subject, pod)
        return replace(target, caveats=caveats, name=str(subject), refused=refused)

    def _find_conflicts(self, subject: subjects.ExplainSubject, pod: ApiPod) -> tuple[Refusal, ...]:
        field = format_path((*subject.path, "spec", "nodeSelector"))
        conflicts = self._reader.scheduling.list_conflicts(pod)
        return tuple(Refusal("", field, conflict) for conflict in conflicts)

    def _find_caveats(
        self, subject: subjects.ExplainSubject, target: PlacementTarget
    ) -> tuple[str, ...]:
        template = find_value(subject.value, subject.path)
        has_claims = subject.kind != STATEFUL_SET and bool(list_templates(subject.value))
        scope, schedulers = target.situation, self._policy.scheduler_defaults
        return find_caveats(template, scope.pod, scope.cluster, schedulers, has_claims=has_claims)

    def _find_unfit(self, subject: subjects.ExplainSubject, facts: Facts) -> Iterator[str]:
        """Name the profiles that may fit its next pods; a stored pod stays as it is."""
        if subject.kind == POD and find_value(subject.value, ("metadata", "uid")):
            return
        profiles, inside = self._policy.profiles, subject.namespace
        if names := find_unfit_profiles(profiles, inside, facts.namespace_labels):
            yield f"profiles that select labels of Namespace {inside}, which is not known: {names}"

    def _build_pod_target(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        pod, namespace = subjects.decode_template(subject), subject.namespace
        observed = self._cluster.pods(namespace)
        others = [other for other in observed if other.metadata.name != subject.name]
        own = [other for other in observed if other.metadata.name == subject.name and other.counts]
        alike = [other for other in others if other.counts and is_like(pod, other)]
        running = (*alike, *own)
        scope = self._reader.read_scope(pod, namespace)
        situation = self._reader.read(pod, self._cluster.facts(namespace), scope)
        node = pod.spec.node_name if pod.spec else ""
        terms = self._reader.find_terms(subject, pod, is_running=bool(node))
        present, ending = self._reader.end_pods(scope, simulates=self._simulates)
        return PlacementTarget(
            subject=str(subject),
            kind=subject.kind,
            situation=situation,
            runs_on="" if terms.phase else node,
            replicas=len(alike) + 1,
            running=Counter(other.spec.node_name or "" for other in running),
            present=replace(situation, cluster=present),
            caveats=(*scope.unread, *self._reader.find_strays(situation, namespace, running)),
            terms=replace(terms, ending=ending),
        )
