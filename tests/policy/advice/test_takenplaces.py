"""Places of a constraint that pods of others take."""

import pytest
from msgspec.structs import replace

from tests.build import spread
from tests.policy.advice.subjects import audit, deployed, job_set, running
from webhook.policy.advice.counting import hard_constraints
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.takenplaces import count_taken

OWN = {"app": "web"}
OF_SET = {"jobset.sigs.k8s.io/jobset-name": "js"}
ENCODERS = replace(job_set(labelSelector={"matchLabels": OF_SET}), replicas=1, part="w")

# the subject, one pod of each workload; the places that are taken
TAKEN: dict[str, tuple[Subject, dict[str, dict[str, str]], int]] = {
    "no others": (deployed(spread()), {}, 0),
    "its own": (deployed(spread()), {"Deployment/web": OWN}, 0),
    "a Deployment, which a rollout may double": (deployed(spread()), {"Deployment/a": OWN}, 2),
    "a Job, which has no rollout": (deployed(spread()), {"Job/a": OWN, "StatefulSet/b": OWN}, 2),
    "other labels": (deployed(spread()), {"Deployment/a": {"app": "db"}}, 0),
    "its only template": (ENCODERS, {"JobSet/js": OF_SET}, 0),
}


def count(
    subject: Subject, members: dict[str, dict[str, str]], pods: int = 1, **surges: int
) -> int:
    """Count the places that pods take, of which each workload has so many."""
    context = audit(members=members)
    assert context.cluster is not None
    context.cluster.surges = {
        (subject.namespace, f"Deployment/{name}"): surge for name, surge in surges.items()
    }
    for name, labels in members.items():
        context.cluster.members.add(subject.namespace, labels, name, pods - 1)
    (constraint,) = hard_constraints(subject, context)
    return count_taken(subject, constraint, context.cluster)


@pytest.mark.parametrize(("subject", "members", "taken"), TAKEN.values(), ids=TAKEN)
def test_places_of_others(subject: Subject, members: dict[str, dict[str, str]], taken: int) -> None:
    assert count(subject, members) == taken


def test_the_most_pods_of_a_rollout_are_counted_if_they_are_known() -> None:
    both = {"Deployment/a": OWN, "Deployment/b": OWN}

    assert count(deployed(spread()), both, pods=3) == 12
    assert count(deployed(spread()), both, pods=3, a=0, b=1) == 7


def test_places_of_the_other_templates_of_the_same_object() -> None:
    ran = replace(ENCODERS, running=(running("a1", "a2", ""),))

    assert count(ENCODERS, {"JobSet/js": OF_SET}, pods=4) == 3
    assert count(ran, {"JobSet/js": OF_SET}, pods=4) == 2
