"""
What a plan of evictions covers: ``RebalanceRequest``, from the options of a command.

``read_request`` checks the options, ``read_files`` reads the objects of files. Nothing here plans.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from webhook.audit.snapshot import is_snapshot
from webhook.cli.inputs.facts import FactsSources, read_objects, resolve_namespace
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.missingworkloads import explain_missing
from webhook.cli.inputs.namespaces import require_namespace
from webhook.cli.inputs.selection import join_words
from webhook.cli.inputs.subjects import parse_subject
from webhook.cli.output import write_stderr
from webhook.cluster.scheduling.planningobjects import PlanningObjects
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.workloads import (
    FindDefaults,
    WorkloadScope,
    is_finished,
    read_scope,
    read_workload_pods,
)
from webhook.errors import ConfigError, SourceError
from webhook.policy.advice.findings import join_names
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS
from webhook.policy.defaulting.selector import derive_scheduler_selector
from webhook.policy.kinds import KNOWN_TEMPLATES, POD
from webhook.policy.placement.filters.namespaces import Namespaces, find_unlabelled
from webhook.policy.placement.spreads import NO_DEFAULTS, DefaultConstraints
from webhook.rebalance.pods import WorkloadPod

_SNAPSHOT = (
    "is a snapshot without resources, volumes and PodDisruptionBudgets: the plan does not consider "
    "them"
)


class RebalanceRequest(msgspec.Struct, frozen=True):
    """
    The workloads to plan.

    Attributes:
        namespace: Their namespace; empty for all.
        workloads: For each named workload, the KIND/NAME that it may have; empty for all workloads.
        gates: Those in force, with the version of the scheduler.
    """

    namespace: str
    workloads: tuple[tuple[str, ...], ...]
    gates: Gates

    def find_scope(self, found: PlanningObjects) -> WorkloadScope:
        """
        Find the pods to plan, and all that decides on their evictions.

        Raises:
            SourceError: A named workload has no pods.
        """
        gates, defaults = self.gates, _find_defaults(found)
        whole = read_scope(found.objects, gates, self.namespace, defaults)
        pods = whole.pods
        if self.workloads:
            known = {one.workload for one in pods}
            missing = [names for names in self.workloads if known.isdisjoint(names)]
            if missing:
                everywhere = self.read_pods(found, found.objects.pods or (), "")
                problem = explain_missing(missing[0], self.namespace, found.objects, everywhere)
                raise SourceError(f"{missing[0][0]} in namespace {self.namespace}", problem)
            wanted = {name for names in self.workloads for name in names}
            pods = tuple(one for one in pods if one.workload in wanted)
        return whole._replace(pods=pods)

    def read_pods(
        self, found: PlanningObjects, pods: Iterable[ApiPod], namespace: str
    ) -> tuple[WorkloadPod, ...]:
        """Read pods of a namespace, of all workloads, among the objects of a cluster."""
        gates, objects = self.gates, replace(found.objects, pods=tuple(pods))
        return read_workload_pods(objects, gates, namespace, _find_defaults(found))


def _find_defaults(found: PlanningObjects) -> FindDefaults:
    """Return the function that finds the default constraints of kube-scheduler for a pod."""

    def find_defaults(pod: ApiPod) -> DefaultConstraints:
        if pod.constraints:
            return NO_DEFAULTS
        derived = derive_scheduler_selector(
            pod, pod.metadata.namespace if pod.metadata else "", found.facts
        )
        selector = derived.selector if derived else None
        return DefaultConstraints(SYSTEM_CONSTRAINTS, selector, system=True)

    return find_defaults


def read_request(
    words: Sequence[str],
    namespace: str,
    sources: FactsSources,
    gates: Gates,
    *,
    all_namespaces: bool,
) -> RebalanceRequest:
    """
    Read what to plan.

    Args:
        words: Workloads, such as ``deploy/web``; none for all.
        namespace: The value of ``-n``; workloads that are named without it are in the namespace of
            the context, or in ``default``.

    Raises:
        ConfigError: A word cannot be parsed, or names a pod.
    """
    if not words:
        return RebalanceRequest(namespace, (), gates)
    if all_namespaces:
        raise ConfigError("a workload is named within one namespace, with -n", "-A")
    inside = resolve_namespace(namespace, sources)
    return RebalanceRequest(inside, tuple(map(_parse, join_words(words, KNOWN_TEMPLATES))), gates)


def _parse(word: str) -> tuple[str, ...]:
    """Parse a workload; return its name for each kind that the word may mean."""
    if "/" not in word:
        raise ConfigError("names no kind: write a workload, as in deploy/web", word)
    kinds, name = parse_subject(word, KNOWN_TEMPLATES)
    if POD in kinds:
        raise ConfigError("is a pod: name its workload, as in deploy/web", word)
    return tuple(f"{kind.kind}/{name}" for kind in kinds)


def read_files(inputs: Inputs, sources: FactsSources, namespace: str) -> PlanningObjects:
    """
    Read the objects of ``-f`` and ``--facts``; the former replace the latter.

    Args:
        inputs: The files of ``-f``; receives the problems, also Nodes that pods run on and
            that are missing.
        namespace: The value of ``-n``, also that of objects that name none.

    Raises:
        ConfigError: The files have no such namespace.
        SourceError: A snapshot cannot be read.
    """
    found, inside = PlanningObjects(), resolve_namespace(namespace, FactsSources())
    for path in filter(is_snapshot, (*sources.paths, *inputs.paths)):
        write_stderr(f"warning: {path}: {_SNAPSHOT}")
    for documents in (read_objects(inputs, sources.paths, ()), inputs.objects()):
        problems = [found.put_document(document, inside) for document in documents]
        inputs.problems += [problem for problem in problems if problem is not None]
    require_namespace(namespace, found.namespaces)
    inputs.problems += _find_missing_nodes(found)
    return found


def find_missing_namespaces(scope: WorkloadScope, found: PlanningObjects) -> Iterator[SourceError]:
    """Find the Namespaces that no file has, and whose labels decide on the affinity of pods."""
    known: Namespaces = {one.name: one.labels for one in found.objects.namespaces or ()}
    pods = (one.replacement for one in scope.pods)
    missing = find_unlabelled(pods, scope.cluster.placed, known)
    if missing:
        names = join_names(sorted(missing), most=5)
        problem = "their labels decide on pod affinity: add the Namespaces with --facts"
        yield SourceError(f"Namespaces {names}", problem)


def _find_missing_nodes(found: PlanningObjects) -> Iterator[SourceError]:
    """Find the nodes that pods of files run on, but that no file has; a live cluster has all."""
    pods = found.objects.pods or ()
    known = {one.metadata.name for one in found.objects.nodes or () if one.metadata}
    if pods and not known:
        yield SourceError("there are no Nodes", "add them with --facts")
        return
    used = {one.spec.node_name for one in pods if one.spec and not is_finished(one)}
    missing = sorted(used - known - {""})
    if missing:
        names = join_names(missing, most=5)
        yield SourceError(f"pods run on {names}", "not among the Nodes: add them with --facts")
