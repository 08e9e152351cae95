"""Pending pods that their controller keeps, with the constraints of an older template."""

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    admission,
    audit,
    check_rule,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.kinds import DEPLOYMENT, REPLICA_SET, REPLICATION_CONTROLLER, STATEFUL_SET
from webhook.policy.model import GroupKind

PATH = "spec.template.spec.topologySpreadConstraints"
CORRECTED, OLDER = spread(), spread(topologyKey="zones")
NODES = zones("a1", "b1")
PROFILE = {DEFAULTS_ANNOTATION: "{}"}


def made(*constraints: Json, pods: RunningPods, kind: GroupKind = STATEFUL_SET) -> Subject:
    found = subject(workload(*constraints, kind=kind, replicas=3))
    return replace(found, running=(pods,))


WAITING = running("a1", "", "", constraints=(OLDER,))
DEFAULTED = running("a1", "", "", constraints=(OLDER,), annotations=PROFILE)

# a workload, number of Pending pods that it keeps
CASES: dict[str, tuple[Subject, int]] = {
    "a StatefulSet": (made(CORRECTED, pods=WAITING), 2),
    "a template without constraints": (made(pods=WAITING), 2),
    "a ReplicaSet": (made(CORRECTED, pods=WAITING, kind=REPLICA_SET), 2),
    "a ReplicationController": (made(CORRECTED, pods=WAITING, kind=REPLICATION_CONTROLLER), 2),
    "a Deployment replaces them": (made(CORRECTED, pods=WAITING, kind=DEPLOYMENT), 0),
    "a parallel StatefulSet replaces them": (
        replace(made(CORRECTED, pods=WAITING), is_parallel=True), 0
    ),
    "the template has the same constraint": (made(OLDER, pods=WAITING), 0),
    "no node accepts a pod of the template": (made(spread(topologyKey="x"), pods=WAITING), 0),
    "a node accepts them": (made(CORRECTED, pods=running("", constraints=(spread(maxSkew=2),))), 0),
    "all have nodes": (made(CORRECTED, pods=running("a1", "b1", constraints=(OLDER,))), 0),
    "the constraint is a default": (made(CORRECTED, pods=DEFAULTED), 0),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "number"), CASES.values(), ids=CASES.keys())
def test_pods_that_are_kept(judged: Subject, number: int) -> None:
    found = check_rule("TSC106", judged, audit(NODES, judged.running))

    assert [(one.field, one.brief) for one in found] == (
        [(PATH, "2 Pending pods have other constraints than the template now has")]
        if number
        else []
    )


def test_one_pod_that_is_kept() -> None:
    judged = made(CORRECTED, pods=running("", constraints=(OLDER,)))

    (violation,) = check_rule("TSC106", judged, audit(NODES, judged.running))

    assert violation.problem == (
        "1 Pending pod has other constraints than the template now has, with which no node accepts "
        "it, and stays Pending until it is deleted"
    )
    assert violation.instead == (
        "# delete the Pending pods: those created in their place have the constraints of the "
        "template, unless a webhook adds others"
    )


def test_an_admission_knows_no_pods() -> None:
    assert check_rule("TSC106", made(CORRECTED, pods=WAITING), admission()) == []
