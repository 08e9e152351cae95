"""
Summaries of the configuration in force: profiles, feature gates, an example, and advice.

``evenspread config check`` formats them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.policy import selectors
from webhook.policy.api.gates import GATES, Gates
from webhook.policy.defaulting import inject
from webhook.policy.defaulting.inject import Injection
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.facts import Facts, NoFacts, ServiceSelector
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint, ObjectMeta, PodSpec, PodTemplate

DEFAULT_MIN_DOMAINS = 1  # kube-scheduler's default

_LABELS = {"app": "example"}

EXAMPLE = PodTemplate(ObjectMeta(name="example", namespace="default", labels=_LABELS), PodSpec())
"""A pod without constraints, for use if the operator provides none."""


class _ExampleFacts(NoFacts):
    """Facts of a cluster with one Service, which selects ``EXAMPLE``, and unlabelled Namespaces."""

    def services(self, _namespace: str, _labels: Mapping[str, str]) -> Sequence[ServiceSelector]:
        return (ServiceSelector("example", _LABELS),)

    def namespace_labels(self, _namespace: str) -> Mapping[str, str] | None:
        return {}


_EXAMPLE_FACTS = _ExampleFacts()


class GateRow(NamedTuple):
    """
    A feature gate in force.

    Attributes:
        stage: ALPHA, BETA or GA; empty if this version does not have it yet.
        guards: The feature that the gate enables.
    """

    name: str
    stage: str
    on: bool
    source: str
    guards: str


def gate_table(gates: Gates) -> list[GateRow]:
    """List every gate, in the order of ``GATES``."""
    return [
        GateRow(str(gate), str(setting.stage), setting.on, setting.source, GATES[gate].guards)
        for gate, setting in gates.settings.items()
    ]


def describe_pods(profile: Profile) -> str:
    """Describe the pods that a profile applies to."""
    return "; ".join(_conditions(profile))


def example(policy: Policy, facts: Facts = _EXAMPLE_FACTS, pod: PodTemplate = EXAMPLE) -> Injection:
    """Compute what would be injected into a pod that is created now, in the namespace it names."""
    namespace = pod.metadata.namespace if pod.metadata else ""
    return inject.inject(pod, namespace or "default", policy, facts)


def advise(policy: Policy, facts: Facts) -> list[str]:
    """
    Find DoNotSchedule defaults that the nodes may not satisfy, so that pods stay Pending.

    Returns:
        Sentences without a final full stop; none if no schedulable node is known.
    """
    if not facts.schedulable_nodes():
        return []
    return [
        sentence
        for profile in policy.profiles
        for constraint in profile.constraints
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE
        for sentence in _doubts(profile, constraint, facts)
    ]


def _doubts(profile: Profile, constraint: Constraint, facts: Facts) -> Iterator[str]:
    key, nodes = constraint.topology_key, facts.schedulable_nodes()
    subject = f"profile {profile.name!r}: the hard default on {key}"
    lacking = nodes - facts.nodes_with(key)
    if lacking:
        yield (
            f"{subject} keeps pods off {lacking} of {nodes} schedulable nodes, which lack that "
            "label: label them, or write whenUnsatisfiable: ScheduleAnyway"
        )
    domains, required = facts.domains(key), constraint.min_domains or DEFAULT_MIN_DOMAINS
    if domains < required:
        yield (
            f"{subject} requires {required} domains, and the schedulable nodes have {domains}: "
            f"pods above {constraint.max_skew} in each stay Pending; lower minDomains, or add nodes"
        )


def _conditions(profile: Profile) -> Iterator[str]:
    yield f"schedulerName {_any_of(profile.scheduler_names)}"
    if profile.namespace_selector is not None:
        yield f"namespace {selectors.render(profile.namespace_selector)}"
    if profile.object_selector is not None:
        yield f"labels {selectors.render(profile.object_selector)}"
    if profile.owner_kinds is not None:
        yield f"owner {_any_of(profile.owner_kinds)}"


def _any_of(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))
