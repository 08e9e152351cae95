from typing import Any

import pytest

from tests.build import Json, gates, owned_by, pod, policy, spread
from tests.policy.advice.subjects import (
    NO_MATCH_LABEL_KEYS,
    ROLLOUT,
    admission,
    audit,
    check_rule,
    deployed,
    subject,
    workload,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gates
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import HOSTNAME
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.model import GroupKind

HASH = "pod-template-hash"
JOB = GroupKind("batch", "Job")
HASHED = {"matchExpressions": [{"key": HASH, "operator": "Exists"}]}

REVISIONS: dict[str, tuple[Subject, bool]] = {
    "a selector without the hash": (deployed(spread()), True),
    "a soft constraint too": (deployed(spread(whenUnsatisfiable="ScheduleAnyway")), True),
    "replicas that are left to an autoscaler": (deployed(spread(), replicas=None), True),
    "the hash in matchLabelKeys": (deployed(spread(matchLabelKeys=[HASH])), False),
    "the hash in the selector": (deployed(spread(labelSelector=HASHED)), False),
    "a null selector": (deployed(spread(labelSelector=None)), False),
    "an empty selector": (deployed(spread(labelSelector={})), False),
    "an empty selector with another key": (
        deployed(spread(labelSelector={}, matchLabelKeys=["app"])),
        True,
    ),
    "a selector that does not count its own pods": (
        deployed(spread(labelSelector={"matchLabels": {"app": "shop"}})),
        False,
    ),
    "a part, whose labels stand elsewhere": (deployed(spread(), labels={}), False),
    "pods that are written for one node": (
        deployed(spread(), template_spec={"nodeName": "a1"}),
        False,
    ),
    "a Job": (subject(workload(spread(), kind=JOB, parallelism=4)), False),
    "a DaemonSet": (subject(workload(spread(), kind=DAEMON_SET)), False),
    "a custom kind": (subject(workload(spread(), kind=ROLLOUT), ("spec", "template")), False),
    "one replica": (deployed(spread(), replicas=1), False),
    "old pods go first": (deployed(spread(), strategy={"type": "Recreate"}), False),
    "a StatefulSet": (subject(workload(spread(), kind=STATEFUL_SET)), False),
    "a Pod": (subject(pod(spread(), owner=owned_by())), False),
    "a ReplicaSet": (subject(workload(spread(), kind=GroupKind("apps", "ReplicaSet"))), False),
}


@pytest.mark.parametrize(("judged", "fires"), REVISIONS.values(), ids=REVISIONS.keys())
def test_revisions_that_are_counted_together(judged: Subject, fires: bool) -> None:
    assert bool(check_rule("TSC107", judged, admission())) is fires


def test_the_hash_is_added_to_the_keys_there_are() -> None:
    (violation,) = check_rule("TSC107", deployed(spread(matchLabelKeys=["tier"])), admission())

    assert violation.instead == f"matchLabelKeys: [tier, {HASH}]"


def test_where_there_are_no_match_label_keys_there_is_nothing_to_write() -> None:
    context = admission(config=policy(gates=NO_MATCH_LABEL_KEYS))

    assert check_rule("TSC107", deployed(spread()), context) == []


def stateful(constraint: Json | None, **changes: Any) -> Subject:
    held: Json = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}], **changes}
    constraints = [] if constraint is None else [constraint]
    return subject(workload(*constraints, kind=STATEFUL_SET, **held))


VOLUMES: dict[str, tuple[Subject, bool]] = {
    "a hard zone": (stateful(spread()), True),
    "the zone by its old name": (
        stateful(spread(topologyKey="failure-domain.beta.kubernetes.io/zone")),
        True,
    ),
    "a soft zone": (stateful(spread(whenUnsatisfiable="ScheduleAnyway")), False),
    "nodes": (stateful(spread(topologyKey=HOSTNAME)), False),
    "no volumes": (subject(workload(spread(), kind=STATEFUL_SET)), False),
    "one replica": (stateful(spread(), replicas=1), False),
    "another kind": (deployed(spread(), volumeClaimTemplates=[{}]), False),
    "no constraint": (stateful(None), False),
    "pods that are written for one node": (
        stateful(spread(), template_spec={"nodeName": "a1"}),
        False,
    ),
}


@pytest.mark.parametrize(("judged", "fires"), VOLUMES.values(), ids=VOLUMES.keys())
def test_volumes_that_cannot_follow(judged: Subject, fires: bool) -> None:
    violations = check_rule("TSC108", judged, admission())

    suggested = ["whenUnsatisfiable: ScheduleAnyway"] if fires else []
    assert [violation.instead for violation in violations] == suggested


PATH = "spec.template.spec.topologySpreadConstraints"
OFF = gates(MinDomainsInPodTopologySpread=False)
OLD = gates(Version(1, 24))

# constraint, gates, field, why
CASES: dict[str, tuple[Json, Gates, str, str]] = {
    "a field": (
        spread(minDomains=2),
        OFF,
        f"{PATH}[0].minDomains",
        "feature gate MinDomainsInPodTopologySpread is off",
    ),
    "a field that this version does not know": (
        spread(nodeTaintsPolicy="Honor"),
        OLD,
        f"{PATH}[0].nodeTaintsPolicy",
        (
            "Kubernetes 1.24 does not know it: it came with 1.25, "
            "feature gate NodeInclusionPolicyInPodTopologySpread"
        ),
    ),
    "the whole list": (
        spread(),
        gates(EvenPodsSpread=False),
        PATH,
        "feature gate EvenPodsSpread is off",
    ),
}


@pytest.mark.parametrize(
    ("constraint", "in_force", "field", "why"), CASES.values(), ids=CASES.keys()
)
def test_a_field_that_is_held_back(constraint: Json, in_force: Gates, field: str, why: str) -> None:
    (violation,) = check_rule("TSC111", deployed(constraint), audit(config=policy(gates=in_force)))

    assert (violation.field, violation.problem) == (field, f"it has no effect, since {why}")


@pytest.mark.parametrize("constraint", [spread(), spread(nodeTaintsPolicy="Honor")])
def test_a_field_that_is_in_force(constraint: Json) -> None:
    assert check_rule("TSC111", deployed(constraint), audit(config=policy(gates=OFF))) == []
