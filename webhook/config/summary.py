"""
Summaries of the configuration in force: profiles, feature gates, an example, and advice.

``evenspread config check`` formats them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from webhook.config.defaultkeys import find_absent_keys
from webhook.config.ownerkinds import find_absent_owners
from webhook.config.spreadpolicies import SPREAD_POLICY
from webhook.policy import render, selectors
from webhook.policy.advice.closeddomains import find_tainted
from webhook.policy.advice.findings import count_of, join_names
from webhook.policy.advice.nearestkey import nearest_key
from webhook.policy.advice.repeats import find_actions
from webhook.policy.api.gates import GATES, Gates
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting import inject
from webhook.policy.defaulting.effective import describe_ineffective
from webhook.policy.defaulting.inject import Injection
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.facts import Facts, NoFacts, ServiceSelector
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    HONOR,
    SCHEDULE_ANYWAY,
    ZONE,
    Constraint,
    ObjectMeta,
    PodSpec,
    PodTemplate,
)
from webhook.policy.placement.nodes import Demands
from webhook.policy.places import format_places

_LABELS = {"app": "example"}

_EXAMPLE = PodTemplate(ObjectMeta(name="example", labels=_LABELS), PodSpec())
"""A pod without constraints, for use if the operator provides none."""


class _ExampleFacts(NoFacts):
    """Facts of a cluster with one Service, which selects the example."""

    def __init__(self, known: Facts) -> None:
        """Take the labels of Namespaces from ``known``; those of others are unlabelled."""
        self._known = known

    def services(self, _namespace: str, _labels: Mapping[str, str]) -> Sequence[ServiceSelector]:
        return (ServiceSelector("example", _LABELS),)

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        return self._known.namespace_labels(namespace) or {}


_NO_FACTS = NoFacts()


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


class KindPlaces(NamedTuple):
    """
    A kind that the configuration names.

    Attributes:
        kind: With its group, as ``Cluster.postgresql.cnpg.io``.
        paths: Where its objects hold pod templates, or lists of constraints.
    """

    kind: str
    paths: list[str]


def configured_kinds(policy: Policy) -> list[KindPlaces]:
    """List the kinds that are neither built in nor shipped, or have other places."""
    return [
        KindPlaces(str(kind), format_places(places))
        for kind, places in policy.pod_templates.items()
        if kind not in BUILT_IN_TEMPLATES and places != SHIPPED_TEMPLATES.get(kind)
    ]


class ConfiguredRule(NamedTuple):
    """
    A rule whose action, or whose exemptions, the configuration or a profile changes.

    Attributes:
        action: What a violation leads to.
        default: The action without the configuration, or without the profile.
        exemptible: Whether an annotation exempts an object from it.
    """

    rule: str
    action: str
    default: str
    exemptible: bool


def configured_rules(policy: Policy) -> list[ConfiguredRule]:
    """List the rules that the configuration changes, in the order of the catalogue."""
    return [
        ConfiguredRule(
            rule, str(policy.actions[rule]), str(default), rule not in policy.not_exemptible
        )
        for rule, default in DEFAULT_ACTIONS.items()
        if policy.actions[rule] is not default or rule in policy.not_exemptible
    ]


def profile_rules(policy: Policy, profile: Profile) -> list[ConfiguredRule]:
    """List the rules that a profile sets, in the order of the catalogue."""
    inside = policy.with_rules_of(profile)
    return [
        ConfiguredRule(
            rule,
            str(inside.actions[rule]),
            str(policy.actions[rule]),
            rule not in inside.not_exemptible,
        )
        for rule in DEFAULT_ACTIONS
        if rule in profile.actions or rule in profile.exemptible
    ]


def describe_profile(policy: Policy, profile: Profile, orders: Mapping[str, int]) -> dict[str, Any]:
    """
    Describe a profile for programs.

    Args:
        policy: The policy in force, with the profile.
        orders: The ``order`` of each profile that is a SpreadPolicy, by name.
    """
    name = profile.name
    resource = {"kind": SPREAD_POLICY.kind, "order": orders[name]} if name in orders else {}
    return {
        "name": name,
        "mode": str(policy.mode_of(profile)),
        **resource,
        "pods": describe_pods(profile),
        "merge": str(profile.merge),
        "completeSelectors": profile.complete_selectors,
        "scaleDown": str(profile.scale_down),
        "gangs": profile.gangs,
        "exemptible": profile.allows_exceptions,
        "system": profile.system,
        "constraints": list(map(render.constraint, profile.constraints)),
        "rules": [row._asdict() for row in profile_rules(policy, profile)],
    }


def describe_pods(profile: Profile) -> str:
    """Describe the pods that a profile applies to."""
    return "; ".join(_conditions(profile))


def inject_example(
    policy: Policy, namespace: str = "default", facts: Facts = _NO_FACTS
) -> Injection:
    """
    Compute what would be injected into a pod that a Service selects, if it is created now.

    Args:
        namespace: Namespace of the pod and the Service.
        facts: The labels of its Namespace.
    """
    return inject.inject(_EXAMPLE, namespace, policy, _ExampleFacts(facts))


def advise(policy: Policy, facts: Facts) -> list[str]:
    """
    Find defaults that do not have the effect that is intended.

    Their ownerKinds control no pod, their matchLabelKeys are labels of no pod, profiles before
    them fit all of their pods, the nodes may not satisfy DoNotSchedule defaults, so that pods stay
    Pending, or no node has the label of a ScheduleAnyway default. Nodes are not judged if no
    schedulable node is known.

    Returns:
        Sentences without a final full stop.
    """
    ineffective = describe_ineffective(policy.profiles)
    absent = [*find_absent_owners(policy), *find_absent_keys(policy), *ineffective]
    if not facts.schedulable_nodes():
        return absent
    return absent + [
        sentence
        for profile in policy.profiles
        for constraint in profile.constraints
        for sentence in _judge(profile, constraint, facts)
    ]


def _judge(profile: Profile, constraint: Constraint, facts: Facts) -> Iterator[str]:
    if constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
        return _doubts(profile, constraint, facts)
    return _find_keyless(profile, constraint.topology_key, facts)


def _find_keyless(profile: Profile, key: str, facts: Facts) -> Iterator[str]:
    """Describe a soft default on a label of no node; System leaves out the zone, and others not."""
    if facts.nodes_with(key) or (profile.system and key == ZONE):
        return
    meant = nearest_key(key, facts.label_keys())
    yield (
        f"profile {profile.name!r}: the soft default on {key} spreads no pod, as none of "
        f"{count_of(facts.schedulable_nodes(), 'schedulable node')} has that label: "
        f"{f'write topologyKey: {meant}' if meant else 'label them, or remove the default'}"
    )


def _suggest_soft(profile: Profile, constraint: Constraint) -> str:
    """Suggest a soft default in place of a hard one, of which a profile has one for each key."""
    soft = find_actions(constraint.topology_key, enumerate(profile.constraints))
    if SCHEDULE_ANYWAY in soft:
        return "remove this default: another one already spreads softly over that label"
    beside = " without minDomains" if constraint.min_domains else ""
    return f"write whenUnsatisfiable: {SCHEDULE_ANYWAY}{beside}"


def _doubts(profile: Profile, constraint: Constraint, facts: Facts) -> Iterator[str]:
    key, nodes = constraint.topology_key, facts.schedulable_nodes()
    subject = f"profile {profile.name!r}: the hard default on {key}"
    lacking = nodes - facts.nodes_with(key)
    if lacking:
        yield (
            f"{subject} keeps pods off {lacking} of {nodes} schedulable nodes, which lack that "
            f"label: label them, or {_suggest_soft(profile, constraint)}"
        )
    domains, required = len(facts.domains(key)), constraint.min_domains or 0
    if 0 < domains < required:  # without any, all nodes lack the label
        yield (
            f"{subject} requires {required} domains, and the schedulable nodes have {domains}: "
            f"pods above {constraint.max_skew} in each stay Pending; lower minDomains, or add nodes"
        )
    tainted = find_tainted(key, Demands(), facts)
    if 0 < tainted.number < domains and constraint.node_taints_policy != HONOR:
        yield (
            f"{subject} counts {count_of(tainted.number, 'domain')} of nodes with taints as empty "
            f"({join_names(tainted.taints)}): of pods that do not tolerate these, every other "
            f"domain takes {count_of(constraint.max_skew, 'pod')} at most, and the others stay "
            f"Pending; write nodeTaintsPolicy: {HONOR}"
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
