"""
Domains that pods cannot go to, in random clusters.

The rules are compared with a reference: kube-scheduler's placement of one pod after the other.
"""

import dataclasses
from collections.abc import Sequence
from random import Random

import msgspec
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, gates, spread
from tests.policy.advice.subjects import (
    GPU,
    OLD,
    SPOT,
    TOLERATING,
    among,
    audit,
    check_rule,
    deployed,
    required,
)
from tests.policy.placement.clusters import reject_others
from webhook.policy.advice.advise import advise
from webhook.policy.advice.closeddomains import honor_policies
from webhook.policy.advice.context import AdviceContext, ClusterState, resolve_valid
from webhook.policy.advice.findings import AdviceFinding, RuleViolation
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, ZONE, Constraint, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import find_mismatch
from webhook.policy.placement.place import (
    PodPlacement,
    place_pod,
    tally_constraints,
)
from webhook.policy.placement.topology import Topology

VALUES = ("a", "b", "c")
NOTHING: Json = {}
KEYS = (ZONE, HOSTNAME, "rack")


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    """Draw nodes, some of which lack keys, belong to another pool, are tainted or cordoned."""
    made: list[Node] = []
    for number in range(draw(st.integers(0, 7))):
        keys = {key: draw(st.sampled_from(VALUES)) for key in KEYS if draw(st.integers(0, 5))}
        labels = {**keys, HOSTNAME: f"n{number}", "pool": draw(st.sampled_from(["web", "gpu"]))}
        taints = draw(st.lists(st.sampled_from([GPU, SPOT, OLD]), max_size=1))
        cordoned = draw(st.integers(0, 9)) == 0
        made.append(Node(f"n{number}", labels, tuple(taints), unschedulable=cordoned))
    return made


@st.composite
def some_constraints(draw: st.DrawFn, most: int = 2) -> list[Json]:
    """Draw constraints on different keys, with any node inclusion policies."""
    made: list[Json] = []
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=most, unique=True)):
        hard = draw(st.booleans()) or most == 1
        changed: Json = {"topologyKey": key, "maxSkew": draw(st.integers(1, 2))}
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if chosen := draw(st.sampled_from(["", "Honor", "Ignore"])):
                changed[name] = chosen
        action = "DoNotSchedule" if hard else "ScheduleAnyway"
        made.append(spread(whenUnsatisfiable=action, **changed))
    return made


@st.composite
def some_requirements(draw: st.DrawFn) -> Json:
    """Draw a node selector, an affinity and tolerations, or none of them."""
    pair = st.sampled_from([(ZONE, "a"), (ZONE, "b"), ("pool", "web"), ("rack", "a")])
    selector = dict(draw(st.lists(pair, max_size=1)))
    affinity = draw(st.sampled_from([NOTHING, required([among("a", "b")])]))
    tolerations = draw(st.sampled_from([NOTHING, TOLERATING]))
    return {**({"nodeSelector": selector} if selector else {}), **affinity, **tolerations}


def deploy_many(written: Sequence[Json], spec: Json) -> Subject:
    """Read a Deployment of more replicas than have a place where a domain is closed."""
    return deployed(*written, replicas=99, template_spec=spec)


def place_next(
    advised: Subject, constraints: tuple[Constraint, ...], nodes: Sequence[Node], census: Census
) -> PodPlacement:
    incoming = advised.next_pod
    spreads = resolve_valid(constraints, incoming.labels, gates())
    topology = Topology(nodes)
    tallies = tally_constraints(incoming, spreads, topology, census)
    return place_pod(tallies, topology, reject_others(topology, incoming.demands))


def reachable(advised: Subject, nodes: Sequence[Node]) -> list[Node]:
    """List the nodes that a pod can go to, whatever their state."""
    return [one for one in nodes if find_mismatch(one, advised.demands.lasting) is None]


def without_missing(
    advised: Subject, constraints: tuple[Constraint, ...], nodes: Sequence[Node]
) -> tuple[Constraint, ...]:
    """Turn constraints on keys of no such node, which TSC103 reports, into soft ones."""
    known = {key for one in reachable(advised, nodes) for key in one.labels}
    return tuple(
        one if one.topology_key in known else replace(one, when_unsatisfiable="ScheduleAnyway")
        for one in constraints
    )


def closed_by_reference(
    advised: Subject, constraints: tuple[Constraint, ...], nodes: Sequence[Node]
) -> dict[int, tuple[set[str], set[str]]]:
    """Find for each hard constraint the domains that only count, and those that are reached."""
    usable = [replace(one, unschedulable=False) for one in nodes]  # a cordon is for now
    constraints = without_missing(advised, constraints, nodes)
    placement = place_next(advised, constraints, usable, Census())
    hard = placement.tallies.hard
    keys = [tally.spread.topology_key for tally in hard]
    entered = [
        one
        for one in usable
        if one.name not in placement.refused and all(key in one.labels for key in keys)
    ]
    found: dict[int, tuple[set[str], set[str]]] = {}
    for tally in hard:
        reached = {one.labels[tally.spread.topology_key] for one in entered}
        found[tally.spread.index] = ({*tally.domains.sizes} - reached, reached)
    return found


def by_index(violations: Sequence[RuleViolation]) -> dict[int, RuleViolation]:
    return {int(one.field.partition("[")[2].partition("]")[0]): one for one in violations}


POLICIES = ("nodeAffinityPolicy", "nodeTaintsPolicy")


@given(some_nodes(), some_constraints(), some_requirements())
def test_closed_domains_are_those_of_placement(
    nodes: list[Node], written: list[Json], spec: Json
) -> None:
    advised, context = deploy_many(written, spec), audit(nodes)
    tainted = by_index(check_rule("TSC105", advised, context))
    excluded = by_index(check_rule("TSC116", advised, context))
    reference = closed_by_reference(advised, advised.constraints, nodes)

    expected = {index for index, (closed, reached) in reference.items() if closed and reached}
    assert tainted.keys() | excluded.keys() == expected
    assert not tainted.keys() & excluded.keys()
    for index, violation in (tainted | excluded).items():
        policies = [name for name in POLICIES if name in violation.instead]
        for some in ([], *([name] for name in policies), policies):
            constraints = list(advised.constraints)
            constraints[index] = honor_policies(constraints[index], some)
            closed, _ = closed_by_reference(advised, tuple(constraints), nodes)[index]
            assert bool(closed) is (some != policies)


@given(some_nodes(), some_constraints(), some_requirements())
def test_one_reached_domain_is_that_of_placement(
    nodes: list[Node], written: list[Json], spec: Json
) -> None:
    advised = deploy_many(written, spec)
    found = by_index(check_rule("TSC120", advised, audit(nodes)))
    reference = closed_by_reference(advised, advised.constraints, nodes)

    for index, (closed, reached) in reference.items():
        is_reported = bool(closed and reached)  # by TSC105 or TSC116
        assert (index in found) is (len(reached) == 1 < len(nodes) and not is_reported)


@given(
    some_nodes(),
    some_constraints(most=1),
    some_requirements(),
    st.integers(2, 12),
    st.randoms(use_true_random=False),
)
def test_a_closed_domain_is_reported_where_a_pod_has_no_place(
    nodes: list[Node], written: list[Json], spec: Json, replicas: int, random: Random
) -> None:
    usable = [one for one in nodes if not one.unschedulable]
    recreated: Json = {"strategy": {"type": "Recreate"}}
    advised = deployed(*written, replicas=replicas, template_spec=spec, **recreated)
    census = Census()
    reports = [rule for rule in ("TSC105", "TSC116") if check_rule(rule, advised, audit(usable))]
    (constraint,) = advised.constraints
    reference = closed_by_reference(advised, (constraint,), usable)
    assume(any(reached for _, reached in reference.values()))

    for _ in range(replicas):
        passing = place_next(advised, (constraint,), usable, census).passing
        if not passing:
            break
        census.add(NAMESPACE, advised.labels, random.choice(passing))

    placed = sum(census.count(NAMESPACE, constraint.label_selector).values())
    assert (placed < replicas) is bool(reports)


@given(
    some_nodes(), some_constraints(), some_requirements(), st.lists(st.integers(0, 6), max_size=9)
)
def test_the_next_pod_has_no_node_by_placement(
    nodes: list[Node], written: list[Json], spec: Json, where: list[int]
) -> None:
    advised, census = deploy_many(written, spec), Census()
    for number in where:
        census.add(NAMESPACE, advised.labels, f"n{number}")
    context = dataclasses.replace(audit(nodes), cluster=ClusterState(nodes, census, Census()))
    constraints = without_missing(advised, advised.constraints, nodes)
    placement = place_next(advised, constraints, nodes, census)

    found = [
        violation
        for violation in check_rule("TSC106", advised, context)
        if "pods that wait have a place" not in violation.problem  # those after the next one
    ]

    open_nodes = [one for one in nodes if one.name not in placement.refused]
    is_stuck = bool(placement.tallies.hard and open_nodes and not placement.passing)
    is_closed = bool(written and nodes) and not open_nodes  # for good, or for now
    assert bool(found) is (is_stuck or is_closed)
    if is_closed:
        return
    for index, violation in by_index(found).items():
        if "Policy" in violation.instead:
            assert violation in [
                RuleViolation(one.field, violation.problem, one.instead, violation.brief)
                for rule in ("TSC105", "TSC116")
                for one in check_rule(rule, advised, context)
            ]
            assert index in closed_by_reference(advised, advised.constraints, nodes)


PENDING = ("TSC104", "TSC105", "TSC106", "TSC116")


@st.composite
def some_places(draw: st.DrawFn) -> tuple[Subject, AdviceContext]:
    """Draw a subject with minDomains or without, and a cluster in which some of its pods run."""
    written = [
        {**one, "minDomains": least}
        if one["whenUnsatisfiable"] == "DoNotSchedule"
        and (least := draw(st.sampled_from([0, 2, 3, 4])))
        else one
        for one in draw(some_constraints())
    ]
    # Other nodes count once a constraint is soft, and what a cordon causes ends with it.
    nodes = [
        one for one in draw(some_nodes()) if one.labels.keys() >= {*KEYS} and not one.unschedulable
    ]
    census = Census()
    advised = deployed(
        *written, replicas=draw(st.integers(1, 9)), template_spec=draw(some_requirements())
    )
    for number in draw(st.lists(st.integers(0, 6), max_size=9)):
        census.add(NAMESPACE, advised.labels, f"n{number}")
    cluster = ClusterState(nodes, census, Census())
    return advised, dataclasses.replace(audit(nodes), cluster=cluster)


def obey(advised: Subject, violation: AdviceFinding) -> Subject:
    """Write what a violation suggests."""
    index = int(violation.field.partition("[")[2].partition("]")[0])
    written = msgspec.to_builtins(advised.constraints[index])
    written |= yaml.safe_load(violation.instead)
    constraints = list(advised.constraints)
    constraints[index] = msgspec.convert(written, Constraint)
    return advised.with_constraints(tuple(constraints))


def count_pending(advised: Subject, context: AdviceContext) -> int:
    """Count the findings about Pending pods, of which those with the same cause are one."""
    advice = advise(advised, context)
    return sum(one.rule in PENDING for one in (*advice.warned, *advice.audited))


@given(some_places())
def test_a_suggestion_leaves_no_other_finding_in_its_stead(
    place: tuple[Subject, AdviceContext],
) -> None:
    advised, context = place
    advice = advise(advised, context)
    for finding in (*advice.warned, *advice.audited):
        if finding.rule in PENDING and not finding.instead.startswith("#"):
            changed = obey(advised, finding)
            assert count_pending(changed, context) < count_pending(advised, context)
