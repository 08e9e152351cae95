"""
What is in force, for people: the profiles, the gates, and what the cluster makes of them.

Everything is a value of plain texts; ``evenspread config check`` lays it out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.policy import render, selectors
from webhook.policy.api.gates import GATES, Gates
from webhook.policy.defaulting import inject
from webhook.policy.defaulting.inject import Injection
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.facts import Facts, NoFacts, ServiceSelector
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint, ObjectMeta, PodSpec, PodTemplate

DEFAULT_MIN_DOMAINS = 1  # what kube-scheduler takes where minDomains is not set

_LABELS = {"app": "example"}

EXAMPLE = PodTemplate(ObjectMeta(name="example", namespace="default", labels=_LABELS), PodSpec())
"""A pod without constraints, for want of one of the operator's."""


class ExampleFacts(NoFacts):
    """A cluster with one Service, which selects ``EXAMPLE``, and no labels on Namespaces."""

    def services(self, _namespace: str, _labels: Mapping[str, str]) -> Sequence[ServiceSelector]:
        """Know one Service."""
        return (ServiceSelector("example", _LABELS),)

    def namespace_labels(self, _namespace: str) -> Mapping[str, str] | None:
        """Know that there are none."""
        return {}


EXAMPLE_FACTS = ExampleFacts()


class GateRow(NamedTuple):
    """
    A gate as it is in force.

    Attributes:
        stage: ALPHA, BETA or GA; empty if this version does not have it yet.
        source: The place that the value comes from.
        guards: What is there only while it is on.
    """

    name: str
    stage: str
    on: bool
    source: str
    guards: str


class ProfileRow(NamedTuple):
    """
    A profile as it is in force.

    Attributes:
        pods: Which pods it is for, in words.
        merge: How its constraints join those of a pod.
        complete_selectors: Whether null selectors of a pod's own constraints are filled in.
        constraints: As they would stand in a manifest, but for the selector.
    """

    name: str
    pods: str
    merge: str
    complete_selectors: bool
    constraints: tuple[render.Rendered, ...]


def gate_table(gates: Gates) -> list[GateRow]:
    """List every gate, in the order of the table of gates."""
    return [
        GateRow(str(gate), str(setting.stage), setting.on, setting.source, GATES[gate].guards)
        for gate, setting in gates.settings.items()
    ]


def profile_table(policy: Policy) -> list[ProfileRow]:
    """List the profiles in the order in which they are asked."""
    return [
        ProfileRow(
            profile.name,
            "; ".join(_conditions(profile)),
            str(profile.merge),
            profile.complete_selectors,
            tuple(render.constraint(each) for each in profile.constraints),
        )
        for profile in policy.profiles
    ]


def example(policy: Policy, facts: Facts = EXAMPLE_FACTS, pod: PodTemplate = EXAMPLE) -> Injection:
    """
    Decide what a pod would get if it were created now, in the namespace it names.

    Args:
        policy: What is in force.
        facts: Of the operator's cluster, for a pod of the operator's.
        pod: As it would be created.
    """
    namespace = pod.metadata.namespace if pod.metadata else ""
    return inject.inject(pod, namespace or "default", policy, facts)


def advise(policy: Policy, facts: Facts) -> list[str]:
    """
    Find hard defaults that the cluster's nodes may not be able to satisfy, so that pods hang.

    Returns:
        Sentences without their full stops; none if no schedulable node is known.
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
    domains, wanted = facts.domains(key), constraint.min_domains or DEFAULT_MIN_DOMAINS
    if domains < wanted:
        yield (
            f"{subject} asks for {wanted} domains, and the schedulable nodes make {domains}: pods "
            f"beyond {constraint.max_skew} in each stay Pending; lower minDomains, or add nodes"
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
