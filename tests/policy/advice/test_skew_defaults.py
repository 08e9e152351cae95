"""TSC114 about the constraints that a profile gave to running pods."""

import dataclasses

import pytest
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, default, spread
from tests.policy.advice.defaulted import HARD, HASH, counting, defaulted, giving, know
from tests.policy.advice.subjects import (
    TAINTED_C,
    THREE,
    check_rule,
    deployed,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.advise import advise
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import HOSTNAME, Constraint, Node
from webhook.policy.placement.census import Census
from webhook.policy.rule_entry import Action

PATH = "spec.template.spec.topologySpreadConstraints"
SOFT = "ScheduleAnyway"
PREFIX = "with the defaults of profile cluster, "
UNEVEN = ("a1", "a2", "a1", "a2", "b1", "c1")
PLACE = "; the constraint is in profile cluster"


def old(*nodes: str) -> RunningPods:
    """Make pods that a rollout is about to delete."""
    return replace(defaulted(*nodes, revision="old"), replaced=True)


def test_pods_that_are_uneven_by_a_default() -> None:
    pods = [defaulted(*UNEVEN)]
    judged = replace(deployed(), running=tuple(pods))

    (violation,) = check_rule("TSC114", judged, know(giving(), pods))

    assert violation.field == PATH
    assert violation.problem == (
        f'{PREFIX}the skew over "topology.kubernetes.io/zone" is 3, maxSkew is 1: '
        "zone-a has 4 pods, the minimum is 1 (every domain has pods)"
    )
    assert violation.instead == (
        "# if nodes have room: evenspread rebalance deployment/web -n shop moves the fewest pods, "
        "if PodDisruptionBudgets allow it; "
        "kubectl rollout restart deployment/web -n shop replaces all of them"
    )
    assert violation.brief == f"{PREFIX}skew 3 exceeds maxSkew 1: zone-a too full"


def test_an_object_is_not_denied_for_the_skew_of_a_default() -> None:
    config = replace(giving(), actions={**DEFAULT_ACTIONS, "TSC114": Action.DENY})
    pods = [defaulted(*UNEVEN)]
    own = [running(*UNEVEN, constraints=(spread(),))]

    for judged, found, denied in ((deployed(), pods, []), (deployed(spread()), own, ["TSC114"])):
        advice = advise(replace(judged, running=tuple(found)), know(config, found))

        assert [finding.rule for finding in advice.denied] == denied
        assert ("TSC114" in [finding.rule for finding in advice.warned]) is not bool(denied)


# running pods, whether their skew is reported
LASTING: dict[str, tuple[list[RunningPods], bool]] = {
    "even pods": ([defaulted("a1", "b1", "c1", "a2", "b2", "c2")], False),
    "old pods are uneven": ([old("a1", "a2", "a1"), defaulted("a1", "b1", "c1")], False),
    "pods to come can even them out": ([old("b1"), defaulted("a1", "a2", "b1")], False),
    "pods to come cannot even them out": ([old("b1"), defaulted("a1", "a2", "a1", "a2")], True),
    "two revisions, the first of which is uneven": (
        [defaulted("a1", "a1"), defaulted("b1", revision="old")], True
    ),
    "some pods lack the default": (
        [defaulted(*UNEVEN), defaulted("b1", constraints=())], False
    ),
    "the default is outdated": ([defaulted(*UNEVEN, constraints=(spread(),))], False),
}  # fmt: skip


@pytest.mark.parametrize(("pods", "lasts"), LASTING.values(), ids=LASTING)
def test_what_rollouts_and_outdated_defaults_explain(pods: list[RunningPods], lasts: bool) -> None:
    judged = replace(deployed(), running=tuple(pods))

    assert bool(check_rule("TSC114", judged, know(giving(), pods))) is lasts


SOFT_HOST = counting(topologyKey=HOSTNAME, whenUnsatisfiable=SOFT)
BOTH = (HARD, default(topology_key=HOSTNAME))
RAISING = f"raise this maxSkew to 2, or relax the hard one{PLACE}"
AFTERWARDS = f"and audit again after its rollout{PLACE}"

# what the profile gives, what the pods have, nodes, their pods, what is suggested
SUGGESTED: dict[
    str, tuple[tuple[Constraint, ...], tuple[Json, ...], list[Node], tuple[str, ...], list[str]]
] = {
    "a soft default that a hard one limits": (
        BOTH, (counting(), SOFT_HOST), zones("a1", "b1", "b2", "b3"),
        ("a1", "a1", "a1", "b1", "b1", "b1"),
        ["# the hard constraint on topology.kubernetes.io/zone allows no skew below 2: " + RAISING],
    ),
    "a soft default whose skew a hard one makes necessary": (
        BOTH, (counting(), SOFT_HOST), zones("a1", "b1", "b2", "b3"),
        ("a1", "a1", "a1", "b1", "b2", "b3"), [],
    ),
    "a domain with taints that stay": (
        (HARD,), (counting(),), TAINTED_C, ("a1", "a1", "a1", "b1", "b1", "b1"),
        ["# no pod can go to zone-c: write nodeTaintsPolicy: Honor, " + AFTERWARDS],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "carried", "nodes", "placed", "expected"), SUGGESTED.values(), ids=SUGGESTED
)
def test_changes_of_a_default_name_its_profile(
    given: tuple[Constraint, ...],
    carried: tuple[Json, ...],
    nodes: list[Node],
    placed: tuple[str, ...],
    expected: list[str],
) -> None:
    pods = [defaulted(*placed, constraints=carried)]
    judged = replace(deployed(), running=tuple(pods))

    found = check_rule("TSC114", judged, know(giving(*given), pods, nodes))

    assert [violation.instead for violation in found] == expected


def test_a_soft_default_cannot_be_written_into_a_stateful_set() -> None:
    claims: Json = {"volumeClaimTemplates": [{"spec": {"storageClassName": "late"}}]}
    pods = [defaulted(*UNEVEN, kind="StatefulSet")]
    judged = subject(workload(kind=STATEFUL_SET, **claims), running=tuple(pods))

    (violation,) = check_rule("TSC114", judged, know(giving(), pods, THREE))

    assert violation.instead.endswith(f", or write whenUnsatisfiable: ScheduleAnyway{PLACE}")


# labels of its pods that others lack, what is suggested
OTHERS_COUNT: dict[str, tuple[Json, str]] = {
    "a label of its own": ({"part": "x"}, "# change the defaults of profile cluster"),
    "no label of its own": (
        {},
        "# give its pods a label that no others have, and add it to the labelSelector" + PLACE,
    ),
}


@pytest.mark.parametrize(("added", "expected"), OTHERS_COUNT.values(), ids=OTHERS_COUNT.keys())
def test_data_is_not_moved_because_of_others_that_a_default_counts(
    added: Json, expected: str
) -> None:
    claims: Json = {"volumeClaimTemplates": [{"spec": {"storageClassName": "late"}}]}
    labels = {"app": "web", **added}
    pods = [defaulted("a1", "b1", "c1", kind="StatefulSet", labels=added)]
    others = running("a1", "a1", labels={"app": "web", HASH: "new"})
    written = workload(kind=STATEFUL_SET, replicas=3, labels=labels, **claims)
    context = know(giving(), [*pods, others], THREE)
    assert context.cluster is not None
    members = Census()
    members.add(NAMESPACE, {"app": "web", HASH: "new"}, "StatefulSet/api")
    cluster = context.cluster.with_pods(context.cluster.census, members)

    (violation,) = check_rule(
        "TSC114",
        subject(written, running=tuple(pods)),
        dataclasses.replace(context, cluster=cluster),
    )

    assert violation.instead == expected
