"""Constraints that count the pods of two revisions together: TSC107."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, owned_by, pod, policy, spread
from tests.policy.advice.subjects import (
    NO_MATCH_LABEL_KEYS,
    ROLLOUT,
    admission,
    check_rule,
    deployed,
    subject,
    workload,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import (
    DAEMON_SET,
    DEPLOYMENT_CONFIG,
    STATEFUL_SET,
)
from webhook.policy.model import GroupKind
from webhook.policy.paths import TemplatePath

HASH = "pod-template-hash"
ROLLOUT_HASH = "rollouts-pod-template-hash"
JOB = GroupKind("batch", "Job")
SHARDS = GroupKind("example.com", "Shards")  # a kind whose controller is unknown
HASHED = {"matchExpressions": [{"key": HASH, "operator": "Exists"}]}
ANOTHER: Json = {"key": HASH, "operator": "NotIn", "values": ["6d4c"]}
PARTS: TemplatePath = ("spec", "template")


def configured(strategy: str = "Rolling", **changes: Any) -> Subject:
    """Make a DeploymentConfig with a constraint."""
    written = workload(spread(**changes), kind=DEPLOYMENT_CONFIG, strategy={"type": strategy})
    return subject(written, PARTS)


REVISIONS: dict[str, tuple[Subject, bool]] = {
    "a selector without the hash": (deployed(spread()), True),
    "a soft constraint too": (deployed(spread(whenUnsatisfiable="ScheduleAnyway")), True),
    "replicas that are left to an autoscaler": (deployed(spread(), replicas=None), True),
    "the hash in matchLabelKeys": (deployed(spread(matchLabelKeys=[HASH])), False),
    "a hash in the selector": (
        deployed(spread(labelSelector={"matchExpressions": [ANOTHER]})),
        False,
    ),
    "any hash in the selector": (deployed(spread(labelSelector=HASHED)), True),
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
    "a Rollout": (subject(workload(spread(), kind=ROLLOUT), PARTS), True),
    "a Rollout with the hash of its pods": (
        subject(workload(spread(matchLabelKeys=[ROLLOUT_HASH]), kind=ROLLOUT), PARTS),
        False,
    ),
    "a Rollout with the hash of Deployments, which is another finding": (
        subject(workload(spread(matchLabelKeys=[HASH]), kind=ROLLOUT), PARTS),
        False,
    ),
    "a misspelled hash, which is another finding": (
        deployed(spread(matchLabelKeys=["pod-template-hsh"])),
        False,
    ),
    "a Deployment that a Rollout may refer to": (
        deployed(spread(matchLabelKeys=[ROLLOUT_HASH])),
        False,
    ),
    "a custom kind": (subject(workload(spread(), kind=SHARDS), PARTS), False),
    "a Deployment of a Rollout": (replace(deployed(spread()), creator=ROLLOUT), True),
    "a Deployment of a Rollout, with the hash of its pods": (
        replace(deployed(spread(matchLabelKeys=[ROLLOUT_HASH])), creator=ROLLOUT),
        False,
    ),
    "a DeploymentConfig": (configured(), True),
    "a DeploymentConfig with the label of its revisions": (
        configured(matchLabelKeys=["deployment"]),
        False,
    ),
    "a DeploymentConfig whose old pods go first": (configured(strategy="Recreate"), False),
    "a DeploymentConfig with a deployer of its own": (configured(strategy="Custom"), False),
    "one replica": (deployed(spread(), replicas=1), False),
    "old pods go first": (deployed(spread(), strategy={"type": "Recreate"}), False),
    "an old pod goes before each new one": (
        deployed(spread(), strategy={"rollingUpdate": {"maxSurge": 0}}),
        False,
    ),
    "a StatefulSet": (subject(workload(spread(), kind=STATEFUL_SET)), False),
    "a Pod": (subject(pod(spread(), owner=owned_by())), False),
    "a ReplicaSet": (subject(workload(spread(), kind=GroupKind("apps", "ReplicaSet"))), False),
}


@pytest.mark.parametrize(("judged", "fires"), REVISIONS.values(), ids=REVISIONS.keys())
def test_revisions_that_are_counted_together(judged: Subject, fires: bool) -> None:
    assert bool(check_rule("TSC107", judged, admission())) is fires


def test_a_revision_that_the_selector_has_without_a_value_is_to_be_moved() -> None:
    (violation,) = check_rule("TSC107", deployed(spread(labelSelector=HASHED)), admission())

    assert violation.instead == f"# move {HASH} from labelSelector to matchLabelKeys"


def test_the_hash_is_added_to_the_keys_there_are_but_for_those_that_are_refused() -> None:
    keys = ["tier", "app", "tier"]  # by TSC008, as the selector has app
    judged = deployed(spread(matchLabelKeys=keys), labels={"app": "web", "tier": "front"})

    (violation,) = check_rule("TSC107", judged, admission())

    assert violation.instead == f"matchLabelKeys: [tier, {HASH}]"


@pytest.mark.parametrize("keys", [[], [HASH]], ids=str)
def test_a_template_of_two_controllers_gets_the_hashes_of_both(keys: list[str]) -> None:
    judged = replace(deployed(spread(matchLabelKeys=keys)), creator=ROLLOUT, is_shared=True)

    (violation,) = check_rule("TSC107", judged, admission())

    assert violation.instead == f"matchLabelKeys: [{HASH}, {ROLLOUT_HASH}]"


def test_where_there_are_no_match_label_keys_there_is_nothing_to_write() -> None:
    context = admission(config=policy(gates=NO_MATCH_LABEL_KEYS))

    assert check_rule("TSC107", deployed(spread()), context) == []


def test_the_suggestion_for_a_rollout_is_the_hash_of_its_pods() -> None:
    rollout = subject(workload(spread(), kind=ROLLOUT), PARTS)

    (violation,) = check_rule("TSC107", rollout, admission())

    assert violation.instead == f"matchLabelKeys: [{ROLLOUT_HASH}]"
